//! What in any text varies from run to run: ids, paths, addresses, times.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Numbers for ids, by their first appearance in a case.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    known: BTreeMap<String, usize>,
    next: BTreeMap<&'static str, usize>,
}

impl Numbering {
    fn name(&mut self, class: &'static str, id: &str) -> String {
        let next = self.next.entry(class).or_default();
        let number = self
            .known
            .entry(format!("{class}:{id}"))
            .or_insert_with(|| {
                *next += 1;
                *next
            });
        format!("[{class}_{number}]")
    }
}

/// A class of ids, and what they look like.
const IDENTIFIERS: &[(&str, &str)] = &[
    (
        "UUID",
        r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    ),
    ("DIGEST", r"\b[0-9a-f]{64}\b"),
    ("AGENT", r"\ba[0-9a-f]{16}\b"),
];

/// What is the same in meaning, whatever it says: before names are replaced.
const TIMES: &[(&str, &str)] = &[(
    "[TIMESTAMP]",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
)];

/// The same, after names are replaced.
const VALUES: &[(&str, &str)] = &[(
    "cc_version=[VERSION].[hash]",
    r"cc_version=\[VERSION\]\.[0-9a-f]{3}\b",
)];

type Expressions = Vec<(&'static str, Regex)>;

fn compiled(table: &'static [(&'static str, &'static str)]) -> Expressions {
    table
        .iter()
        .filter_map(|(name, expression)| Some((*name, Regex::new(expression).ok()?)))
        .collect()
}

static IDENTIFIER_EXPRESSIONS: LazyLock<Expressions> = LazyLock::new(|| compiled(IDENTIFIERS));
static TIME_EXPRESSIONS: LazyLock<Expressions> = LazyLock::new(|| compiled(TIMES));
static VALUE_EXPRESSIONS: LazyLock<Expressions> = LazyLock::new(|| compiled(VALUES));

/// `text` with the literals of `names` and all that varies replaced.
pub(super) fn normalised_text(
    text: &str,
    names: &[(String, &str)],
    numbering: &mut Numbering,
) -> String {
    let valued = |text: String, expressions: &Expressions| {
        expressions.iter().fold(text, |text, (value, expression)| {
            expression.replace_all(&text, *value).into_owned()
        })
    };
    let text = valued(text.to_owned(), &TIME_EXPRESSIONS);
    let text = names
        .iter()
        .fold(text, |text, (literal, name)| text.replace(literal, name));
    let mut text = valued(text, &VALUE_EXPRESSIONS);
    for (class, expression) in IDENTIFIER_EXPRESSIONS.iter() {
        text = expression
            .replace_all(&text, |found: &Captures<'_>| {
                numbering.name(class, &found[0])
            })
            .into_owned();
    }
    text
}

/// The numbered ids in a normalised text, and the text without their numbers.
pub(crate) fn split_identifiers(text: &str) -> (String, Vec<String>) {
    static NUMBERED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\[(UUID|DIGEST|AGENT)_\d+\]").ok());
    let Some(numbered) = NUMBERED.as_ref() else {
        return (text.to_owned(), Vec::new());
    };
    let ids = numbered
        .find_iter(text)
        .map(|found| found.as_str().to_owned())
        .collect();
    (numbered.replace_all(text, "[$1]").into_owned(), ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_id_gets_the_same_number() {
        let mut numbering = Numbering::default();
        let text = "00000000-0000-4000-8000-000000000001 00000000-0000-4000-8000-000000000002 00000000-0000-4000-8000-000000000001";
        assert_eq!(
            normalised_text(text, &[], &mut numbering),
            "[UUID_1] [UUID_2] [UUID_1]"
        );
    }

    #[test]
    fn literals_go_first() {
        let names = [
            ("/tmp/x/place".to_owned(), "[CWD]"),
            ("/tmp/x".to_owned(), "[ROOT]"),
        ];
        let text = normalised_text(
            "in /tmp/x/place/a since 2026-11-30T20:47:26.379Z",
            &names,
            &mut Numbering::default(),
        );
        assert_eq!(text, "in [CWD]/a since [TIMESTAMP]");
    }

    #[test]
    fn ids_can_be_taken_out_of_a_text() {
        assert_eq!(
            split_identifiers("a [UUID_3] b"),
            ("a [UUID] b".to_owned(), vec!["[UUID_3]".to_owned()])
        );
    }
}
