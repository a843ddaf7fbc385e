//! Replies that come in one piece.

use std::rc::Rc;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{AttemptEnd, Caller, Delivery, Received, StepEnd};
use crate::messages_api::{ApiFailure, ReplyAssembler, fetch_whole_reply};
use crate::scripted::{self, ScriptedReply};

impl Caller<'_> {
    pub(super) async fn attempt_whole(&mut self) -> AttemptEnd {
        let body = self.body();
        let reference = self.record(&body);
        let session = Rc::clone(&self.turn.session);
        let fetched = fetch_whole_reply(session.http(), &session.environment, self.head(), &body);
        let fetched = tokio::select! {
            () = self.turn.interrupt.cancelled() => return AttemptEnd::Interrupted,
            fetched = fetched => fetched,
        };
        let (message, request_id) = match fetched {
            Ok(fetched) => fetched,
            Err(failure) => return AttemptEnd::Failed(failure),
        };
        let received = self.receive_whole(message, request_id, reference).await;
        AttemptEnd::Complete(received)
    }

    async fn receive_whole(
        &mut self,
        message: Value,
        request_id: Option<String>,
        reference: Uuid,
    ) -> Received {
        let mut reply = ReplyAssembler::default();
        reply.apply(&json!({"type": "message_start", "message": message}));
        reply.apply(&json!({
            "type": "message_delta",
            "delta": {
                "stop_reason": message["stop_reason"],
                "stop_sequence": message["stop_sequence"],
            },
        }));
        let mut received = Received {
            reference,
            reply,
            blocks: Vec::new(),
            request_id,
            delivery: Delivery::Whole,
        };
        let blocks = message["content"].as_array().into_iter().flatten();
        for (index, block) in (0..).zip(blocks) {
            self.show_block(&mut received, index, block.clone()).await;
        }
        received
    }

    /// The model of `--prompt-commands`: no request is made.
    pub(super) async fn follow_commands(mut self) -> StepEnd {
        let session = Rc::clone(&self.turn.session);
        self.turn.times.note_request();
        let blocks = match session.transcript.read(scripted::next_reply) {
            ScriptedReply::Blocks(blocks) => blocks,
            ScriptedReply::Stall => {
                self.turn.interrupt.cancelled().await;
                return StepEnd::Interrupted;
            }
            ScriptedReply::Fail(status) => {
                let failure = ApiFailure::scripted(status);
                return self.failed(&failure);
            }
        };
        let calls = blocks.iter().any(|block| block["type"] == "tool_use");
        let message = json!({
            "id": format!("msg_{}", Uuid::new_v4().simple()),
            "type": "message",
            "role": "assistant",
            "model": self.model.name,
            "content": blocks,
            "stop_reason": if calls { "tool_use" } else { "end_turn" },
            "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        let received = self.receive_whole(message, None, Uuid::new_v4()).await;
        self.accept(received, None)
    }
}
