//! Another model takes over from one that is overloaded.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Caller, own_limit};
use crate::messages_api::{ApiFailure, Model, RetryPlan};
use crate::transcript::system_entry;

/// Overloads in a row that make the program ask another model (observed on CLI 2.1.316).
const OVERLOADS: u64 = 3;

impl Caller<'_> {
    /// Whether the next try goes to the model of `--fallback-model`, with all retries anew.
    pub(super) fn switches_model(&mut self, failure: &ApiFailure) -> bool {
        self.overloads = if failure.is_overload() {
            self.overloads + 1
        } else {
            0
        };
        let session = &self.turn.session;
        let Some(name) = session.arguments.fallback_model.as_deref() else {
            return false;
        };
        let fallback = Model::named(Some(name));
        if self.overloads < OVERLOADS || fallback == self.model {
            return false;
        }
        let entry = self.announce(&fallback);
        self.entry_of_switch = Some(entry);
        self.max_tokens = own_limit(&self.turn.session.environment)
            .unwrap_or_else(|| fallback.max_output_tokens());
        self.retries = RetryPlan::new(self.turn.session.environment.max_retries(), None);
        self.turn.session.model.replace(fallback.clone());
        self.model = fallback;
        self.overloads = 0;
        true
    }

    /// Tells the host, and returns what belongs in the transcript.
    fn announce(&self, fallback: &Model) -> Value {
        let session = &self.turn.session;
        let mut content = format!(
            "Switched to {} due to high demand for {}",
            fallback.display_name(),
            self.model.display_name()
        );
        let (before, after) = (self.model.context_window(), fallback.context_window());
        if before != after {
            content.push_str(&format!(
                " · context window {} → {} tokens",
                shortened(before),
                shortened(after)
            ));
        }
        let uuid = Uuid::new_v4();
        session.output.frame(&json!({
            "type": "system",
            "subtype": "model_fallback",
            "uuid": uuid,
            "trigger": "overloaded",
            "original_model": self.model.name,
            "fallback_model": fallback.name,
            "content": content,
            "session_id": session.id,
        }));
        let members = json!({
            "subtype": "model_fallback",
            "content": content,
            "level": "warning",
            "trigger": "overloaded",
            "originalModel": self.model.name,
            "fallbackModel": fallback.name,
            "isMeta": false,
        });
        let mut entry = system_entry(&session.stamp, members);
        entry["uuid"] = json!(uuid);
        entry
    }
}

/// `1M` and `200K`.
fn shortened(tokens: u64) -> String {
    if tokens >= 1_000_000 {
        format!("{}M", tokens / 1_000_000)
    } else {
        format!("{}K", tokens / 1_000)
    }
}
