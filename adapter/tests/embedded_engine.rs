//! The embedded engine's files: whose they are, and what is said when they cannot be used.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use adapter::{EmbeddedEngine, EngineError, SessionClient, SessionStatus};

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
