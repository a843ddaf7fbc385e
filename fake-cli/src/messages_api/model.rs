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

/// What a model's requests look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    Newest,
    Current,
    Older,
    /// A name that the program does not know.
    Unknown,
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

    /// What people know it as; nothing if the program does not know it.
    pub(crate) fn marketing_name(&self) -> Option<String> {
        (self.generation() != Generation::Unknown).then(|| self.display_name())
    }

    fn generation(&self) -> Generation {
        const NEWEST: [&str; 3] = ["claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5"];
        const CURRENT: [&str; 3] = ["claude-sonnet-5", "claude-haiku-5", "claude-opus-5"];
        let starts = |prefix: &&str| self.name.starts_with(*prefix);
        match () {
            () if NEWEST.contains(&self.name.as_str()) => Generation::Newest,
            () if CURRENT.iter().any(starts) => Generation::Current,
            () if self.name.starts_with("claude-") => Generation::Older,
            () => Generation::Unknown,
        }
    }

    /// Whether the program knows the model.
    pub(crate) fn is_known(&self) -> bool {
        self.generation() != Generation::Unknown
    }

    /// Whether messages may have the role `system`.
    pub(crate) fn system_turns(&self) -> bool {
        self.generation() != Generation::Older
    }

    /// Whether tools may come and go within a conversation; such models are not reminded of their tokens.
    pub(crate) fn takes_tool_changes(&self) -> bool {
        matches!(self.generation(), Generation::Newest | Generation::Unknown)
    }

    /// Whether the effort may change from turn to turn.
    pub(crate) fn takes_effort_per_turn(&self) -> bool {
        self.generation() == Generation::Newest
    }

    pub(crate) fn max_output_tokens(&self) -> u64 {
        match self.generation() {
            Generation::Newest => 128_000,
            Generation::Current => 64_000,
            Generation::Older | Generation::Unknown => 32_000,
        }
    }

    pub(crate) fn context_window(&self) -> u64 {
        match self.generation() {
            Generation::Newest | Generation::Current => 1_000_000,
            Generation::Older | Generation::Unknown => 200_000,
        }
    }

    /// The `effort` of a request; older models take none.
    pub(crate) fn effort(&self) -> Option<&'static str> {
        match self.generation() {
            Generation::Newest => Some("medium"),
            Generation::Current | Generation::Unknown => Some("high"),
            Generation::Older => None,
        }
    }

    /// What transcript entries say of the effort.
    pub(crate) fn entry_members(&self) -> serde_json::Value {
        match self.effort() {
            Some(effort) => serde_json::json!({
                "effort": effort,
                "perTurnEffort": self.takes_effort_per_turn().then_some(effort),
            }),
            None => serde_json::json!({"perTurnEffort": null}),
        }
    }

    /// List prices; those of the default model for one that the program does not know.
    pub(crate) fn prices(&self) -> Prices {
        let (input, output) = match self.name.as_str() {
            "claude-sonnet-5" | "claude-sonnet-5-5" => (2.0, 10.0),
            name if name.starts_with("claude-sonnet") => (3.0, 15.0),
            name if name.starts_with("claude-haiku") => (1.0, 5.0),
            "claude-opus-5-5" => (4.0, 20.0),
            name if name.starts_with("claude-opus") => (5.0, 25.0),
            _ => (4.0, 20.0),
        };
        Prices {
            input,
            output,
            cache_read: input * 0.1,
            cache_creation: input * 1.25,
        }
    }
}
