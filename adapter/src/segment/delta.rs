//! Live text, from the CLI's partial messages.

use serde_json::Value;

use crate::session::event::SessionEvent;

/// Knows which message the next delta belongs to.
#[derive(Debug, Default)]
pub(crate) struct DeltaReader {
    message_id: String,
}

impl DeltaReader {
    /// The live event that a stream event stands for, if it stands for one.
    pub(crate) fn read(&mut self, event: &Value) -> Option<SessionEvent> {
        match event["type"].as_str()? {
            "message_start" => {
                event["message"]["id"]
                    .as_str()?
                    .clone_into(&mut self.message_id);
                None
            }
            "content_block_delta" => self.delta(&event["delta"]),
            _ => None,
        }
    }

    fn delta(&self, delta: &Value) -> Option<SessionEvent> {
        let message_id = self.message_id.clone();
        match delta["type"].as_str()? {
            "text_delta" => Some(SessionEvent::TextDelta {
                text: delta["text"].as_str()?.to_owned(),
                message_id,
            }),
            "thinking_delta" => Some(SessionEvent::ReasoningDelta {
                text: delta["thinking"].as_str()?.to_owned(),
                message_id,
            }),
            _ => None,
        }
    }
}
