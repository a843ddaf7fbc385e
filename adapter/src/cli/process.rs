//! One CLI process: frames in, frames out, and an end that leaves nothing behind.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cli::descendants::Descendants;
use crate::cli::frame::Frame;
use crate::cli::spawner;

/// How many of the last lines of stderr are kept for an error.
const STDERR_LINES: usize = 40;

/// How long the CLI may take to end after its standard input was closed.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// How long the output of a CLI that has ended may stay open without a word.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// Talking to the CLI failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("start the CLI at {path}: {source}; check the path that the agent was given", path = path.display())]
    Spawn {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("start the CLI in {}: there is no such directory; create it or change the option cwd", .0.display())]
    NoWorkingDirectory(PathBuf),
    #[error("write to the CLI: {0}")]
    Write(std::io::Error),
    #[error("read from the CLI: {0}")]
    Read(std::io::Error),
}

/// How a CLI process is started.
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) working_directory: PathBuf,
}

/// A running CLI. Dropping it kills it with everything below it.
#[derive(Debug)]
pub(crate) struct CliProcess {
    child: Child,
    /// The CLI's process and group number, as long as something may be left of it.
    group: Option<Pid>,
    descendants: Descendants,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// When the CLI was seen to have ended.
    ended_at: Option<Instant>,
    stderr: StderrTail,
}

impl CliProcess {
    pub(crate) async fn start(launch: &Launch) -> Result<Self, ProcessError> {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.arguments)
            .env_clear()
            .envs(&launch.environment)
            .current_dir(&launch.working_directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawner::spawn(command)
            .await
            .map_err(|source| spawn_error(launch, source))?;
        let missing = || spawn_error(launch, std::io::Error::other("a pipe is missing"));
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        Ok(Self {
            group: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(Pid::from_raw),
            descendants: Descendants::default(),
            stdin: child.stdin.take(),
            stdout: BufReader::new(stdout),
            line: Vec::new(),
            ended_at: None,
            stderr: StderrTail::follow(stderr),
            child,
        })
    }

    /// The next frame, or `None` at the end of the CLI or its output.
    ///
    /// May be dropped while it waits: a line read in part is kept. Lines that are no frame are
    /// skipped, because programs started by the CLI may write there too.
    pub(crate) async fn next_frame(&mut self) -> Result<Option<Frame>, ProcessError> {
        loop {
            let read = tokio::select! {
                biased;
                read = self.stdout.read_until(b'\n', &mut self.line) => {
                    read.map_err(ProcessError::Read)?
                }
                () = silent_after_end(&mut self.child, &mut self.ended_at) => return Ok(None),
            };
            if read == 0 && self.line.is_empty() {
                return Ok(None);
            }
            let line = std::mem::take(&mut self.line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(frame) => return Ok(Some(frame)),
                Err(error) => {
                    tracing::warn!(%error, bytes = line.len(), "skipped a line of the CLI that is no frame");
                }
            }
        }
    }

    /// Writes one frame.
    pub(crate) async fn write(&mut self, frame: &Value) -> Result<(), ProcessError> {
        let Some(stdin) = self.stdin.as_mut() else {
            return Ok(());
        };
        let mut line = frame.to_string();
        line.push('\n');
        stdin
            .write_all(line.as_bytes())
            .await
            .map_err(ProcessError::Write)?;
        stdin.flush().await.map_err(ProcessError::Write)
    }

    /// Tells the CLI that nothing more will come.
    ///
    /// What the CLI started is noted while it can still be told to be the CLI's.
    pub(crate) fn close_stdin(&mut self) {
        if let (Some(group), true) = (self.group, self.stdin.is_some()) {
            self.descendants = Descendants::of(group);
        }
        self.stdin = None;
    }

    /// Waits for the CLI's end, or makes one when it lingers; `None` when it had to be killed.
    pub(crate) async fn finish(&mut self) -> Option<ExitStatus> {
        self.close_stdin();
        let status = match tokio::time::timeout(EXIT_GRACE, self.child.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => None,
        };
        self.kill_tree();
        let _ = self.child.wait().await;
        status
    }

    /// Ends the CLI at once and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.kill_tree();
        let _ = self.child.wait().await;
    }

    /// The last lines that the CLI wrote to its standard error.
    pub(crate) async fn stderr_tail(&mut self) -> String {
        self.stderr.collect().await
    }

    fn kill_tree(&mut self) {
        if let Some(group) = self.group.take() {
            let newest = Descendants::of(group);
            // The group may be gone already, which is what is wanted.
            let _ = kill_process_group(group, Signal::KILL);
            newest.kill();
            self.descendants.kill();
        }
    }
}

impl Drop for CliProcess {
    fn drop(&mut self) {
        self.kill_tree();
    }
}

/// Waits for the CLI's end and then for what it may have left to be read. The end of its output
/// does not always tell: a descendant may keep that open.
async fn silent_after_end(child: &mut Child, ended_at: &mut Option<Instant>) {
    if ended_at.is_none() {
        // A status that cannot be read is asked for again at the end.
        let _ = child.wait().await;
    }
    let ended_at = *ended_at.get_or_insert_with(Instant::now);
    tokio::time::sleep_until(ended_at + OUTPUT_GRACE).await;
}

/// The system's error does not say which of the two is missing, the program or the directory.
fn spawn_error(launch: &Launch, source: std::io::Error) -> ProcessError {
    let directory = &launch.working_directory;
    if source.kind() == std::io::ErrorKind::NotFound && !directory.is_dir() {
        return ProcessError::NoWorkingDirectory(directory.clone());
    }
    ProcessError::Spawn {
        path: launch.program.clone(),
        source,
    }
}

#[derive(Debug)]
struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    fn follow(stderr: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        let reader = tokio::spawn(async move {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            while let Ok(1..) = stderr.read_until(b'\n', &mut line).await {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(text);
                if kept.len() > STDERR_LINES {
                    kept.pop_front();
                }
            }
        });
        Self { lines, reader }
    }

    async fn collect(&mut self) -> String {
        // A descendant that outlives the CLI may keep the pipe open.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.reader).await;
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]
mod tests {
    use super::*;

    async fn refusal(program: PathBuf, working_directory: PathBuf) -> String {
        let launch = Launch {
            program,
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            working_directory,
        };
        CliProcess::start(&launch).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_cli_that_ends_is_noticed_while_a_descendant_holds_its_output() {
        let here = tempfile::tempdir().unwrap();
        let script = r#"sleep 600 & echo '{"type":"unheard_of"}'; exit 7"#;
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            working_directory: here.path().to_owned(),
        };
        let mut process = CliProcess::start(&launch).await.unwrap();
        let first = process.next_frame().await.unwrap();
        assert!(matches!(first, Some(Frame::Unknown)), "{first:?}");
        assert!(process.next_frame().await.unwrap().is_none());
        let status = process.finish().await.unwrap();
        assert_eq!(status.code(), Some(7));
    }

    #[tokio::test]
    async fn the_error_names_what_is_missing() {
        let here = tempfile::tempdir().unwrap();
        let missing = here.path().join("missing");
        let no_program = refusal(missing.clone(), here.path().to_owned()).await;
        assert!(no_program.contains("check the path"), "{no_program}");
        let no_directory = refusal("/bin/true".into(), missing.clone()).await;
        assert!(no_directory.contains("option cwd"), "{no_directory}");
        assert!(no_directory.contains(&missing.display().to_string()));
    }
}
