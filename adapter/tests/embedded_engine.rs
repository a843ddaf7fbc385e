//! The embedded engine's files: whose they are, and what is said when they cannot be used.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use adapter::{EmbeddedEngine, EngineError, SessionClient, SessionStatus};
use rustix::fs::Uid;
use serde_json::{Value, json};

fn refusal(directory: &std::path::Path) -> String {
    let error = EmbeddedEngine::open(directory).unwrap_err();
    assert!(
        matches!(error, EngineError::StateDirectory { .. }),
        "{error}"
    );
    error.to_string()
}

#[test]
fn a_file_of_another_program_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE recipe (name TEXT)")
        .unwrap();
    assert!(refusal(directory.path()).contains("belongs to another program"));
    other
        .execute("INSERT INTO recipe VALUES ('soup')", [])
        .unwrap();
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.db");
    let text = "this is a letter, not a database. ".repeat(40);
    std::fs::write(&path, &text).unwrap();
    assert!(refusal(directory.path()).contains("not a database"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_file_of_a_newer_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(EmbeddedEngine::open(directory.path()).unwrap());
    let path = directory.path().join("session.db");
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    assert!(refusal(directory.path()).contains("use a newer program"));
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(refusal(&file.join("state")).contains("file/state"));
}

// covers: sess-start, sess-missing
#[tokio::test]
async fn sessions_are_kept_apart_and_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let client = SessionClient::new(&EmbeddedEngine::open(directory.path()).unwrap());
    client.start("quiet", None).await.unwrap();
    client.start("busy", Some("hello".into())).await.unwrap();
    let again = client.start("busy", None).await;
    assert!(matches!(again, Err(EngineError::SessionExists(_))));
    let blank = client.start("blank", Some(" ".into())).await;
    assert!(matches!(blank, Err(EngineError::BlankMessage(_))));

    let other = SessionClient::new(&EmbeddedEngine::open(directory.path()).unwrap());
    let quiet = other.snapshot("quiet").await.unwrap();
    assert_eq!(quiet.status, SessionStatus::Idle);
    let busy = other.snapshot("busy").await.unwrap();
    assert_eq!(busy.status, SessionStatus::Running);
    assert_eq!(busy.messages[0].text, "hello");
    for missing in ["blank", "never"] {
        let error = other.snapshot(missing).await.unwrap_err();
        assert!(matches!(error, EngineError::UnknownSession(_)), "{error}");
    }
}

#[tokio::test]
async fn a_change_in_one_place_is_told_in_another() {
    let directory = tempfile::tempdir().unwrap();
    let watching = SessionClient::new(&EmbeddedEngine::open(directory.path()).unwrap());
    let mut changes = watching.changes().await.unwrap();
    let acting = SessionClient::new(&EmbeddedEngine::open(directory.path()).unwrap());
    acting.start("session", None).await.unwrap();
    let change = changes.recv().await.unwrap();
    assert_eq!(change.session_id, "session");
    let first = change.revision;
    acting.send("session", "hello".into()).await.unwrap();
    let change = changes.recv().await.unwrap();
    assert!(change.revision > first);
}

/// Runs the work as a user for whom permissions count, on a thread of its own.
fn without_privileges<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        ended.join().unwrap()
    })
}

fn permit(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_read_only_directory_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path();
    permit(state, 0o555);
    let error = without_privileges(|| refusal(state));
    assert!(error.contains("ermission denied"), "{error}");
    assert!(error.contains(state.to_str().unwrap()), "{error}");
    assert_eq!(std::fs::read_dir(state).unwrap().count(), 0);

    permit(state, 0o755);
    drop(EmbeddedEngine::open(state).unwrap());
    for entry in std::fs::read_dir(state).unwrap() {
        let path = entry.unwrap().path();
        permit(&path, if path.is_dir() { 0o755 } else { 0o444 });
    }
    let before = std::fs::read(state.join("session.db")).unwrap();
    permit(state, 0o555);
    let error = without_privileges(|| refusal(state));
    permit(state, 0o755);
    assert!(error.contains(state.to_str().unwrap()), "{error}");
    assert_eq!(std::fs::read(state.join("session.db")).unwrap(), before);
}

/// A program that opens a state directory when it is told to.
struct Opener {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Opener {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rust-runner"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, answers }
    }

    fn ask(&mut self, method: &str, params: &Value) {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        writeln!(self.child.stdin.as_mut().unwrap(), "{request}").unwrap();
    }

    fn answer(&mut self) -> Value {
        serde_json::from_str(&self.answers.next().unwrap().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn processes_that_open_a_new_directory_at_once_share_it() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let mut openers: Vec<Opener> = (0..6).map(|_| Opener::start()).collect();
    for opener in &mut openers {
        opener.ask(
            "initialize",
            &json!({
                "protocol_version": 1,
                "role": "worker",
                "state_dir": state,
                "cli": {"path": "no-cli", "env": {}},
                "worker_id": "worker",
            }),
        );
    }
    for mut opener in openers {
        let answer = opener.answer();
        assert!(answer.get("error").is_none(), "{answer}");
        opener.ask("shutdown", &json!({}));
        assert!(opener.child.wait().unwrap().success());
    }
    let client = SessionClient::new(&EmbeddedEngine::open(&state).unwrap());
    client.start("session", None).await.unwrap();
}
