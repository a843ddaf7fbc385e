//! What the program knows about models.

/// A model as the program uses it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    pub(crate) name: String,
}

/// Dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prices {
    pub(crate) input: f64,
    pub(crate) output: f64,
    pub(crate) cache_read: f64,
    pub(crate) cache_creation: f64,
}

pub(crate) const DEFAULT_MODEL: &str = "claude-opus-5-5";

impl Model {
    /// Resolves an alias or a full name (observed on CLI 2.1.316).
    pub(crate) fn named(name: Option<&str>) -> Self {
        let name = match name {
            None | Some("" | "default" | "opus" | "claude-opus-4-1") => DEFAULT_MODEL,
            Some("sonnet") => "claude-sonnet-5-5",
            Some("haiku") => "claude-haiku-5-5",
            Some(name) => name,
        };
        Self {
            name: name.to_owned(),
        }
    }

    /// `claude-sonnet-5` is `Sonnet 5` to people.
    pub(crate) fn display_name(&self) -> String {
        let Some(rest) = self.name.strip_prefix("claude-") else {
            return self.name.clone();
        };
        let mut parts = rest.split('-');
        let family = crate::mcp::title_case(parts.next().unwrap_or_default());
        let version: Vec<&str> = parts.take_while(|part| part.len() < 3).collect();
        format!("{family} {}", version.join("."))
    }

    fn is_current(&self) -> bool {
        let current = ["claude-sonnet-5", "claude-haiku-5", "claude-opus-5"];
        current.iter().any(|family| self.name.starts_with(family))
    }

    fn is_newest(&self) -> bool {
        ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5"].contains(&self.name.as_str())
    }

    /// Whether messages may have the role `system`.
    pub(crate) fn system_turns(&self) -> bool {
        self.is_current()
    }

    pub(crate) fn max_output_tokens(&self) -> u64 {
        match () {
            () if self.is_newest() => 128_000,
            () if self.is_current() => 64_000,
            () => 32_000,
        }
    }

    pub(crate) fn context_window(&self) -> u64 {
        if self.is_current() {
            1_000_000
        } else {
            200_000
        }
    }

    /// The `effort` of a request; older models take none.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        match () {
            () if self.is_newest() => Some("medium"),
            () if self.is_current() => Some("high"),
            () => None,
        }
    }

    /// What transcript entries say of the effort.
    pub(crate) fn entry_members(&self) -> serde_json::Value {
        match self.effort() {
            Some(effort) => serde_json::json!({
                "effort": effort,
                "perTurnEffort": self.is_newest().then_some(effort),
            }),
            None => serde_json::json!({"perTurnEffort": null}),
        }
    }

    /// List prices; `None` for a model the program does not know.
    pub(crate) fn prices(&self) -> Option<Prices> {
        let (input, output) = match self.name.as_str() {
            "claude-sonnet-5" => (2.0, 10.0),
            name if name.starts_with("claude-sonnet") => (3.0, 15.0),
            name if name.starts_with("claude-haiku") => (1.0, 5.0),
            name if name.starts_with("claude-opus") => (5.0, 25.0),
            _ => return None,
        };
        Some(Prices {
            input,
            output,
            cache_read: input * 0.1,
            cache_creation: input * 1.25,
        })
    }
}
