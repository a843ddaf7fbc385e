//! A person who interrupts the harness: nothing stays, no process and no file.

mod fixture;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use fixture::Fixture;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

/// A workplace in which a program can tell that it has started.
struct Stage {
    fixture: Fixture,
    temporary: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let stage = Self {
            fixture: Fixture::new(),
            temporary: tempfile::tempdir().expect("a directory"),
        };
        mkfifo(&stage.started(), Mode::S_IRWXU).expect("a FIFO");
        stage
    }

    fn started(&self) -> std::path::PathBuf {
        self.fixture.path().join("started")
    }

    /// A shell script that tells so, leaves a file, and then waits for the end of its stdin.
    fn waiting_script(&self) -> String {
        let started = self.started();
        format!(
            "touch here \"$TMPDIR/there\"; echo started > '{}'; cat > /dev/null",
            started.display()
        )
    }

    /// Interrupts the harness as soon as the script runs.
    fn interrupt(&self, mut command: Command) {
        let mut harness = command
            .env("TMPDIR", self.temporary.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the harness starts");
        let (sign, script_started) = mpsc::channel();
        let started = self.started();
        std::thread::spawn(move || sign.send(fs::read_to_string(started)));
        let sign = script_started.recv_timeout(Duration::from_secs(60));
        if !matches!(&sign, Ok(Ok(text)) if text == "started\n") {
            harness.kill().expect("a kill");
            panic!("the script was not started: {sign:?}");
        }
        let pid = Pid::from_raw(i32::try_from(harness.id()).expect("a pid"));
        kill(pid, Signal::SIGINT).expect("a signal");
        let status = harness.wait().expect("an end");
        assert_eq!(status.signal(), Some(Signal::SIGINT as i32), "{status:?}");
        assert_eq!(self.fixture.leftovers(), Vec::<String>::new());
        let left = fs::read_dir(self.temporary.path()).expect("a directory");
        assert_eq!(left.count(), 0, "something is left in TMPDIR");
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let stage = Stage::new();
    stage.fixture.runner("waiting", &stage.waiting_script());
    stage.interrupt(stage.fixture.run("waiting", &[]));
}

#[test]
fn an_interrupted_comparison_leaves_nothing() {
    let stage = Stage::new();
    let script = format!(
        "[ \"$1\" = --version ] && exec echo '2.1.316 (Claude Code)'\n{}",
        stage.waiting_script()
    );
    stage.fixture.program("claude", &script);
    let case = "title: A prompt is answered
shows: [S1]
model:
  - reply: [{text: Hello.}]
runs:
  - steps: [initialize, {await: response}, close]
";
    stage
        .fixture
        .write("scenarios/corpus/talk/greeting.yaml", case);
    let arguments = [
        "drift",
        "--no-build",
        "--scenarios",
        "scenarios",
        "--jobs",
        "1",
    ];
    let mut command = stage.fixture.harness(&arguments);
    command.args(["./claude", "./claude"]);
    stage.interrupt(command);
}
