//! What was observed of a CLI: lanes of entries, in the order of each lane.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where something was observed. The order across lanes is not recorded: it varies from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Frames on stdout that tell of the session.
    Stdout,
    /// Frames on stdout that ask the host, withdraw a question, or answer the host.
    Control,
    /// Events of the Messages API's stream that are passed on.
    Stream,
    /// The entries of the session mirror, its batches joined.
    Mirror,
    /// Requests to the Messages API.
    Http,
    /// New entries of the transcript files.
    Transcript,
    /// The end of the process, and its stderr.
    Process,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 7] = [
        Self::Stdout,
        Self::Control,
        Self::Stream,
        Self::Mirror,
        Self::Http,
        Self::Transcript,
        Self::Process,
    ];

    /// As it is written in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Control => "control",
            Self::Stream => "stream",
            Self::Mirror => "mirror",
            Self::Http => "http",
            Self::Transcript => "transcript",
            Self::Process => "process",
        }
    }

    /// The lane of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.name() == name)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What one process of a case left on its lanes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunTrace {
    /// The entries of each lane; a lane without one may be absent.
    pub lanes: BTreeMap<Lane, Vec<Value>>,
}

impl RunTrace {
    pub(crate) fn push(&mut self, lane: Lane, entry: Value) {
        self.lanes.entry(lane).or_default().push(entry);
    }

    /// The entries of a lane.
    #[must_use]
    pub fn lane(&self, lane: Lane) -> &[Value] {
        self.lanes.get(&lane).map_or(&[], Vec::as_slice)
    }
}

/// What the processes of a case left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseTrace {
    /// One for each process.
    pub runs: Vec<RunTrace>,
}

/// The kind of an entry: the first part of every field path.
pub(crate) fn kind(lane: Lane, entry: &Value) -> String {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    let joined = |parts: &[Option<&str>]| {
        parts
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<_>>()
            .join("/")
    };
    match lane {
        Lane::Stdout if entry.get("line").is_some() => "line".to_owned(),
        Lane::Stdout => joined(&[
            text("/type"),
            text("/subtype").filter(|_| text("/type") == Some("system")),
            text("/attachment/type"),
        ]),
        Lane::Control => control_kind(entry),
        Lane::Stream => joined(&[text("/type"), text("/event/type")]),
        Lane::Mirror | Lane::Transcript => joined(&[
            text("/type"),
            text("/subtype"),
            text("/operation"),
            text("/attachment/type"),
        ]),
        Lane::Http => "request".to_owned(),
        Lane::Process => "process".to_owned(),
    }
}

fn control_kind(entry: &Value) -> String {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
    let parts = [
        text("/type"),
        text("/request/subtype"),
        text("/request/input/hook_event_name"),
        text("/request/message/method"),
        text("/response/subtype"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}
