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
    /// `is_stored` says of an id whether the run started from an entry of that id.
    pub(crate) fn gap(
        &self,
        session: &str,
        is_stored: impl Fn(&str) -> bool,
        deferred: Option<&str>,
    ) -> Option<MirrorGap> {
        let entries = self.entries(session);
        let mut known = BTreeSet::new();
        for entry in entries {
            if let (Some(child), Some(parent)) = (entry_id(entry), entry["parentUuid"].as_str())
                && !known.contains(parent)
                && !is_stored(parent)
            {
                return Some(MirrorGap::Parent {
                    parent: parent.to_owned(),
                    child: child.to_owned(),
                });
            }
            known.extend(entry_id(entry));
        }
        let is_missing = |id: &&String| !known.contains(id.as_str()) && !is_stored(id);
        if let Some(missing) = self.spoken.iter().find(is_missing) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mirror(entries: Vec<Value>, spoken: &[&str]) -> Mirror {
        let mut mirror = Mirror::default();
        mirror.collect(MirrorFrame {
            file_path: "/config/projects/-work/session.jsonl".into(),
            entries,
        });
        for uuid in spoken {
            mirror.expect(&SpokenFrame {
                message: Value::Null,
                parent_tool_use_id: None,
                uuid: Some((*uuid).into()),
                is_replay: false,
            });
        }
        mirror
    }

    fn entry(uuid: &str, parent: Option<&str>) -> Value {
        json!({"uuid": uuid, "parentUuid": parent})
    }

    #[test]
    fn a_whole_transcript_has_no_gap() {
        let deferral = json!({"uuid": "c", "parentUuid": "b",
            "attachment": {"type": "hook_deferred_tool", "toolUseID": "toolu_1"}});
        let entries = vec![entry("b", Some("a")), deferral];
        let mirror = mirror(entries, &["b"]);
        let is_stored = |id: &str| id == "a";
        assert_eq!(mirror.gap("session", is_stored, Some("toolu_1")), None);
        assert_eq!(mirror.entries("session").len(), 2);
        assert!(mirror.entries("subagent").is_empty());
    }

    // covers: seg-mirror
    #[test]
    fn every_kind_of_loss_shows() {
        let spoken = mirror(vec![entry("a", None)], &["a", "b"]);
        assert_eq!(
            spoken.gap("session", |_| false, None),
            Some(MirrorGap::Frame("b".into()))
        );
        let parent = mirror(vec![entry("c", Some("b"))], &[]);
        assert!(matches!(
            parent.gap("session", |_| false, None),
            Some(MirrorGap::Parent { .. })
        ));
        let deferral = mirror(vec![entry("a", None)], &[]);
        assert_eq!(
            deferral.gap("session", |_| false, Some("toolu_1")),
            Some(MirrorGap::Deferral("toolu_1".into()))
        );
    }
}
