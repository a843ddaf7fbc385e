//! The cell's end of every tap: numbers the CLI processes, and decides about each of their lines.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::barriers::{Delayed, Passage};
use super::context::CellContext;
use super::error::CellError;
use super::messages_api::CellApi;
use crate::scenario::{Direction, FaultEffect};
use crate::tap::{Bytes, FromTap, ToTap};
use crate::trace::{Lane, Observation};

/// The CLI processes of a cell.
pub(crate) struct TapServer {
    context: Arc<CellContext>,
    api: Arc<CellApi>,
    cli: PathBuf,
    /// What every CLI gets, whatever its adapter passed on: it must never reach beyond loopback.
    enforced: BTreeMap<String, String>,
    /// What a CLI gets when its adapter passed on nothing.
    defaults: BTreeMap<String, String>,
    spawns: Mutex<Vec<Spawn>>,
}

/// One CLI process.
#[derive(Debug, Clone)]
pub(crate) struct Spawn {
    /// The runner's process that started it, if that could be seen.
    pub(crate) worker: Option<String>,
    pub(crate) tap_pid: i32,
    pub(crate) cli_pid: Option<i32>,
    pub(crate) ended: bool,
}

impl TapServer {
    pub(crate) fn new(
        context: Arc<CellContext>,
        api: Arc<CellApi>,
        cli: PathBuf,
        enforced: BTreeMap<String, String>,
        defaults: BTreeMap<String, String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            context,
            api,
            cli,
            enforced,
            defaults,
            spawns: Mutex::default(),
        })
    }

    /// Serves taps until it is aborted.
    pub(crate) async fn serve(self: Arc<Self>, listener: UnixListener) {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(Arc::clone(&self).serve_tap(stream));
        }
    }

    /// The CLI processes that worker `name` started and that still run, with their numbers.
    pub(crate) fn running_of(&self, name: &str) -> Vec<(usize, Spawn)> {
        let mine = |spawn: &Spawn| !spawn.ended && spawn.worker.as_deref() == Some(name);
        self.numbered()
            .into_iter()
            .filter(|(_, spawn)| mine(spawn))
            .collect()
    }

    /// The newest CLI process that still runs.
    pub(crate) fn newest_running(&self) -> Option<Spawn> {
        self.numbered()
            .into_iter()
            .rev()
            .map(|(_, spawn)| spawn)
            .find(|spawn| !spawn.ended)
    }

    fn numbered(&self) -> Vec<(usize, Spawn)> {
        self.lock()
            .iter()
            .cloned()
            .enumerate()
            .map(|(index, spawn)| (index + 1, spawn))
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Spawn>> {
        self.spawns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve_tap(self: Arc<Self>, stream: UnixStream) {
        let (reader, mut writer) = stream.into_split();
        let (answers, mut outgoing) = mpsc::unbounded_channel::<ToTap>();
        tokio::spawn(async move {
            while let Some(answer) = outgoing.recv().await {
                let mut line = serde_json::to_vec(&answer).unwrap_or_default();
                line.push(b'\n');
                if writer.write_all(&line).await.is_err() {
                    return;
                }
            }
        });
        let mut lines = BufReader::new(reader).lines();
        let Some(FromTap::Started {
            pid,
            arguments,
            cwd,
            environment,
        }) = next(&mut lines).await
        else {
            return;
        };
        if is_probe(&arguments) {
            self.context
                .recorder
                .record(Observation::new(Lane::Cli, "probed"));
            let _ = answers.send(self.start(arguments, BTreeMap::new(), true));
            return;
        }
        let number = self.add_spawn(pid);
        let worker = self.lock()[number - 1].worker.clone();
        let (inbound, outbound) = (
            lane(Direction::In, &answers),
            lane(Direction::Out, &answers),
        );
        let tap = Tap {
            server: &self,
            number,
            worker,
            answers,
            inbound,
            outbound,
        };
        tap.started(arguments, cwd, environment).await;
        while let Some(message) = next(&mut lines).await {
            tap.take(message).await;
        }
        tap.gone();
    }

    fn add_spawn(&self, tap_pid: i32) -> usize {
        let worker = self.context.runner_of(tap_pid);
        let mut spawns = self.lock();
        spawns.push(Spawn {
            worker,
            tap_pid,
            cli_pid: None,
            ended: false,
        });
        spawns.len()
    }

    fn start(&self, arguments: Vec<String>, set: BTreeMap<String, String>, probe: bool) -> ToTap {
        let mut enforced = self.enforced.clone();
        enforced.extend(set);
        ToTap::Start {
            program: self.cli.to_string_lossy().into_owned(),
            arguments,
            set: enforced,
            set_if_missing: self.defaults.clone(),
            probe,
        }
    }
}

async fn next(
    lines: &mut tokio::io::Lines<BufReader<tokio::net::unix::OwnedReadHalf>>,
) -> Option<FromTap> {
    let line = lines.next_line().await.ok().flatten()?;
    serde_json::from_str(&line).ok()
}

/// SDKs ask the CLI for its version before they start it; that is no session.
fn is_probe(arguments: &[String]) -> bool {
    matches!(arguments, [only] if only == "-v" || only == "--version")
}

/// What waits for its turn in one direction.
enum Waiting {
    Line {
        number: u64,
        bytes: Bytes,
        passage: Passage,
    },
    End,
}

/// Starts the one task that lets the lines of a direction through in their order. A barrier stops the
/// direction; a `hold_until` delays its own line alone.
fn lane(
    direction: Direction,
    answers: &mpsc::UnboundedSender<ToTap>,
) -> mpsc::UnboundedSender<Waiting> {
    let (sender, mut waiting) = mpsc::unbounded_channel();
    let answers = answers.clone();
    tokio::spawn(async move {
        while let Some(next) = waiting.recv().await {
            match next {
                Waiting::Line {
                    number,
                    bytes,
                    passage,
                } => {
                    let delayed = passage.wait_for_barriers().await;
                    let free = delayed.is_free();
                    let forwarding = forward(direction, number, bytes, delayed, answers.clone());
                    if free {
                        forwarding.await;
                    } else {
                        tokio::spawn(forwarding);
                    }
                }
                Waiting::End => drop(answers.send(ToTap::End { direction })),
            }
        }
    });
    sender
}

async fn forward(
    direction: Direction,
    number: u64,
    bytes: Bytes,
    delayed: Delayed,
    answers: mpsc::UnboundedSender<ToTap>,
) {
    let faults = delayed.wait().await;
    let writes = (!faults.is_empty()).then(|| apply(bytes, faults));
    let _ = answers.send(ToTap::Forward {
        direction,
        number,
        writes,
    });
}

struct Tap<'a> {
    server: &'a TapServer,
    number: usize,
    worker: Option<String>,
    answers: mpsc::UnboundedSender<ToTap>,
    inbound: mpsc::UnboundedSender<Waiting>,
    outbound: mpsc::UnboundedSender<Waiting>,
}

