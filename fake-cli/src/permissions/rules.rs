//! Allow and deny rules, as `--allowedTools` and `updatedPermissions` write them.

use serde_json::Value;

/// `Tool` or `Tool(content)`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    tool: String,
    content: Option<String>,
    origin: Origin,
}

/// Who made a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    /// The host, in an answer.
    Host,
}

impl Origin {
    /// The `source` of a permission decision.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Self::CommandLine => "config",
            Self::Host => "user_temporary",
        }
    }
}

/// The rules in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new(allowed: &[String], disallowed: &[String]) -> Self {
        Self {
            allow: allowed.iter().map(|rule| Rule::parse(rule)).collect(),
            deny: disallowed.iter().map(|rule| Rule::parse(rule)).collect(),
        }
    }

    /// Who allowed the call, if a rule does.
    pub(crate) fn allowed_by(&self, tool: &str, input: &Value) -> Option<Origin> {
        let rule = self.allow.iter().find(|rule| rule.covers(tool, input))?;
        Some(rule.origin)
    }

    pub(crate) fn denies(&self, tool: &str, input: &Value) -> bool {
        self.deny.iter().any(|rule| rule.covers(tool, input))
    }

    /// Applies the `updatedPermissions` of a `can_use_tool` answer.
    pub(crate) fn update(&mut self, updates: &Value) {
        for update in updates.as_array().into_iter().flatten() {
            if update["type"] != "addRules" {
                continue;
            }
            let target = match update["behavior"].as_str() {
                Some("allow") => &mut self.allow,
                Some("deny") => &mut self.deny,
                _ => continue,
            };
            for rule in update["rules"].as_array().into_iter().flatten() {
                if let Some(tool) = rule["toolName"].as_str() {
                    target.push(Rule {
                        tool: tool.to_owned(),
                        content: rule["ruleContent"].as_str().map(str::to_owned),
                        origin: Origin::Host,
                    });
                }
            }
        }
    }
}

impl Rule {
    fn parse(source: &str) -> Self {
        match source
            .strip_suffix(')')
            .and_then(|rest| rest.split_once('('))
        {
            Some((tool, content)) => Self {
                tool: tool.to_owned(),
                content: Some(content.to_owned()).filter(|content| content != "*"),
                origin: Origin::CommandLine,
            },
            None => Self {
                tool: source.to_owned(),
                content: None,
                origin: Origin::CommandLine,
            },
        }
    }

    fn covers(&self, tool: &str, input: &Value) -> bool {
        let named = self.tool == tool
            || self
                .tool
                .strip_prefix("mcp__")
                .filter(|server| !server.contains("__"))
                .is_some_and(|_| tool.starts_with(&format!("{}__", self.tool)));
        named
            && self
                .content
                .as_deref()
                .is_none_or(|content| covers_input(content, input))
    }
}

/// The part in parentheses: a command prefix (`git add:*`, `git add *`), an exact command, or a path.
fn covers_input(content: &str, input: &Value) -> bool {
    let subject = ["command", "file_path", "path", "pattern"]
        .iter()
        .find_map(|member| input[*member].as_str())
        .unwrap_or_default();
    let prefix = content
        .strip_suffix(":*")
        .or_else(|| content.strip_suffix('*'));
    match prefix {
        Some(prefix) => subject.starts_with(prefix),
        None => subject == content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_cover_tools_servers_and_commands() {
        let rules = Rules::new(
            &[
                "Read".to_owned(),
                "mcp__tools".to_owned(),
                "Bash(git status:*)".to_owned(),
            ],
            &["mcp__other__delete".to_owned()],
        );
        assert!(
            rules
                .allowed_by("Read", &json!({"file_path": "/x"}))
                .is_some()
        );
        assert!(rules.allowed_by("mcp__tools__create", &json!({})).is_some());
        assert!(
            rules
                .allowed_by("mcp__toolshed__create", &json!({}))
                .is_none()
        );
        assert!(
            rules
                .allowed_by("Bash", &json!({"command": "git status -s"}))
                .is_some()
        );
        assert!(
            rules
                .allowed_by("Bash", &json!({"command": "rm -r ."}))
                .is_none()
        );
        assert!(rules.denies("mcp__other__delete", &json!({})));
    }

    #[test]
    fn an_answer_adds_rules() {
        let mut rules = Rules::default();
        rules.update(
            &json!([{"type": "addRules", "behavior": "allow", "destination": "session",
            "rules": [{"toolName": "Write"}]}]),
        );
        assert!(rules.allowed_by("Write", &json!({})).is_some());
    }
}
