//! One process of a CLI, with its pipes turned into happenings.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use crate::cell::{kill_trees, signal_process};

/// Something that happens while a process runs.
#[derive(Debug)]
pub(in crate::drift) enum Happening {
    /// A line on stdout.
    Line(String),
    /// The end of stdout.
    StdoutEnded,
    /// A request at the Messages API.
    Request,
}

/// How a process is started.
#[derive(Debug, Clone)]
pub(in crate::drift) struct Spawn {
    pub(in crate::drift) executable: PathBuf,
    pub(in crate::drift) arguments: Vec<OsString>,
    pub(in crate::drift) environment: Vec<(String, String)>,
    pub(in crate::drift) directory: PathBuf,
}

/// A running CLI.
pub(super) struct CliProcess {
    child: Child,
    pid: i32,
    stdin: Option<ChildStdin>,
    stderr: JoinHandle<Vec<u8>>,
}

/// How a CLI ended.
pub(super) struct CliEnd {
    /// `exit 0`, `signal 9`, or `killed by the host` when it did not end in time.
    pub(super) status: String,
    pub(super) stderr: Vec<u8>,
}

impl CliProcess {
    pub(super) fn start(spawn: &Spawn, happenings: UnboundedSender<Happening>) -> io::Result<Self> {
        let mut child = Command::new(&spawn.executable)
            .args(&spawn.arguments)
            .env_clear()
            .envs(spawn.environment.iter().cloned())
            .current_dir(&spawn.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a pipe of the process is missing");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let mut stderr = child.stderr.take().ok_or_else(missing)?;
        let stdin = child.stdin.take();
        let pid = child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .ok_or_else(missing)?;
        tokio::spawn(async move {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            while matches!(stdout.read_until(b'\n', &mut line).await, Ok(length) if length > 0) {
                let text = String::from_utf8_lossy(&line)
                    .trim_end_matches('\n')
                    .to_owned();
                line.clear();
                if happenings.send(Happening::Line(text)).is_err() {
                    return;
                }
            }
            let _ = happenings.send(Happening::StdoutEnded);
        });
        let stderr = tokio::spawn(async move {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes).await;
            bytes
        });
        Ok(Self {
            child,
            pid,
            stdin,
            stderr,
        })
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Writes a line. A CLI that has ended does not read it, and shows that by its end.
    pub(super) async fn write(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{line}\n").as_bytes()).await;
            let _ = stdin.flush().await;
        }
    }

    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(super) fn signal(&self, signal: Signal) {
        if self.child.id().is_some() {
            signal_process(self.pid, signal);
        }
    }

    /// Waits for the end and leaves nothing of the process behind.
    pub(super) async fn end(mut self, bound: Duration) -> CliEnd {
        self.close_stdin();
        let ended = tokio::time::timeout(bound, self.child.wait()).await;
        // What the CLI has started may outlive it, in its group or out of it.
        kill_trees(&[self.pid]);
        let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(self.pid), Signal::SIGKILL);
        let status = match ended {
            Ok(Ok(status)) => described(status),
            Ok(Err(error)) => format!("unknown: {error}"),
            Err(_) => "killed by the host".to_owned(),
        };
        let stderr = tokio::time::timeout(bound, self.stderr)
            .await
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        CliEnd { status, stderr }
    }
}

fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}
