//! What a segment starts from.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::session::record::ToolCallRecord;

/// The transcript of a session's completed turns, oldest entry first.
///
/// The entries stay text, as they were stored: there may be ten thousand of them, and all that is
/// done with them is to write them for the CLI.
#[derive(Clone, Debug)]
pub(crate) struct StoredTranscript {
    pub(crate) claude_session_id: String,
    pub(crate) entries: Vec<Box<RawValue>>,
}

/// How a segment starts.
#[derive(Clone, Debug)]
pub(crate) enum SegmentStart {
    /// The first segment of a turn: the texts that no completed turn has seen, oldest first.
    Prompt {
        texts: Vec<String>,
        transcript: Option<StoredTranscript>,
    },
    /// Resumes a suspended turn. No prompt: one would destroy the pending deferral.
    Resume {
        claude_session_id: String,
        /// The transcript before the suspended turn.
        transcript: Option<StoredTranscript>,
        /// The entries of the suspended turn.
        turn_entries: Vec<Value>,
        record: ToolCallRecord,
    },
}

#[derive(Deserialize)]
struct EntryId {
    uuid: Option<String>,
}

impl SegmentStart {
    /// The CLI session that goes on, if one does.
    pub(crate) fn claude_session_id(&self) -> Option<&str> {
        match self {
            Self::Prompt { transcript, .. } => transcript
                .as_ref()
                .map(|transcript| transcript.claude_session_id.as_str()),
            Self::Resume {
                claude_session_id, ..
            } => Some(claude_session_id),
        }
    }

    /// The entries of completed turns.
    pub(crate) fn stored_entries(&self) -> &[Box<RawValue>] {
        let (Self::Prompt { transcript, .. } | Self::Resume { transcript, .. }) = self;
        transcript
            .as_ref()
            .map_or(&[], |transcript| transcript.entries.as_slice())
    }

    /// The entries of the turn that are stored already.
    pub(crate) fn turn_entries(&self) -> &[Value] {
        match self {
            Self::Prompt { .. } => &[],
            Self::Resume { turn_entries, .. } => turn_entries,
        }
    }

    /// Whether the segment starts from an entry of this id. Newer entries are looked at first: it
    /// is they that are asked for.
    pub(crate) fn has_entry(&self, id: &str) -> bool {
        let of_the_turn = self.turn_entries().iter().rev();
        let of_turns_before = self.stored_entries().iter().rev();
        of_the_turn
            .map(|entry| entry["uuid"] == id)
            .chain(of_turns_before.map(|entry| {
                let entry = serde_json::from_str(entry.get());
                entry.is_ok_and(|entry: EntryId| entry.uuid.as_deref() == Some(id))
            }))
            .any(|is_it| is_it)
    }
}
