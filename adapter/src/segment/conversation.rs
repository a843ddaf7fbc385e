//! What a segment starts from.

use serde_json::Value;

use crate::session::record::ToolCallRecord;

/// Transcript entries of a CLI session, as they were stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StoredTranscript {
    pub(crate) claude_session_id: String,
    pub(crate) entries: Vec<Value>,
}

/// How a segment starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SegmentStart {
    /// The first segment of a turn: the texts that no completed turn has seen, oldest first.
    Prompt {
        texts: Vec<String>,
        transcript: Option<StoredTranscript>,
    },
    /// Resumes a suspended turn. No prompt: one would destroy the pending deferral.
    Resume {
        transcript: StoredTranscript,
        /// How many of the entries, at the end, belong to the suspended turn.
        turn_entries: usize,
        record: ToolCallRecord,
    },
}

impl SegmentStart {
    pub(crate) fn transcript(&self) -> Option<&StoredTranscript> {
        match self {
            Self::Prompt { transcript, .. } => transcript.as_ref(),
            Self::Resume { transcript, .. } => Some(transcript),
        }
    }

    /// The entries of the turn that are stored already.
    pub(crate) fn turn_entries(&self) -> &[Value] {
        match self {
            Self::Prompt { .. } => &[],
            Self::Resume {
                transcript,
                turn_entries,
                ..
            } => {
                let from = transcript.entries.len().saturating_sub(*turn_entries);
                &transcript.entries[from..]
            }
        }
    }
}
