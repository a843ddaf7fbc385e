//! The note that tells the model what a failed turn already did.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Formatter;

use crate::session::record::ToolCallRecord;

/// The note, or `None` when no call of the turn has a final record.
pub(crate) fn turn_failure_note(records: &[ToolCallRecord]) -> Option<String> {
    if records.is_empty() {
        return None;
    }
    let lines: Vec<String> = records
        .iter()
        .map(|record| {
            format!(
                "- {} {} -> {}: {}",
                record.call.tool,
                spaced_json(&record.call.arguments),
                record.outcome.as_str(),
                record.output
            )
        })
        .collect();
    Some(format!(
        "[Dex] The previous turn failed after these tool calls ran:\n{}\n\
         Do not repeat these tool calls unless the user asks again.",
        lines.join("\n")
    ))
}

/// JSON on one line with a space after each colon and comma: the note is a stored format that
/// other languages write too.
fn spaced_json(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, SpacedFormatter);
    value
        .serialize(&mut serializer)
        .ok()
        .and_then(|()| String::from_utf8(bytes).ok())
        .unwrap_or_else(|| value.to_string())
}

struct SpacedFormatter;

impl Formatter for SpacedFormatter {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::policy::ToolKind;
    use crate::session::record::{DeferredCall, ToolCallOutcome};

    // covers: fail-note-format
    #[test]
    fn lists_every_record_in_the_stored_format() {
        let record = ToolCallRecord {
            call: DeferredCall {
                tool_use_id: "toolu_1".into(),
                tool: "publish".into(),
                arguments: json!({"message": "draft", "tags": ["a", "b"]}),
                kind: ToolKind::Custom,
                needs_approval: true,
                single_attempt: true,
            },
            outcome: ToolCallOutcome::Succeeded,
            output: "published draft".into(),
        };
        assert_eq!(
            turn_failure_note(&[record]).as_deref(),
            Some(
                "[Dex] The previous turn failed after these tool calls ran:\n\
                 - publish {\"message\": \"draft\", \"tags\": [\"a\", \"b\"]} -> succeeded: published draft\n\
                 Do not repeat these tool calls unless the user asks again."
            )
        );
    }

    // covers: fail-note
    #[test]
    fn is_absent_without_records() {
        assert_eq!(turn_failure_note(&[]), None);
    }
}
