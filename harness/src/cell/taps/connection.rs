//! One tap, from the cell's side: what it reports, and what it is told.

use std::collections::BTreeMap;
use std::io::Write as _;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::error::CellError;
use super::arguments::edit_arguments;
use super::line::frame;
use super::server::TapServer;
use super::turns::{Waiting, lane};
use crate::scenario::{Direction, FaultEffect};
use crate::tap::{Bytes, FromTap, ToTap};
use crate::trace::{Lane, Observation};

/// One tap, from the cell's side.
pub(super) struct Tap<'a> {
    server: &'a TapServer,
    number: usize,
    worker: Option<String>,
    answers: mpsc::UnboundedSender<ToTap>,
    inbound: mpsc::UnboundedSender<Waiting>,
    outbound: mpsc::UnboundedSender<Waiting>,
}

impl<'a> Tap<'a> {
    pub(super) fn new(
        server: &'a TapServer,
        number: usize,
        answers: mpsc::UnboundedSender<ToTap>,
    ) -> Self {
        Self {
            server,
            number,
            worker: server.worker_of(number),
            inbound: lane(Direction::In, &answers),
            outbound: lane(Direction::Out, &answers),
            answers,
        }
    }

    fn observation(&self, kind: &str) -> Observation {
        let observation = Observation::new(Lane::Cli, kind).spawn(Some(self.number));
        self.worker.iter().fold(observation, |observation, worker| {
            observation.worker(worker)
        })
    }

    pub(super) async fn started(
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
        let edited = edited(&arguments, faults);
        if edited.as_ref() == Some(&arguments) {
            let observation = Observation::new(Lane::Fault, "argv_unchanged");
            let recorder = &self.server.context.recorder;
            recorder.record(observation.spawn(Some(self.number)));
        }
        let arguments = edited.unwrap_or(arguments);
        let url = (
            "ANTHROPIC_BASE_URL".to_owned(),
            self.server.api.base_url(self.number),
        );
        let _ = self
            .answers
            .send(self.server.start(arguments, BTreeMap::from([url]), false));
    }

    pub(super) fn take(&self, message: FromTap) {
        match message {
            FromTap::Running { pid } => self.server.runs(self.number, pid),
            FromTap::NotStarted { reason } => self.not_started(reason),
            FromTap::Line {
                direction,
                number,
                bytes,
            } => self.take_line(direction, number, bytes),
            FromTap::End { direction } => self.take_end(direction),
            FromTap::Stderr { bytes } => self.take_stderr(bytes),
            FromTap::Exited { code, signal } => self.take_exit(code, signal),
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

    fn take_exit(&self, code: Option<i32>, signal: Option<i32>) {
        let status = match (code, signal) {
            (Some(code), _) => format!("code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown".to_owned(),
        };
        self.ended(&status);
        let _ = self.answers.send(ToTap::Exit);
    }

    /// The tap went away without a word: it was killed, and its CLI with it.
    pub(super) fn gone(&self) {
        self.ended("killed with its tap");
    }

    fn not_started(&self, reason: String) {
        self.server.context.fail(CellError::CliStart {
            path: self.server.cli.clone(),
            reason,
        });
    }

    /// Records the end of the CLI, the first time it is known.
    fn ended(&self, status: &str) {
        if self.server.end(self.number) {
            let observation = self.observation("exited").field("status", status);
            self.server.context.recorder.record(observation);
        }
    }
}

/// The arguments as faults want them; `None` when no fault is about arguments.
fn edited(arguments: &[String], faults: Vec<FaultEffect>) -> Option<Vec<String>> {
    faults.into_iter().fold(None, |edited, fault| match fault {
        FaultEffect::Argv { drop, add } => {
            let arguments = edited.unwrap_or_else(|| arguments.to_vec());
            Some(edit_arguments(arguments, &drop, add))
        }
        _ => edited,
    })
}
