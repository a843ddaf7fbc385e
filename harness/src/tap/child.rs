//! The CLI as the tap's child.

use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};

pub(super) struct StartedChild {
    pub(super) pid: i32,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    child: Child,
}

pub(super) fn command(
    program: &str,
    arguments: &[String],
    set: BTreeMap<String, String>,
    set_if_missing: BTreeMap<String, String>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).envs(set);
    command.envs(
        set_if_missing
            .into_iter()
            .filter(|(name, _)| std::env::var_os(name).is_none()),
    );
    command
}

/// Starts the CLI in a process group of its own (signals to the tap's group are passed on, once) and
/// so that it dies with the tap.
pub(super) fn start(mut command: Command) -> io::Result<StartedChild> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // The signal is tied to the thread that forks: this is the main thread, which lives as long as
    // the process.
    #[expect(
        unsafe_code,
        reason = "prctl is async-signal-safe and allocates nothing"
    )]
    unsafe {
        command.pre_exec(|| prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from));
    }
    let mut child = command.spawn()?;
    let missing = || io::Error::other("a pipe of the CLI is missing");
    Ok(StartedChild {
        pid: child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .ok_or_else(missing)?,
        stdin: child.stdin.take().ok_or_else(missing)?,
        stdout: child.stdout.take().ok_or_else(missing)?,
        stderr: child.stderr.take().ok_or_else(missing)?,
        child,
    })
}

/// Waits for the end, passing SIGTERM, SIGINT and SIGHUP on in the meantime.
pub(super) async fn wait(child: &mut Child, pid: i32) -> io::Result<ExitStatus> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        let received = tokio::select! {
            status = child.wait() => return status,
            _ = terminate.recv() => Signal::SIGTERM,
            _ = interrupt.recv() => Signal::SIGINT,
            _ = hangup.recv() => Signal::SIGHUP,
        };
        let _ = kill(Pid::from_raw(pid), received);
    }
}

impl StartedChild {
    pub(super) fn into_parts(self) -> (ChildStdin, ChildStdout, ChildStderr, Child) {
        (self.stdin, self.stdout, self.stderr, self.child)
    }
}
