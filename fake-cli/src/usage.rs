//! Tokens and dollars, per turn and per session.

use serde_json::{Map, Value, json};

use crate::messages_api::Model;

/// Token counts of one or more replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_creation: u64,
    /// Of those, what lives for five minutes.
    pub(crate) cache_creation_5m: u64,
    /// Of those, what lives for an hour.
    pub(crate) cache_creation_1h: u64,
}

impl Tokens {
    /// Reads an API usage object; what is missing counts as zero.
    pub(crate) fn read(usage: &Value) -> Self {
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let kept = |name: &str| usage["cache_creation"][name].as_u64().unwrap_or(0);
        Self {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cache_read: count("cache_read_input_tokens"),
            cache_creation: count("cache_creation_input_tokens"),
            cache_creation_5m: kept("ephemeral_5m_input_tokens"),
            cache_creation_1h: kept("ephemeral_1h_input_tokens"),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_creation += other.cache_creation;
        self.cache_creation_5m += other.cache_creation_5m;
        self.cache_creation_1h += other.cache_creation_1h;
    }

    pub(crate) fn total(self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_creation
    }

    /// The usage object of results and transcript entries. One that counts nothing has its members
    /// in another order (observed on CLI 2.1.316).
    pub(crate) fn usage(self) -> Value {
        let mut usage = json!({
            "input_tokens": self.input,
            "cache_creation_input_tokens": self.cache_creation,
            "cache_read_input_tokens": self.cache_read,
            "output_tokens": self.output,
            "output_tokens_details": {"thinking_tokens": 0},
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {
                "ephemeral_1h_input_tokens": self.cache_creation_1h,
                "ephemeral_5m_input_tokens": self.cache_creation_5m,
            },
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
            "fallback_credit": null,
        });
        let counts_nothing = self == Self::default();
        if let (Value::Object(members), true) = (&mut usage, counts_nothing)
            && let Some(details) = members.shift_remove("output_tokens_details")
        {
            members.shift_insert(0, "output_tokens_details".to_owned(), details);
        }
        usage
    }
}

/// What one model has cost.
#[derive(Debug, Clone, PartialEq)]
struct ModelUsage {
    model: Model,
    tokens: Tokens,
    cost: f64,
    /// Whether an earlier process began to count; the order of the members tells.
    restored: bool,
    /// Whether this process has asked the model.
    charged: bool,
}

impl ModelUsage {
    fn saved(&self) -> Value {
        json!({
            "inputTokens": self.tokens.input,
            "outputTokens": self.tokens.output,
            "thinkingTokens": 0,
            "cacheReadInputTokens": self.tokens.cache_read,
            "cacheCreationInputTokens": self.tokens.cache_creation,
            "cacheCreationEphemeral5mInputTokens": self.tokens.cache_creation_5m,
            "cacheCreationEphemeral1hInputTokens": self.tokens.cache_creation_1h,
            "webSearchRequests": 0,
            "costUSD": self.cost,
        })
    }
}

/// What several models have cost, in the order of first use.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bill {
    models: Vec<ModelUsage>,
}

impl Bill {
    pub(crate) fn add(&mut self, model: &Model, tokens: Tokens) {
        let cost = cost_of(model, tokens);
        self.add_costed(model, tokens, cost, false);
    }

    fn add_costed(&mut self, model: &Model, tokens: Tokens, cost: f64, restored: bool) {
        if let Some(usage) = self.models.iter_mut().find(|usage| usage.model == *model) {
            usage.tokens.add(tokens);
            usage.cost += cost;
            usage.charged |= !restored;
        } else {
            self.models.push(ModelUsage {
                model: model.clone(),
                tokens,
                cost,
                restored,
                charged: !restored,
            });
        }
    }

    pub(crate) fn total_cost(&self) -> f64 {
        // An empty sum of floats is minus zero.
        self.models.iter().fold(0.0, |sum, usage| sum + usage.cost)
    }

