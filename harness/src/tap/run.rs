//! The life of one tap.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};

use super::child::{self, StartedChild};
use super::messages::{FromTap, SETTINGS_FILE, TapSettings, ToTap};
use super::pump::{Pump, Verdict, pump_stderr};
use crate::scenario::Direction;

/// Why a tap cannot do its work.
#[derive(Debug, Error)]
pub enum TapError {
    /// The settings are not beside the link.
    #[error(
        "failed to read the tap's settings at {path}; cli-tap is started through the link that a cell makes, not by hand"
    )]
    Settings {
        /// Where they should be.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The cell is gone or speaks another language.
    #[error("failed to talk to the cell: {0}")]
    Cell(String),
    /// The CLI cannot be started.
    #[error("failed to start the Claude Code CLI {program}: {source}")]
    Start {
        /// Its path.
        program: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// The tap's half of the socket, shared by the pumps.
pub(super) type CellWriter = Mutex<OwnedWriteHalf>;

/// Runs the CLI behind this tap and ends as it ended. `link` is the path the adapter started.
///
/// # Errors
/// When the tap cannot reach its cell or start the CLI.
pub async fn run(link: &Path, arguments: Vec<OsString>) -> Result<ExitStatus, TapError> {
    let settings = read_settings(link)?;
    let stream = UnixStream::connect(&settings.socket)
        .await
        .map_err(|error| TapError::Cell(error.to_string()))?;
    let (reader, writer) = stream.into_split();
    let writer = CellWriter::new(writer);
    let mut answers = BufReader::new(reader).lines();
    send(&writer, &started(&arguments, &settings)).await?;
    let Some(ToTap::Start {
        program,
        arguments,
        set,
        set_if_missing,
        probe,
    }) = next_answer(&mut answers).await?
    else {
        return Err(TapError::Cell(
            "the first answer was not `start`".to_owned(),
        ));
    };
    let mut command = child::command(&program, &arguments, set, set_if_missing);
    if probe {
        return Err(TapError::Start {
            source: command.as_std_mut().exec(),
            program,
        });
    }
    let child = match child::start(command) {
        Ok(child) => child,
        Err(source) => {
            let reason = source.to_string();
            send(&writer, &FromTap::NotStarted { reason }).await?;
            return Err(TapError::Start { program, source });
        }
    };
    send(&writer, &FromTap::Running { pid: child.pid }).await?;
    relay(child, writer, answers).await
}

fn read_settings(link: &Path) -> Result<TapSettings, TapError> {
    let path = link.parent().unwrap_or(Path::new(".")).join(SETTINGS_FILE);
    let text =
        std::fs::read_to_string(&path).map_err(|source| TapError::Settings { path, source })?;
    serde_json::from_str(&text).map_err(|error| TapError::Cell(error.to_string()))
}

fn started(arguments: &[OsString], settings: &TapSettings) -> FromTap {
    let reported = |name: &str| {
        settings
            .reported_variables
            .iter()
            .any(|variable| variable == name)
    };
    let value = |name: &str| reported(name).then(|| std::env::var(name).unwrap_or_default());
    FromTap::Started {
        pid: i32::try_from(std::process::id()).unwrap_or_default(),
        arguments: arguments
            .iter()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        cwd: std::env::current_dir()
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default(),
        environment: std::env::vars_os()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .map(|name| (name.clone(), value(&name)))
            .collect(),
    }
}

/// Carries lines both ways until the CLI has ended and everything it wrote has been delivered.
async fn relay(
    child: StartedChild,
    writer: CellWriter,
    mut answers: Lines<BufReader<OwnedReadHalf>>,
) -> Result<ExitStatus, TapError> {
    let (to_in, in_verdicts) = mpsc::unbounded_channel();
    let (to_out, out_verdicts) = mpsc::unbounded_channel();
    let (exit_sender, mut exit_answer) = mpsc::unbounded_channel();
    let dispatch = async move {
        let to = |direction| {
            if direction == Direction::In {
                &to_in
            } else {
                &to_out
            }
        };
        while let Some(answer) = next_answer(&mut answers).await? {
            match answer {
                ToTap::Forward {
                    direction,
                    number,
                    writes,
                } => {
                    drop(to(direction).send(Verdict::Forward { number, writes }));
                }
                ToTap::End { direction } => drop(to(direction).send(Verdict::End)),
                ToTap::Exit => drop(exit_sender.send(())),
                ToTap::Start { .. } => {
                    return Err(TapError::Cell("a second `start` arrived".to_owned()));
                }
            }
        }
        // Without its cell nothing would hold or record the CLI's traffic: it must not go on.
        Err::<Infallible, _>(TapError::Cell("the cell closed the socket".to_owned()))
    };
    let pid = child.pid;
    let (stdin, stdout, stderr, mut child) = child.into_parts();
    let inbound = Pump::new(Direction::In, &writer, in_verdicts).run(tokio::io::stdin(), stdin);
    let outbound =
        Pump::new(Direction::Out, &writer, out_verdicts).run(stdout, tokio::io::stdout());
    let errors = pump_stderr(&writer, stderr);
    let ending = async {
        // What the CLI wrote before it ended goes first; the adapter may keep stdin open for ever.
        let (status, written, reported) =
            tokio::join!(child::wait(&mut child, pid), outbound, errors);
        written.and(reported)?;
        let status = status.map_err(|error| TapError::Cell(error.to_string()))?;
        send(&writer, &exited(status)).await?;
        let _ = exit_answer.recv().await;
        Ok::<_, TapError>(status)
    };
    tokio::select! {
        status = ending => status,
        Err(error) = dispatch => Err(error),
        Err(error) = forever(inbound) => Err(error),
    }
}

/// The adapter closing stdin is no end of the tap; only a failure is.
async fn forever(
    inbound: impl Future<Output = Result<(), TapError>>,
) -> Result<Infallible, TapError> {
    inbound.await?;
    std::future::pending().await
}

fn exited(status: ExitStatus) -> FromTap {
    use std::os::unix::process::ExitStatusExt as _;
    FromTap::Exited {
        code: status.code(),
        signal: status.signal(),
    }
}

pub(super) async fn send(writer: &CellWriter, message: &FromTap) -> Result<(), TapError> {
    let mut line =
        serde_json::to_vec(message).map_err(|error| TapError::Cell(error.to_string()))?;
    line.push(b'\n');
    writer
        .lock()
        .await
        .write_all(&line)
        .await
        .map_err(|error| TapError::Cell(error.to_string()))
}

async fn next_answer(
    answers: &mut Lines<BufReader<OwnedReadHalf>>,
) -> Result<Option<ToTap>, TapError> {
    let line = answers
        .next_line()
        .await
        .map_err(|error| TapError::Cell(error.to_string()))?;
    line.map(|line| serde_json::from_str(&line).map_err(|error| TapError::Cell(error.to_string())))
        .transpose()
}
