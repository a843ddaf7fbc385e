//! How a reply is cut into events and writes.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

/// How a streamed reply is cut into events and writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamOptions {
    /// Characters per text, thinking or input delta. The default is 24.
    pub delta_chars: Option<NonZeroUsize>,
    /// Bytes per write to the socket, cutting through characters and JSON alike. The default is one event per write.
    pub write_bytes: Option<NonZeroUsize>,
    /// Pause before each event, in milliseconds.
    pub interval_ms: u64,
    /// Where `ping` events are sent.
    pub pings: Pings,
    /// How lines end.
    pub line_ending: LineEnding,
    /// Event types to leave out, such as `message_stop`.
    pub omit: Vec<String>,
    /// The events to send, by position from 0 (after `omit`): leaves out, repeats and reorders.
    pub order: Option<Vec<usize>>,
}

/// Where `ping` events are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pings {
    /// Once, after the first block has started, as the real API does.
    #[default]
    Once,
    /// After every event.
    Every,
    /// Nowhere.
    None,
}

/// How the lines of the event stream end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineEnding {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    Crlf,
    /// `\r`
    Cr,
}

impl LineEnding {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
            Self::Cr => "\r",
        }
    }
}