impl Tap<'_> {
    fn observation(&self, kind: &str) -> Observation {
        let observation = Observation::new(Lane::Cli, kind).spawn(Some(self.number));
        self.worker.iter().fold(observation, |observation, worker| {
            observation.worker(worker)
        })
    }

    async fn started(
        &self,
        arguments: Vec<String>,
        cwd: String,
        environment: BTreeMap<String, Option<String>>,
    ) {
        let observation = self
            .observation("spawned")
            .payload(json!({"arguments": arguments, "cwd": cwd, "environment": environment}));
        let faults = self
            .server
            .context
            .barriers
            .observe(observation)
            .wait()
            .await;
        let arguments = faults
            .into_iter()
            .fold(arguments, |arguments, fault| match fault {
                FaultEffect::Argv { drop, add } => edit_arguments(arguments, &drop, add),
                _ => arguments,
            });
        let url = (
            "ANTHROPIC_BASE_URL".to_owned(),
            self.server.api.base_url(self.number),
        );
        let _ = self
            .answers
            .send(self.server.start(arguments, BTreeMap::from([url]), false));
    }

    async fn take(&self, message: FromTap) {
        match message {
            FromTap::Running { pid } => self.server.lock()[self.number - 1].cli_pid = Some(pid),
            FromTap::Line {
                direction,
                number,
                bytes,
            } => self.take_line(direction, number, bytes),
            FromTap::End { direction } => self.take_end(direction),
            FromTap::Stderr { bytes } => self.take_stderr(bytes),
            FromTap::Exited { code, signal } => self.take_exit(code, signal).await,
            FromTap::Started { .. } => {}
        }
    }

    /// Recorded in the order of arrival; let through in a task of its own, so that the other
    /// direction goes on.
    fn take_line(&self, direction: Direction, number: u64, bytes: Bytes) {
        let passage = self.server.context.barriers.observe(frame(
            self.observation("frame"),
            direction,
            &bytes,
        ));
        let _ = self.lane(direction).send(Waiting::Line {
            number,
            bytes,
            passage,
        });
    }

    fn take_end(&self, direction: Direction) {
        let observation = self
            .observation("stream_end")
            .field("direction", direction.wire_name());
        self.server.context.recorder.record(observation);
        let _ = self.lane(direction).send(Waiting::End);
    }

    fn lane(&self, direction: Direction) -> &mpsc::UnboundedSender<Waiting> {
        match direction {
            Direction::In => &self.inbound,
            Direction::Out => &self.outbound,
        }
    }

    fn take_stderr(&self, bytes: Bytes) {
        let path = self
            .server
            .context
            .log
            .join(format!("cli-{}.stderr", self.number));
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(path);
        // Evidence only: the trace has the text as well.
        let _ = file.and_then(|mut file| file.write_all(bytes.lossy().as_bytes()));
        self.server.context.recorder.record(
            self.observation("stderr")
                .payload(Value::String(bytes.lossy())),
        );
    }

    async fn take_exit(&self, code: Option<i32>, signal: Option<i32>) {
        let status = match (code, signal) {
            (Some(code), _) => format!("code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown".to_owned(),
        };
        self.ended(&status);
        let _ = self.answers.send(ToTap::Exit);
    }

    /// The tap went away without a word: it was killed, and its CLI with it.
    fn gone(&self) {
        if !self.server.lock()[self.number - 1].ended {
            self.ended("killed with its tap");
        }
    }

    fn ended(&self, status: &str) {
        self.server.lock()[self.number - 1].ended = true;
        self.server
            .context
            .recorder
            .record(self.observation("exited").field("status", status));
    }
}

