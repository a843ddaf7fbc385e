//! Replies that stream in.

use std::rc::Rc;
use std::time::Instant;

use serde_json::json;
use uuid::Uuid;

use super::{AttemptEnd, Caller, Delivery, Received, ending};
use crate::messages_api::{ApiFailure, ReplyAssembler, ReplyStep, ReplyStream, open_stream};
use crate::turn::context;
use crate::usage::Tokens;

impl Caller<'_> {
    pub(super) async fn attempt_streaming(&mut self) -> AttemptEnd {
        let body = self.body();
        let reference = self.record(&body);
        let session = Rc::clone(&self.turn.session);
        self.turn.times.note_request();
        if session.arguments.include_partial_messages {
            session.output.frame(&json!({
                "type": "system",
                "subtype": "status",
                "status": "requesting",
                "uuid": Uuid::new_v4(),
                "session_id": session.id,
            }));
        }
        let opened = open_stream(session.http(), &session.environment, self.head(), &body);
        let requested = Instant::now();
        let opened = tokio::select! {
            () = self.turn.interrupt.cancelled() => return AttemptEnd::Interrupted,
            opened = opened => opened,
        };
        match opened {
            Ok(stream) => self.receive(stream, requested, reference).await,
            Err(failure) => AttemptEnd::Failed(failure),
        }
    }

    /// What a lost reply had used counts for the turn, and is paid for unless the request without streaming takes its
    /// place (observed on CLI 2.1.316).
    fn account(&mut self, lost: Tokens, end: AttemptEnd) -> AttemptEnd {
        match end {
            AttemptEnd::FallBack(_) => self.turn.tokens.add(lost),
            AttemptEnd::Retry { .. } => self.charge(lost),
            _ => {}
        }
        end
    }

    async fn receive(
        &mut self,
        mut stream: ReplyStream,
        requested: Instant,
        reference: Uuid,
    ) -> AttemptEnd {
        let mut received = Received {
            reference,
            reply: ReplyAssembler::default(),
            blocks: Vec::new(),
            request_id: stream.request_id.clone(),
            delivery: Delivery::Streamed,
        };
        loop {
            let event = tokio::select! {
                biased;
                () = self.turn.interrupt.cancelled() => {
                    self.keep_interrupted(received);
                    return AttemptEnd::Interrupted;
                }
                settled = self.turn.calls.next_settled() => {
                    self.turn.settle(&settled);
                    continue;
                }
                event = stream.next() => event,
            };
            let event = match event {
                Some(Ok(event)) => event,
                Some(Err(fault)) => {
                    let lost = received.usage();
                    return self.account(lost, ending::of_fault(received, &fault));
                }
                None => {
                    let lost = received.usage();
                    return self.account(lost, ending::of_stream(received));
                }
            };
            self.turn.times.note_first_event();
            let step = received.reply.apply(&event);
            match step {
                ReplyStep::BlockClosed { index, block } => {
                    self.show_block(&mut received, index, block).await;
                    self.show_event(&received, &event, requested);
                }
                ReplyStep::Error { kind, message } => {
                    let lost = received.usage();
                    return self.account(lost, ending::of_error(received, kind, message));
                }
                ReplyStep::Unreadable => return AttemptEnd::FallBack(ApiFailure::EmptyStream),
                ReplyStep::Thinking { estimated_tokens } => {
                    self.show_event(&received, &event, requested);
                    self.show_thinking_tokens(estimated_tokens);
                }
                ReplyStep::Started | ReplyStep::Stopped | ReplyStep::Progress => {
                    if step == ReplyStep::Stopped {
                        context::hold_prompts(&self.turn.session);
                    }
                    // An interrupt tells why the reply stopped as soon as the host can know it.
                    self.turn
                        .stop_reason
                        .clone_from(received.reply.stop_reason());
                    self.show_event(&received, &event, requested);
                }
            }
        }
    }
}