    /// The `modelUsage` of a result that asked no model: only what was saved and the limits.
    pub(crate) fn saved_usage(&self) -> Value {
        let entries = self.models.iter().map(|usage| {
            let mut value = usage.saved();
            value["contextWindow"] = json!(usage.model.context_window());
            value["maxOutputTokens"] = json!(usage.model.max_output_tokens());
            (usage.model.name.clone(), value)
        });
        Value::Object(entries.collect::<Map<_, _>>())
    }

    /// The `modelUsage` of results.
    pub(crate) fn model_usage(&self) -> Value {
        let entries = self.models.iter().map(|usage| {
            let mut value = if usage.restored {
                usage.saved()
            } else {
                json!({
                    "inputTokens": usage.tokens.input,
                    "outputTokens": usage.tokens.output,
                    "cacheReadInputTokens": usage.tokens.cache_read,
                    "cacheCreationInputTokens": usage.tokens.cache_creation,
                    "webSearchRequests": 0,
                    "costUSD": usage.cost,
                })
            };
            value["contextWindow"] = json!(usage.model.context_window());
            value["maxOutputTokens"] = json!(usage.model.max_output_tokens());
            if !usage.restored {
                value["thinkingTokens"] = json!(0);
                value["cacheCreationEphemeral5mInputTokens"] =
                    json!(usage.tokens.cache_creation_5m);
                value["cacheCreationEphemeral1hInputTokens"] =
                    json!(usage.tokens.cache_creation_1h);
            }
            if usage.charged {
                value["canonicalModel"] = json!(usage.model.name);
                value["provider"] = json!("firstParty");
                let basis = if usage.model.is_known() {
                    "list"
                } else {
                    "unknown"
                };
                value["costBasis"] = json!(basis);
            }
            (usage.model.name.clone(), value)
        });
        Value::Object(entries.collect::<Map<_, _>>())
    }

    /// Whether a model was asked whose prices are only guessed.
    pub(crate) fn has_unknown_cost(&self) -> bool {
        self.models.iter().any(|usage| !usage.model.is_known())
    }

    /// The `modelUsage` of a `cost-state` entry.
    pub(crate) fn saved(&self) -> Value {
        let entries = self
            .models
            .iter()
            .map(|usage| (usage.model.name.clone(), usage.saved()));
        Value::Object(entries.collect::<Map<_, _>>())
    }

    /// Takes over what an earlier process saved.
    pub(crate) fn restore(&mut self, saved: &Value) {
        for (name, usage) in saved.as_object().into_iter().flatten() {
            let count = |member: &str| usage[member].as_u64().unwrap_or(0);
            let tokens = Tokens {
                input: count("inputTokens"),
                output: count("outputTokens"),
                cache_read: count("cacheReadInputTokens"),
                cache_creation: count("cacheCreationInputTokens"),
                cache_creation_5m: count("cacheCreationEphemeral5mInputTokens"),
                cache_creation_1h: count("cacheCreationEphemeral1hInputTokens"),
            };
            let model = Model { name: name.clone() };
            self.add_costed(
                &model,
                tokens,
                usage["costUSD"].as_f64().unwrap_or(0.0),
                true,
            );
        }
    }
}

/// Dollars at list prices.
fn cost_of(model: &Model, tokens: Tokens) -> f64 {
    let prices = model.prices();
    let part = |count: u64, price: f64| count as f64 * price / 1_000_000.0;
    part(tokens.input, prices.input)
        + part(tokens.output, prices.output)
        + part(tokens.cache_read, prices.cache_read)
        + part(tokens.cache_creation, prices.cache_creation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_an_observed_reply() {
        let tokens = Tokens {
            input: 10,
            output: 7,
            cache_read: 3,
            cache_creation: 2,
            ..Tokens::default()
        };
        let cost = cost_of(&Model::named(Some("claude-sonnet-5")), tokens);
        assert!((cost - 9.56e-5).abs() < 1e-12, "{cost}");
    }

    #[test]
    fn a_saved_bill_is_restored() {
        let mut bill = Bill::default();
        bill.add(
            &Model::named(Some("claude-sonnet-5")),
            Tokens {
                input: 10,
                output: 7,
                ..Tokens::default()
            },
        );
        let mut restored = Bill::default();
        restored.restore(&bill.saved());
        assert_eq!(restored.saved(), bill.saved());
    }
}
