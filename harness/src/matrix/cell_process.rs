//! The process of one cell.

use std::io;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::{CellResult, PreparedCell};
use crate::cell::{CellReport, kill_trees};

/// What a cell's process left.
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs one cell in a process of its own, with its directories below `directory`, and waits for its report.
///
/// Dropping the future ends the process and all below it. The kernel ends it when the calling thread ends, so that
/// thread has to live as long as the cell.
pub(crate) async fn run_cell(
    cell: &PreparedCell,
    executable: &Path,
    directory: &Path,
) -> CellResult {
    let started = Instant::now();
    let broken = |message: String| {
        CellResult::without_report(
            cell.name.clone(),
            cell.request.repro.clone(),
            started.elapsed(),
            message,
        )
    };
    let request = match serde_json::to_vec(&cell.request) {
        Ok(request) => request,
        Err(error) => return broken(format!("the cell's request cannot be written: {error}")),
    };
    let process = match spawn(executable, directory) {
        Ok(process) => process,
        Err(error) => {
            return broken(format!(
                "the cell's process {} cannot be started: {error}",
                executable.display()
            ));
        }
    };
    let guard = TreeGuard::of(&process);
    let ended = match tokio::time::timeout(cell.deadline, converse(process, request)).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(error)) => {
            return broken(format!("the cell's process cannot be talked to: {error}"));
        }
        Err(_) => {
            return broken(format!(
                "the cell did not end within {:?} and was killed",
                cell.deadline
            ));
        }
    };
    guard.disarm();
    match serde_json::from_slice::<CellReport>(&ended.stdout) {
        Ok(report) if ended.status.success() => CellResult::new(
            cell.name.clone(),
            cell.request.repro.clone(),
            report,
            &cell.baseline,
        ),
        _ => broken(last_words(&ended)),
    }
}

fn spawn(executable: &Path, directory: &Path) -> io::Result<Child> {
    let mut command = Command::new(executable);
    command
        .arg("cell")
        .env("TMPDIR", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    #[expect(
        unsafe_code,
        reason = "prctl is async-signal-safe and touches nothing of the parent"
    )]
    unsafe {
        command.pre_exec(|| prctl::set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from));
    }
    command.spawn()
}

async fn converse(mut process: Child, request: Vec<u8>) -> io::Result<Ended> {
    let missing = || io::Error::other("a pipe is missing");
    let mut stdin = process.stdin.take().ok_or_else(missing)?;
    let mut output = process.stdout.take().ok_or_else(missing)?;
    let mut errors = process.stderr.take().ok_or_else(missing)?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = {
        let write = async move {
            // A process that ends early breaks this pipe; its last words say more than that.
            let _ = stdin.write_all(&request).await;
            drop(stdin);
        };
        let talk = async {
            let _ = tokio::join!(
                write,
                output.read_to_end(&mut stdout),
                errors.read_to_end(&mut stderr)
            );
        };
        let mut talk = pin!(talk);
        tokio::select! {
            () = &mut talk => process.wait().await?,
            status = process.wait() => {
                // What the process wrote is in the pipes already; only an orphan that inherited them could keep them
                // open.
                let _ = tokio::time::timeout(PIPE_BOUND, talk).await;
                status?
            }
        }
    };
    Ok(Ended {
        status,
        stdout,
        stderr,
    })
}

fn last_words(ended: &Ended) -> String {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(5)..].join("; ");
    let said = if last.is_empty() {
        String::new()
    } else {
        format!(": {last}")
    };
    format!(
        "the cell's process ended with {} and without a report{said}",
        ended.status
    )
}

/// Kills a cell's process and everything below it, unless it has ended by itself. What outlives it then is the caller's
/// as a subreaper.
struct TreeGuard(Option<i32>);

impl TreeGuard {
    fn of(process: &Child) -> Self {
        Self(process.id().and_then(|pid| i32::try_from(pid).ok()))
    }

    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for TreeGuard {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            kill_trees(&[pid]);
        }
    }
}

/// How long the last words of a process may take after its end.
const PIPE_BOUND: Duration = Duration::from_secs(2);

/// The longest time in which the kernel is given to end killed processes.
pub(crate) const END_BOUND: Duration = Duration::from_secs(5);
