//! What `cli-tap` and the cell say to each other over a Unix socket: one JSON document a line.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::scenario::Direction;

/// The settings file beside the link that the adapter starts; adapters scrub the environment, so
/// settings cannot come through it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TapSettings {
    /// The cell's Unix socket.
    pub socket: String,
    /// The variables whose values the tap reports; of all others it reports the names alone, since an
    /// adapter may hand down secrets of the person who runs it.
    pub reported_variables: Vec<String>,
}

/// The file's name, in the directory of the link.
pub const SETTINGS_FILE: &str = "tap.json";

/// From the tap to the cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromTap {
    /// The first message: somebody started the CLI.
    Started {
        /// The tap's own process.
        pid: i32,
        /// Arguments, without the program.
        arguments: Vec<String>,
        /// Working directory.
        cwd: String,
        /// The variables that the CLI was given; values only of the reported ones.
        environment: BTreeMap<String, Option<String>>,
    },
    /// The CLI runs.
    Running {
        /// Its process.
        pid: i32,
    },
    /// The CLI could not be started.
    NotStarted {
        /// Why not.
        reason: String,
    },
    /// A whole line, with its line end; forwarded when the cell has answered.
    Line {
        /// Which way it goes.
        direction: Direction,
        /// Its number in this direction.
        number: u64,
        /// The line.
        bytes: Bytes,
    },
    /// The stream ended; forwarded when the cell has answered.
    End {
        /// Which stream.
        direction: Direction,
    },
    /// Something on the CLI's stderr; forwarded at once, not answered.
    Stderr {
        /// What was read.
        bytes: Bytes,
    },
    /// The CLI ended; the tap ends the same way when the cell has answered.
    Exited {
        /// Exit code.
        code: Option<i32>,
        /// Signal that ended it.
        signal: Option<i32>,
    },
}

/// From the cell to the tap.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToTap {
    /// Answers `Started`.
    Start {
        /// The CLI to run.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables to set.
        set: BTreeMap<String, String>,
        /// Variables to set unless they are there.
        set_if_missing: BTreeMap<String, String>,
        /// Only run it, without reporting: a version probe is no session.
        probe: bool,
    },
    /// Answers `Line`; the answers may come in another order than the lines.
    Forward {
        /// Which way.
        direction: Direction,
        /// Which line.
        number: u64,
        /// What to write, one write each; `None` passes what was reported unchanged.
        writes: Option<Vec<Bytes>>,
    },
    /// Answers `End`: the stream may end once no line is held any more.
    End {
        /// Which way.
        direction: Direction,
    },
    /// Answers `Exited`.
    Exit,
}

/// Bytes as text when they are UTF-8, in Base64 otherwise, so that a trace stays readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bytes {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Base64(String),
}

impl Bytes {
    /// Wraps bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Base64(STANDARD.encode(error.into_bytes())),
        }
    }

    /// The bytes again; Base64 that does not decode is empty, which only a foreign writer can send.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        }
    }

    /// The text, with replacement characters where it is none.
    #[must_use]
    pub fn lossy(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Base64(_) => String::from_utf8_lossy(&self.clone().into_bytes()).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_survive(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let wire = serde_json::to_string(&Bytes::new(bytes.clone())).expect("serialises");
            let back: Bytes = serde_json::from_str(&wire).expect("parses");
            prop_assert_eq!(back.into_bytes(), bytes);
        }
    }
}
