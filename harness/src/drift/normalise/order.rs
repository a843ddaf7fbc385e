//! Entries whose place among the others varies from run to run.

use serde_json::Value;

use crate::drift::trace::Lane;

/// Entries that the CLI writes beside the conversation, when it comes to it: observed on CLI 2.1.316.
const BESIDE: &[&str] = &["last-prompt", "atis-latch", "mode", "cost-state"];

/// Of these, how many there are varies, too: the last one counts.
const REPEATED: &[&str] = &["last-prompt", "atis-latch"];

/// The entries of a lane with those behind that are written beside the conversation, by type; all others keep their
/// order.
pub(crate) fn settled(lane: Lane, entries: &[Value]) -> Vec<Value> {
    if lane == Lane::Stdout {
        return with_replies_together(entries);
    }
    let mut entries = entries.to_vec();
    if matches!(lane, Lane::Transcript | Lane::Mirror) {
        for part in entries.chunk_by_mut(|_, next| next["type"] != "file") {
            part.sort_by_key(rank);
        }
        let is_overtaken = |index: usize| {
            let kind = |index: usize| {
                entries
                    .get(index)
                    .map(|entry: &Value| entry["type"].clone())
            };
            kind(index).is_some_and(|kind| REPEATED.iter().any(|repeated| kind == *repeated))
                && kind(index) == kind(index + 1)
        };
        entries = (0..entries.len())
            .filter(|index| !is_overtaken(*index))
            .map(|index| entries[index].clone())
            .collect();
    }
    entries
}

/// The blocks of a reply, one after the other. A call starts before its reply has ended, so its result and the blocks
/// after it come in either order.
fn with_replies_together(entries: &[Value]) -> Vec<Value> {
    let reply =
        |entry: &Value| (entry["type"] == "assistant").then(|| entry["message"]["id"].clone());
    let mut together: Vec<Value> = Vec::new();
    for entry in entries {
        let before = reply(entry).and_then(|id| {
            together
                .iter()
                .rposition(|earlier| reply(earlier).as_ref() == Some(&id))
        });
        together.insert(
            before.map_or(together.len(), |place| place + 1),
            entry.clone(),
        );
    }
    together
}

fn rank(entry: &Value) -> usize {
    let kind = entry["type"].as_str().unwrap_or_default();
    BESIDE
        .iter()
        .position(|beside| *beside == kind)
        .map_or(0, |place| place + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_blocks_of_a_reply_come_together() {
        let block = |id: &str, block: u8| json!({"type": "assistant", "message": {"id": id}, "block": block});
        let result = json!({"type": "user"});
        let seen = [block("a", 1), result.clone(), block("a", 2), block("b", 1)];
        assert_eq!(
            settled(Lane::Stdout, &seen),
            [block("a", 1), block("a", 2), result, block("b", 1)]
        );
    }

    #[test]
    fn the_last_of_the_prompts_counts() {
        let entry = |leaf: u8| json!({"type": "last-prompt", "leafUuid": leaf});
        assert_eq!(
            settled(Lane::Mirror, &[entry(1), json!({"type": "user"}), entry(2)]),
            [json!({"type": "user"}), entry(2)]
        );
    }

    #[test]
    fn what_is_written_beside_goes_behind_within_its_file() {
        let entry = |kind: &str| json!({"type": kind});
        let entries = [
            "file",
            "mode",
            "user",
            "last-prompt",
            "assistant",
            "file",
            "mode",
            "user",
        ]
        .map(entry);
        let expected = [
            "file",
            "user",
            "assistant",
            "last-prompt",
            "mode",
            "file",
            "user",
            "mode",
        ]
        .map(entry);
        assert_eq!(settled(Lane::Transcript, &entries), expected);
        assert_eq!(settled(Lane::Stdout, &entries), entries);
    }
}
