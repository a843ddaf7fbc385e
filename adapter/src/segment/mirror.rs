//! Collects the transcript that the CLI mirrors and knows when it is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::cli::frame::{MirrorFrame, SpokenFrame};

/// The transcript lines of one CLI run.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    /// Lines by the name of the file they went to: subagents have files of their own.
    files: BTreeMap<String, Vec<Value>>,
    /// Ids of frames of the main conversation that must show up as lines.
    spoken: BTreeSet<String>,
}

/// Lines are missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MirrorGap {
    #[error("find the transcript entry of frame {0}")]
    Frame(String),
    #[error("find the transcript entry {parent}, the parent of {child}")]
    Parent { parent: String, child: String },
    #[error("find the transcript entry that defers call {0}")]
    Deferral(String),
}

impl Mirror {
    pub(crate) fn collect(&mut self, frame: MirrorFrame) {
        let name = Path::new(&frame.file_path)
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.files.entry(name).or_default().extend(frame.entries);
    }

    pub(crate) fn expect(&mut self, frame: &SpokenFrame) {
        if frame.parent_tool_use_id.is_none() && !frame.is_replay {
            self.spoken.extend(frame.uuid.clone());
        }
    }

    /// What is missing from the transcript of this session, if something is.
    ///
    /// `stored` are the entries that the run started from.
    pub(crate) fn gap(
        &self,
        session: &str,
        stored: &[Value],
        deferred: Option<&str>,
    ) -> Option<MirrorGap> {
        let entries = self.entries(session);
        let mut known: BTreeSet<&str> = stored.iter().filter_map(entry_id).collect();
        for entry in entries {
            if let (Some(child), Some(parent)) = (entry_id(entry), entry["parentUuid"].as_str())
                && !known.contains(parent)
            {
                return Some(MirrorGap::Parent {
                    parent: parent.to_owned(),
                    child: child.to_owned(),
                });
            }
            known.extend(entry_id(entry));
        }
        if let Some(missing) = self.spoken.iter().find(|id| !known.contains(id.as_str())) {
            return Some(MirrorGap::Frame(missing.clone()));
        }
        deferred
            .filter(|id| !entries.iter().any(|entry| defers(entry, id)))
            .map(|id| MirrorGap::Deferral(id.to_owned()))
    }

    pub(crate) fn entries(&self, session: &str) -> &[Value] {
        self.files.get(session).map_or(&[], Vec::as_slice)
    }
}

fn entry_id(entry: &Value) -> Option<&str> {
    entry["uuid"].as_str()
}

fn defers(entry: &Value, tool_use_id: &str) -> bool {
    entry["attachment"]["type"] == "hook_deferred_tool"
        && entry["attachment"]["toolUseID"] == tool_use_id
}
