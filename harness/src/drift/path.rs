//! Field paths: `result.usage.output_tokens`, `system/init.tools[]`, and patterns of them.

use std::fmt;

use serde_json::Value;

const ELEMENT: &str = "[]";
const BUILT_IN: &str = "[built-in]";

/// A place in an entry. The first part is the entry's kind; `[]` stands for any element of an array,
/// `[built-in]` for a tool of the CLI's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    pub(crate) fn of_kind(kind: impl Into<String>) -> Self {
        Self(vec![kind.into()])
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        self.with(key)
    }

    /// The path of this element. Tools that are the CLI's own are told apart: their texts are, too.
    pub(crate) fn element_of(&self, item: &Value) -> Self {
        let name = item.get("name").and_then(Value::as_str);
        let is_tool = item.get("input_schema").is_some() || item.get("description").is_some();
        let is_built_in = is_tool && name.is_some_and(|name| !name.starts_with("mcp__"));
        self.with(if is_built_in { BUILT_IN } else { ELEMENT })
    }

    fn with(&self, part: &str) -> Self {
        Self(self.0.iter().cloned().chain([part.to_owned()]).collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.iter().enumerate() {
            let separator = if place == 0 || part.starts_with('[') {
                ""
            } else {
                "."
            };
            write!(formatter, "{separator}{part}")?;
        }
        Ok(())
    }
}

/// A pattern of field paths: `*` within a part stands for any letters, a part `**` for any number of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    written: String,
    parts: Vec<String>,
}

impl PathPattern {
    /// Reads a pattern.
    #[must_use]
    pub fn new(written: &str) -> Self {
        let parts = written.split('.').flat_map(|part| {
            let (name, elements) = part.split_at(part.find('[').unwrap_or(part.len()));
            let elements = elements.split_inclusive(']').map(str::to_owned);
            (!name.is_empty())
                .then(|| name.to_owned())
                .into_iter()
                .chain(elements)
                .collect::<Vec<_>>()
        });
        Self {
            written: written.to_owned(),
            parts: parts.collect(),
        }
    }

    /// Whether it stands for this path.
    #[must_use]
    pub fn matches(&self, path: &FieldPath) -> bool {
        parts_match(&self.parts, &path.0)
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

fn parts_match(pattern: &[String], path: &[String]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((any, rest)), _) if any == "**" => {
            (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..]))
        }
        (Some((wanted, rest)), Some((part, below))) => {
            part_matches(wanted, part) && parts_match(rest, below)
        }
        _ => false,
    }
}

fn part_matches(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((start, rest)) => part.strip_prefix(start).is_some_and(|part| {
            part.char_indices()
                .map(|(at, _)| at)
                .chain([part.len()])
                .any(|at| part_matches(rest, &part[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> FieldPath {
        FieldPath::of_kind("system/init")
            .key("tools")
            .element_of(&Value::Null)
            .key("name")
    }

    #[test]
    fn a_path_is_written_as_it_is_read() {
        assert_eq!(path().to_string(), "system/init.tools[].name");
        assert!(PathPattern::new("system/init.tools[].name").matches(&path()));
    }

    #[test]
    fn stars_stand_for_letters_and_double_stars_for_parts() {
        for pattern in [
            "system/*.tools[].name",
            "**.name",
            "system/init.**",
            "**",
            "*.tools.**.name",
        ] {
            assert!(PathPattern::new(pattern).matches(&path()), "{pattern}");
        }
        for pattern in [
            "system/init.tools",
            "*.name",
            "system/init.tools[]",
            "result.**",
        ] {
            assert!(!PathPattern::new(pattern).matches(&path()), "{pattern}");
        }
    }
}
