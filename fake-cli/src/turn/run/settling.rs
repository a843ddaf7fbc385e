//! Calls of a turn: accepted, settled, stopped.

use std::rc::Rc;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Record, Turn};
use crate::control;
use crate::permissions::DenialKind;
use crate::turn::call::{Call, Ending, Settled};
use crate::turn::{events, settle};

impl Turn {
    /// A tool use of the reply is complete: it may start before the reply ends.
    pub(crate) fn accept_call(&mut self, block: &Value, assistant_uuid: Uuid) {
        self.calls.push(Call {
            id: block["id"].as_str().unwrap_or_default().to_owned(),
            name: block["name"].as_str().unwrap_or_default().to_owned(),
            input: block["input"].clone(),
            assistant_uuid: assistant_uuid.to_string(),
            prompt_id: Some(self.prompt_id),
        });
    }

    /// Shows and records how a call ended.
    pub(crate) fn settle(&mut self, settled: &Settled) {
        let session = Rc::clone(&self.session);
        self.note_denial(settled);
        self.stopped_by_hook |= settled.hooks.stop.is_some();
        if let Ending::Deferred { input } = &settled.ending {
            self.deferred = Some((settled.call.clone(), input.clone()));
            let entry = settle::deferral_entry(&session, &settled.call, input);
            self.record(Record::Deferral(entry));
        } else if let Some(report) = settle::show(&session, settled, false) {
            self.turns += 1;
            self.results_of_step += 1;
            self.batch.push(json!({
                "tool_name": settled.call.name,
                "tool_input": settled.call.input,
                "tool_use_id": settled.call.id,
                "tool_response": report.content(),
            }));
            self.record(Record::Result(report));
        }
    }

    /// As [`Self::settle`], for the call of an earlier process: it counts neither as a turn nor as a
    /// result of a reply.
    pub(crate) fn settle_resumed(&mut self, settled: &Settled) {
        let session = Rc::clone(&self.session);
        self.note_denial(settled);
        if let Some(report) = settle::show(&session, settled, true) {
            report.write(&session);
        }
    }

    pub(crate) fn was_ended_by_host(&self) -> bool {
        self.ended_by_host
    }

    fn note_denial(&mut self, settled: &Settled) {
        let (listed, by_host) = match &settled.ending {
            Ending::Denied(denial) => {
                let unlisted = [DenialKind::HookTimeout, DenialKind::NotNow];
                (!unlisted.contains(&denial.kind), settled.ending.ends_turn())
            }
            Ending::Interrupted { asking, .. } => (*asking, false),
            _ => (false, false),
        };
        self.ended_by_host |= by_host;
        if listed {
            self.denials.push(json!({
                "tool_name": settled.call.name,
                "tool_use_id": settled.call.id,
                "tool_input": settled.call.input,
            }));
        }
    }

    fn record(&mut self, record: Record) {
        match &mut self.held {
            Some(held) => held.push(record),
            None => record.write(&self.session),
        }
    }

    pub(in crate::turn) fn release_held(&mut self) {
        for record in self.held.take().into_iter().flatten() {
            record.write(&self.session);
        }
    }

    pub(super) async fn batch_hooks(&mut self) {
        let calls = std::mem::take(&mut self.batch);
        let batch = json!({"tool_calls": calls});
        let event = "PostToolBatch";
        events::ask(
            &self.session,
            Some(self.prompt_id),
            event,
            None,
            batch,
            None,
        )
        .await;
    }

    pub(super) fn stop_calls(&mut self) {
        let stopped = self.calls.interrupt(self.session.interrupts.is_signalled());
        control::answer_interrupts(&self.session);
        self.session.enter_state("running");
        for settled in stopped {
            self.settle(&settled);
        }
    }
}
