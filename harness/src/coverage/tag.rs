//! Tests that name requirements: `// covers: id, id` directly above the test attribute.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, LexError, Span, TokenStream, TokenTree};

const MARK: &str = "// covers:";

/// A test that names requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedTest {
    /// Its path of modules inside the file, its own name last.
    pub path: Vec<String>,
    /// Each requirement with the line of its tag, from 1.
    pub requirements: Vec<(usize, String)>,
}

/// A tag that belongs to no test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MisplacedTag {
    /// It stands somewhere else.
    #[error(
        "`// covers:` stands above no test attribute; put it directly above `#[test]` or `#[tokio::test]`"
    )]
    NoTest {
        /// Its line, from 1.
        line: usize,
    },
    /// It names nothing.
    #[error("`// covers:` names no requirement; write `// covers: id, id`")]
    Empty {
        /// Its line, from 1.
        line: usize,
    },
    /// The file around it is no Rust.
    #[error("failed to read the file as Rust: {reason}")]
    NotRust {
        /// The line of the mistake, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

impl MisplacedTag {
    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            Self::NoTest { line } | Self::Empty { line } | Self::NotRust { line, .. } => *line,
        }
    }
}

/// The tagged tests of a source file.
///
/// # Errors
/// When a tag belongs to no test or names nothing, or when a file with tags is no Rust.
pub fn tagged_tests(text: &str) -> Result<Vec<TaggedTest>, MisplacedTag> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if tag_lines(&lines).is_empty() {
        return Ok(Vec::new());
    }
    let stream: TokenStream = text.parse().map_err(not_rust)?;
    let literals = literal_lines(stream.clone());
    let mut unclaimed = tag_lines(&lines);
    unclaimed.retain(|line| !literals.iter().any(|lines| lines.contains(line)));
    if let Some(line) = unclaimed.iter().find(|line| ids(&lines, **line).is_empty()) {
        return Err(MisplacedTag::Empty { line: *line });
    }
    let mut found = Vec::new();
    collect(stream, &mut Vec::new(), &mut found);
    let mut tagged = Vec::new();
    for test in found {
        let own = tags_above(&lines, test.attribute_line);
        unclaimed.retain(|line| !own.contains(line));
        let requirements = own.iter().flat_map(|line| ids(&lines, *line));
        let requirements: Vec<(usize, String)> = requirements.collect();
        if !requirements.is_empty() {
            tagged.push(TaggedTest {
                path: test.path,
                requirements,
            });
        }
    }
    match unclaimed.first() {
        Some(line) => Err(MisplacedTag::NoTest { line: *line }),
        None => Ok(tagged),
    }
}

fn not_rust(error: LexError) -> MisplacedTag {
    MisplacedTag::NotRust {
        line: error.span().start().line,
        reason: error.to_string(),
    }
}

fn tag_lines(lines: &[&str]) -> Vec<usize> {
    let numbered = lines.iter().enumerate();
    numbered
        .filter(|(_, line)| line.starts_with(MARK))
        .map(|(index, _)| index + 1)
        .collect()
}

fn ids(lines: &[&str], line: usize) -> Vec<(usize, String)> {
    let list = lines[line - 1].trim_start_matches(MARK);
    list.split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .map(|id| (line, id.to_owned()))
        .collect()
}

/// The tags in the block of comments that ends right above a line, in the order of the file.
fn tags_above(lines: &[&str], line: usize) -> Vec<usize> {
    let above = lines[..line - 1].iter().rev();
    let block = above.take_while(|line| line.starts_with("//")).count();
    let mut tags = tag_lines(lines);
    tags.retain(|tag| (line - block..line).contains(tag));
    tags
}

/// Lines that continue a literal: what looks like a tag there is text.
fn literal_lines(stream: TokenStream) -> Vec<RangeInclusive<usize>> {
    let lines = stream.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => literal_lines(group.stream()),
        TokenTree::Literal(literal) => {
            let span = literal.span();
            vec![line_of(span) + 1..=span.end().line]
        }
        _ => Vec::new(),
    });
    lines.filter(|lines| !lines.is_empty()).collect()
}

struct FoundTest {
    path: Vec<String>,
    attribute_line: usize,
}

