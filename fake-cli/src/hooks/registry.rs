//! Which callbacks are registered for which event, and which of them a tool call concerns.

use std::collections::HashMap;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

/// One callback of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegisteredHook {
    pub(crate) callback_id: String,
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Clone)]
struct Registration {
    matcher: Matcher,
    hook: RegisteredHook,
}

/// The hooks of the latest `initialize`.
#[derive(Debug, Clone, Default)]
pub(crate) struct HookRegistry {
    by_event: HashMap<String, Vec<Registration>>,
}

impl HookRegistry {
    /// Reads the `hooks` member of `initialize`. Whatever has not the expected shape is left out:
    /// unknown events and malformed matchers are ignored silently (observed on CLI 2.1.316).
    pub(crate) fn from_initialize(hooks: &Value) -> Self {
        let mut by_event: HashMap<String, Vec<Registration>> = HashMap::new();
        for (event, groups) in hooks.as_object().into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let matcher = Matcher::new(group["matcher"].as_str());
                let timeout = group["timeout"]
                    .as_f64()
                    .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                for id in group["hookCallbackIds"].as_array().into_iter().flatten() {
                    let Some(id) = id.as_str() else { continue };
                    by_event
                        .entry(event.clone())
                        .or_default()
                        .push(Registration {
                            matcher: matcher.clone(),
                            hook: RegisteredHook {
                                callback_id: id.to_owned(),
                                timeout,
                            },
                        });
                }
            }
        }
        Self { by_event }
    }

    /// The hooks of an event that concern a subject, which is a tool's name for tool events.
    pub(crate) fn matching(&self, event: &str, subject: Option<&str>) -> Vec<RegisteredHook> {
        self.by_event
            .get(event)
            .into_iter()
            .flatten()
            .filter(|registration| subject.is_none_or(|name| registration.matcher.matches(name)))
            .map(|registration| registration.hook.clone())
            .collect()
    }
}

/// What a registration says about tool names: nothing, a plain name or `|`-list of them, else a
/// regular expression over the whole name (observed on CLI 2.1.316).
#[derive(Debug, Clone)]
enum Matcher {
    Everything,
    Names(Vec<String>),
    Pattern(Regex),
    Nothing,
}

impl Matcher {
    fn new(source: Option<&str>) -> Self {
        let source = match source {
            None | Some("" | "*") => return Self::Everything,
            Some(source) => source,
        };
        let plain = |character: char| character.is_ascii_alphanumeric() || "_|".contains(character);
        if source.chars().all(plain) {
            return Self::Names(source.split('|').map(str::to_owned).collect());
        }
        Regex::new(&format!("^(?:{source})$")).map_or(Self::Nothing, Self::Pattern)
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Names(names) => names.iter().any(|candidate| candidate == name),
            Self::Pattern(pattern) => pattern.is_match(name),
            Self::Nothing => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concerns(matcher: &str, tool: &str) -> bool {
        Matcher::new(Some(matcher)).matches(tool)
    }

    #[test]
    fn matchers_follow_the_observed_rules() {
        let tool = "mcp__tools__create_refund";
        for matching in [
            "",
            "*",
            tool,
            "mcp__tools__.*",
            "Bash|mcp__tools__create_refund",
        ] {
            assert!(concerns(matching, tool), "{matching:?} should match");
        }
        for other in ["mcp__tools", "Bash", "(", "create_refund"] {
            assert!(!concerns(other, tool), "{other:?} should not match");
        }
        assert!(Matcher::new(None).matches(tool));
    }
}
