//! What follows a reply that calls no tool.

use std::rc::Rc;

use serde_json::json;
use uuid::Uuid;

use super::Turn;
use crate::frames;
use crate::messages_api::FailureReport;
use crate::permissions::texts;
use crate::transcript::user_entry;
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
        let answers =
            events::ask(&session, Some(self.prompt_id), "Stop", None, members, None).await;
        let Some(reason) = answers.into_iter().find_map(|answer| answer.block) else {
            return false;
        };
        self.stop_blocked = true;
        self.inject(&format!("Stop hook feedback:\n{reason}"), Companion::No);
        context::stop_hook_objected(&session, &reason);
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
            self.inject(texts::CUT_OFF, Companion::Yes);
            return None;
        }
        match self.stop_reason.as_str() {
            Some("tool_use") => {
                self.injections.malformed += 1;
                if self.injections.malformed > 2 {
                    self.session.transcript.retract_last_reply();
                    return Some(self.fail(&FailureReport::malformed_tool_use()));
                }
                self.session.transcript.retract_last_reply();
                self.inject(texts::MALFORMED_CALL, Companion::Yes);
                None
            }
            Some("max_tokens" | "model_context_window_exceeded") => {
                self.injections.too_long += 1;
                if self.injections.too_long > 3 {
                    let limit = self.session.model.borrow().max_output_tokens();
                    return Some(self.fail(&FailureReport::too_long(limit)));
                }
                self.inject(texts::OUTPUT_LIMIT, Companion::Yes);
                None
            }
            Some("refusal") => self.after_refusal(),
            _ if !visible && self.injections.empty == 0 => {
                self.injections.empty += 1;
                self.inject(texts::NO_VISIBLE_OUTPUT, Companion::Yes);
                None
            }
            _ => Some(Finish::Completed),
        }
    }

    fn after_refusal(&mut self) -> Option<Finish> {
        self.injections.refused += 1;
        self.safety_stops += 1;
        if self.injections.refused > 1 {
            self.session.output.frame(&json!({
                "type": "system",
                "subtype": "model_refusal_no_fallback",
                "uuid": Uuid::new_v4(),
                "session_id": self.session.id,
            }));
            let name = self.session.model.borrow().display_name();
            return Some(self.fail(&FailureReport::refused(&name)));
        }
        let notice = format!(
            "{}'s safeguards stopped the response above · continuing once with that noted",
            self.session.model.borrow().display_name()
        );
        let notice = frames::informational(&self.session, &notice);
        self.session.output.frame(&notice);
        self.inject(texts::REFUSED, Companion::Yes);
        None
    }

    /// Puts words into the conversation that no user wrote.
    fn inject(&mut self, text: &str, companion: Companion) {
        self.turns += 1;
        let uuid = Uuid::new_v4();
        self.session.output.frame(&json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
            "parent_tool_use_id": null,
            "session_id": self.session.id,
            "uuid": uuid,
            "timestamp": crate::clock::timestamp(),
            "isSynthetic": true,
        }));
        let members = json!({});
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