/// A line as an observation: its names as fields, the whole as payload.
fn frame(observation: Observation, direction: Direction, bytes: &Bytes) -> Observation {
    let text = bytes.lossy();
    let observation = observation.field("direction", direction.wire_name());
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        return observation
            .field("type", "not_json")
            .payload(Value::String(text));
    };
    let names = [
        ("type", "/type"),
        ("subtype", "/subtype"),
        ("subtype", "/request/subtype"),
        ("subtype", "/response/subtype"),
        ("method", "/request/message/method"),
        ("request_id", "/request_id"),
        ("request_id", "/response/request_id"),
    ];
    let named = names
        .iter()
        .fold(observation, |observation, (name, pointer)| {
            match value.pointer(pointer).and_then(Value::as_str) {
                Some(found) => observation.field(name, found),
                None => observation,
            }
        });
    named.payload(value)
}

/// What is written in the place of a line.
fn apply(bytes: Bytes, faults: Vec<FaultEffect>) -> Vec<Bytes> {
    faults
        .into_iter()
        .fold(vec![bytes], |writes, fault| match fault {
            FaultEffect::Drop => Vec::new(),
            FaultEffect::Duplicate { times } => writes
                .iter()
                .flat_map(|write| std::iter::repeat_n(write.clone(), times))
                .collect(),
            FaultEffect::Inject { lines } => lines
                .into_iter()
                .map(|line| Bytes::new(format!("{line}\n").into_bytes()))
                .chain(writes)
                .collect(),
            FaultEffect::Split { after } => writes
                .into_iter()
                .flat_map(|write| split(write, after))
                .collect(),
            FaultEffect::Argv { .. }
            | FaultEffect::HoldUntil(_)
            | FaultEffect::Reset
            | FaultEffect::Truncate => writes,
        })
}

fn split(bytes: Bytes, after: usize) -> [Bytes; 2] {
    let mut bytes = bytes.into_bytes();
    let rest = bytes.split_off(after.min(bytes.len()));
    [Bytes::new(bytes), Bytes::new(rest)]
}

/// Takes flags out, in both forms (`--flag value`, `--flag=value`), and puts arguments at the end.
fn edit_arguments(arguments: Vec<String>, drop: &[String], add: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let name = argument
            .split_once('=')
            .map_or(argument.as_str(), |(name, _)| name);
        if !drop.iter().any(|flag| flag == name) {
            kept.push(argument);
        } else if !argument.contains('=') {
            let _value = arguments.next_if(|next| !next.starts_with('-'));
        }
    }
    kept.extend(add);
    kept
}

/// The taps and the CLIs of some processes, to be killed with their worker.
pub(crate) fn process_ids(spawns: &[(usize, Spawn)]) -> Vec<i32> {
    spawns
        .iter()
        .flat_map(|(_, spawn)| std::iter::once(spawn.tap_pid).chain(spawn.cli_pid))
        .collect()
}

/// A listener at `path`.
pub(crate) fn listen(path: &std::path::Path) -> Result<UnixListener, CellError> {
    UnixListener::bind(path).map_err(CellError::surroundings(
        "the tap's socket could not be made",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_are_taken_out_in_both_forms() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let arguments =
            words("--verbose --model x --resume=1 --await-initialize --input-format stream-json");
        let drop = words("--await-initialize --model --resume");
        assert_eq!(
            edit_arguments(arguments, &drop, words("--new")),
            words("--verbose --input-format stream-json --new")
        );
    }

    #[test]
    fn only_a_bare_version_question_is_a_probe() {
        assert!(is_probe(&["-v".to_owned()]));
        assert!(!is_probe(&["-v".to_owned(), "--verbose".to_owned()]));
    }

    proptest! {
        #[test]
        fn a_split_keeps_every_byte(bytes in proptest::collection::vec(any::<u8>(), 0..32), after in 0usize..40) {
            let [head, tail] = split(Bytes::new(bytes.clone()), after);
            prop_assert_eq!([head.into_bytes(), tail.into_bytes()].concat(), bytes);
        }
    }
}