/// Looks through the tokens instead of the items, so that tests inside `proptest! { … }` are found, too.
fn collect(stream: TokenStream, modules: &mut Vec<String>, found: &mut Vec<FoundTest>) {
    let mut attribute = None;
    let mut before = [String::new(), String::new()];
    for token in stream {
        match &token {
            TokenTree::Group(group) => {
                if before[1] == "#" && is_test_attribute(group.stream()) {
                    attribute = Some(line_of(group.span_open()));
                }
                let is_module = before[0] == "mod" && group.delimiter() == Delimiter::Brace;
                if is_module {
                    modules.push(before[1].clone());
                }
                collect(group.stream(), modules, found);
                if is_module {
                    modules.pop();
                }
            }
            TokenTree::Ident(name) if before[1] == "fn" => {
                if let Some(attribute_line) = attribute.take() {
                    let mut path = modules.clone();
                    path.push(name.to_string());
                    found.push(FoundTest {
                        path,
                        attribute_line,
                    });
                }
            }
            _ => {}
        }
        before.swap(0, 1);
        before[1] = match &token {
            TokenTree::Group(_) => String::new(),
            other => other.to_string(),
        };
    }
}

/// `test`, or a path that ends in it, with or without arguments.
fn is_test_attribute(attribute: TokenStream) -> bool {
    let path = attribute
        .into_iter()
        .take_while(|token| !matches!(token, TokenTree::Group(_)));
    path.last().is_some_and(|token| token.to_string() == "test")
}

fn line_of(span: Span) -> usize {
    span.start().line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = r#"
// covers: in-front
#[test]
fn outside() {}

mod inner {
    proptest! {
        /// Documented.
        // covers: a-one, a-two
        // covers: a-three
        #[test]
        fn generated(text in ".*") {}
    }
    mod deep {
        // covers: tokio-one
        #[tokio::test(flavor = "multi_thread")]
        async fn waits() { let text = "// not code"; }
        #[test]
        fn untagged() {}
    }
}
"#;

    #[test]
    fn tests_are_found_in_modules_and_macros() {
        let tests = tagged_tests(FILE).expect("the tags are right");
        let shown: Vec<String> = tests
            .iter()
            .map(|test| {
                let ids: Vec<&str> = test
                    .requirements
                    .iter()
                    .map(|(_, id)| id.as_str())
                    .collect();
                format!("{}: {}", test.path.join("::"), ids.join(" "))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "outside: in-front",
                "inner::generated: a-one a-two a-three",
                "inner::deep::waits: tokio-one",
            ]
        );
        assert_eq!(tests[0].requirements[0].0, 2, "the line of the tag");
    }

    #[test]
    fn a_tag_without_a_test_is_an_error_with_its_line() {
        for (text, line) in [
            ("\n// covers: one\nfn no_test() {}\n", 2),
            ("// covers: one\n\n#[test]\nfn apart() {}\n", 1),
            ("#[test]\n// covers: one\nfn below_the_attribute() {}\n", 2),
            ("#[test]\nfn last() {}\n// covers: one", 3),
        ] {
            assert_eq!(
                tagged_tests(text),
                Err(MisplacedTag::NoTest { line }),
                "{text}"
            );
        }
    }

    #[test]
    fn what_looks_like_a_tag_inside_a_literal_is_text() {
        let text = "fn text() -> &'static str { \"\n// covers: one\n\" }\n";
        assert_eq!(tagged_tests(text), Ok(Vec::new()));
    }

    #[test]
    fn a_tag_without_an_id_is_an_error() {
        let text = "// covers: ,\n#[test]\nfn empty() {}\n";
        assert_eq!(tagged_tests(text), Err(MisplacedTag::Empty { line: 1 }));
    }

    #[test]
    fn a_file_that_is_no_rust_is_an_error() {
        let error =
            tagged_tests("// covers: one\n#[test]\nfn open( {\n").expect_err("it is no Rust");
        assert!(matches!(error, MisplacedTag::NotRust { .. }), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(// covers: [a-z, ]*\n|#\\[test\\]\n|fn a\\(\\) \\{\\}\n|mod b \\{|\\}|\\PC{0,5})*") {
            let _ = tagged_tests(&text);
        }
    }
}
