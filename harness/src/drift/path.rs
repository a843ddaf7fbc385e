//! Field paths: `result.usage.output_tokens`, `system/init.tools[]`, and patterns of them.

use std::fmt;

/// A place in an entry. The first part is the entry's kind; `[]` stands for any element of an array.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    pub(crate) fn of_kind(kind: impl Into<String>) -> Self {
        Self(vec![kind.into()])
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        self.with(key)
    }

    pub(crate) fn element(&self) -> Self {
        self.with("[]")
    }

    fn with(&self, part: &str) -> Self {
        Self(self.0.iter().cloned().chain([part.to_owned()]).collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.iter().enumerate() {
            let separator = if place == 0 || part == "[]" { "" } else { "." };
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
            let name = part.trim_end_matches("[]");
            let elements = (part.len() - name.len()) / 2;
            (!name.is_empty()).then(|| name.to_owned()).into_iter().chain(vec!["[]".to_owned(); elements])
        });
        Self { written: written.to_owned(), parts: parts.collect() }
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
        (Some((any, rest)), _) if any == "**" => (0..=path.len()).any(|skipped| parts_match(rest, &path[skipped..])),
        (Some((wanted, rest)), Some((part, below))) => part_matches(wanted, part) && parts_match(rest, below),
        _ => false,
    }
}

fn part_matches(pattern: &str, part: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == part,
        Some((start, rest)) => part.strip_prefix(start).is_some_and(|part| {
            part.char_indices().map(|(at, _)| at).chain([part.len()]).any(|at| part_matches(rest, &part[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> FieldPath {
        FieldPath::of_kind("system/init").key("tools").element().key("name")
    }

    #[test]
    fn a_path_is_written_as_it_is_read() {
        assert_eq!(path().to_string(), "system/init.tools[].name");
        assert!(PathPattern::new("system/init.tools[].name").matches(&path()));
    }

    #[test]
    fn stars_stand_for_letters_and_double_stars_for_parts() {
        for pattern in ["system/*.tools[].name", "**.name", "system/init.**", "**", "*.tools.**.name"] {
            assert!(PathPattern::new(pattern).matches(&path()), "{pattern}");
        }
        for pattern in ["system/init.tools", "*.name", "system/init.tools[]", "result.**"] {
            assert!(!PathPattern::new(pattern).matches(&path()), "{pattern}");
        }
    }
}
