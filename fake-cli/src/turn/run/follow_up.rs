//! What follows a reply that calls no tool.

use std::rc::Rc;

use serde_json::{Value, json};
use uuid::Uuid;

use super::Turn;
use crate::messages_api::FailureReport;
use crate::permissions::texts;
use crate::transcript::{system_entry, user_entry};
use crate::turn::context;
use crate::turn::events;
use crate::turn::model_call::Cut;
use crate::turn::result::Finish;

/// Whether injected words belong to the reply before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Companion {
    Yes,
    No,
}

/// What the reply was that words are injected after.
#[derive(Debug, Default)]
struct Origin {
    /// The reply that was a refusal; null when none was.
    refused_message_id: Value,
    /// The entries of the reply that made no sense.
    retracted: Vec<Value>,
}

/// The entry of the last reply.
fn last_reply(entries: &[Value]) -> Value {
    let mut latest = entries.iter().rev();
    let reply = latest.find(|entry| entry["type"] == "assistant");
    reply.cloned().unwrap_or_default()
}

/// The uuid of the last words that a person wrote.
fn last_prompt(entries: &[Value]) -> Value {
    let mut latest = entries.iter().rev();
    let prompt = latest.find(|entry| entry["promptSource"] == "sdk");
    prompt.map_or(Value::Null, |entry| entry["uuid"].clone())
}

impl Turn {
    /// Asks the Stop hooks; one that blocks makes the model go on (observed on CLI 2.1.316).
    pub(super) async fn stop_hooks_object(&mut self) -> bool {
        let session = Rc::clone(&self.session);
        let members = json!({
            "stop_hook_active": self.stop_blocked,
            "last_assistant_message": self.last_text,
            "background_tasks": [],
            "session_crons": [],
        });
        let hooks = session.hooks.borrow().matching("Stop", None).len();
        if hooks == 0 {
            return false;
        }
        let question = Uuid::new_v4().to_string();
        let asked = Some(question.as_str());
        let answers =
            events::ask(&session, Some(self.prompt_id), "Stop", None, members, asked).await;
        let Some(reason) = answers.into_iter().find_map(|answer| answer.block) else {
            context::summarise_stop_hooks(&session, &question, hooks, None);
            return false;
        };
        self.stop_blocked = true;
        let feedback = format!("Stop hook feedback:\n{reason}");
        self.inject(&feedback, Companion::No, Origin::default());
        context::stop_hook_objected(&session, &question, &reason);
        context::summarise_stop_hooks(&session, &question, hooks, Some(&reason));
        session.output.frame(&json!({
            "type": "system",
            "subtype": "notification",
            "key": "stop-hook-error",
            "text": "Stop hook error occurred · ctrl+o to see",
            "priority": "immediate",
            "session_id": session.id,
            "uuid": Uuid::new_v4(),
        }));
        true
    }

    /// What follows a reply without tool calls, by its stop reason (observed on CLI 2.1.316).
    pub(super) fn after_words(&mut self, cut: Option<Cut>, visible: bool) -> Option<Finish> {
        if let Some(cut) = cut {
            self.injections.cut += 1;
            if self.injections.cut > 3 {
                return Some(self.fail(&cut.report(true)));
            }
            self.inject(texts::CUT_OFF, Companion::Yes, Origin::default());
            return None;
        }
        match self.stop_reason.as_str() {
            Some("tool_use") => {
                self.injections.malformed += 1;
                if self.injections.malformed > 2 {
                    self.session.transcript.retract_last_reply();
                    return Some(self.fail(&FailureReport::malformed_tool_use()));
                }
                let origin = Origin {
                    retracted: self.session.transcript.retract_last_reply(),
                    ..Origin::default()
                };
                self.inject(texts::MALFORMED_CALL, Companion::Yes, origin);
                None
            }
            Some("max_tokens" | "model_context_window_exceeded") => {
                self.injections.too_long += 1;
                if self.injections.too_long > 3 {
                    let limit = self.session.model.borrow().max_output_tokens();
                    return Some(self.fail(&FailureReport::too_long(limit)));
                }
                self.inject(texts::OUTPUT_LIMIT, Companion::Yes, Origin::default());
                None
            }
            Some("refusal") => self.after_refusal(),
            _ if !visible && self.injections.empty == 0 => {
                self.injections.empty += 1;
                self.inject(texts::NO_VISIBLE_OUTPUT, Companion::Yes, Origin::default());
                None
            }
            _ => Some(Finish::Completed),
        }
    }

    fn after_refusal(&mut self) -> Option<Finish> {
        self.injections.refused += 1;
        self.safety_stops += 1;
        let refused = self.session.transcript.read(last_reply);
        if self.injections.refused > 1 {
            let request_id = refused["requestId"].as_str();
            self.tell_refusal(request_id);
            let name = self.session.model.borrow().display_name();
            let message_id = refused["message"]["id"].as_str().unwrap_or_default();
            let report = FailureReport::refused(&name, request_id, message_id);
            return Some(self.fail(&report));
        }
        let notice = format!(
            "{}'s safeguards stopped the response above · continuing once with that noted",
            self.session.model.borrow().display_name()
        );
        context::inform(&self.session, &notice);
        let origin = Origin {
            refused_message_id: refused["message"]["id"].clone(),
            ..Origin::default()
        };
        self.inject(texts::REFUSED, Companion::Yes, origin);
        None
    }

    /// No other model takes over.
    fn tell_refusal(&self, request_id: Option<&str>) {
        let session = &self.session;
        let uuid = Uuid::new_v4();
        let model = session.model.borrow().name.clone();
        let prompt = session.transcript.read(last_prompt);
        session.output.frame(&json!({
            "type": "system",
            "subtype": "model_refusal_no_fallback",
            "uuid": uuid,
            "original_model": model,
            "request_id": request_id,
            "api_refusal_category": null,
            "api_refusal_explanation": null,
            "refused_user_message_uuid": prompt,
            "content": "",
            "session_id": session.id,
        }));
        let members = json!({
            "subtype": "model_refusal_no_fallback",
            "content": "",
            "level": "warning",
            "originalModel": model,
            "requestId": request_id,
            "apiRefusalCategory": null,
            "apiRefusalExplanation": null,
            "refusedUserMessageUuid": prompt,
            "isMeta": false,
        });
        let mut entry = system_entry(&session.stamp, members);
        entry["uuid"] = json!(uuid);
        session.transcript.chain(entry);
    }

    /// Puts words into the conversation that no user wrote.
    fn inject(&mut self, text: &str, companion: Companion, origin: Origin) {
        self.turns += 1;
        let uuid = Uuid::new_v4();
        let mut frame = json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
            "parent_tool_use_id": null,
            "session_id": self.session.id,
            "uuid": uuid,
            "timestamp": crate::clock::timestamp(),
            "isSynthetic": true,
        });
        let mut members = json!({});
        if !origin.refused_message_id.is_null() {
            frame["refused_message_id"] = origin.refused_message_id.clone();
            members["refusedMessageId"] = origin.refused_message_id;
        }
        if !origin.retracted.is_empty() {
            members["retractedMessageUuids"] = json!(origin.retracted);
        }
        self.session.output.frame(&frame);
        let mut entry = user_entry(
            &self.session.stamp,
            Some(self.prompt_id),
            &json!(text),
            uuid,
            true,
            members,
        );
        if companion == Companion::Yes {
            entry["turnCompanion"] = json!(true);
        }
        self.session.transcript.chain(entry);
    }
}
