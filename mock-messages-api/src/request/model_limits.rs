//! What the real API refuses on behalf of a model.

use serde_json::Value;

use super::Rejection;
use crate::{model::Model, reply::estimated_input_tokens};

/// Checks a request against the models there are; without any, every name is a model without limits.
pub(crate) fn validate_model(body: &Value, models: &[Model]) -> Result<(), Rejection> {
    if models.is_empty() {
        return Ok(());
    }
    let asked = body["model"].as_str().unwrap_or_default();
    let model = models
        .iter()
        .find(|model| model.id == asked)
        .ok_or_else(|| Rejection::new(404, format!("model: {asked}")))?;
    let max_tokens = body["max_tokens"].as_u64().unwrap_or_default();
    validate_output(model, max_tokens)?;
    validate_context(model, estimated_input_tokens(body), max_tokens)?;
    validate_prefill(model, body)
}

fn validate_output(model: &Model, max_tokens: u64) -> Result<(), Rejection> {
    match model.max_output_tokens {
        Some(limit) if max_tokens > limit => Err(Rejection::invalid(format!(
            "max_tokens: {max_tokens} > {limit}, which is the maximum allowed number of output tokens for {}",
            model.id
        ))),
        _ => Ok(()),
    }
}

fn validate_context(model: &Model, input_tokens: u64, max_tokens: u64) -> Result<(), Rejection> {
    match model.context_tokens {
        Some(limit) if input_tokens > limit => Err(Rejection::invalid(format!(
            "prompt is too long: {input_tokens} tokens > {limit} maximum"
        ))),
        Some(limit) if input_tokens.saturating_add(max_tokens) > limit => {
            Err(Rejection::invalid(format!(
                "input length and `max_tokens` exceed context limit: {input_tokens} + {max_tokens} > {limit}, \
                 decrease input length or `max_tokens` and try again"
            )))
        }
        _ => Ok(()),
    }
}

fn validate_prefill(model: &Model, body: &Value) -> Result<(), Rejection> {
    let last = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .rfind(|message| message["role"] != "system");
    match last {
        Some(message) if !model.accepts_prefill && message["role"] == "assistant" => {
            Err(Rejection::invalid(
                "This model does not support assistant message prefill. \
                 The conversation must end with a user message.",
            ))
        }
        _ => Ok(()),
    }
}
