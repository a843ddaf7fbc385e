//! `Glob` and `Grep`.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Value, json};

use super::{BuiltinOutcome, Parameter, optional, paths, required};
use crate::session::Session;

pub(super) const GLOB_PARAMETERS: &[Parameter] = &[
    required(
        "pattern",
        "string",
        "glob pattern, `**` crosses directories",
    ),
    optional("path", "string", "directory to search"),
];

pub(super) const GREP_PARAMETERS: &[Parameter] = &[
    required("pattern", "string", "regular expression"),
    optional("path", "string", "file or directory to search"),
    optional("glob", "string", "only files whose path matches"),
    optional(
        "output_mode",
        "string",
        "content, files_with_matches or count",
    ),
    optional("-i", "boolean", "ignore case"),
    optional("-n", "boolean", "show line numbers"),
    optional("-A", "number", "lines after a match"),
    optional("-B", "number", "lines before a match"),
    optional("-C", "number", "lines around a match"),
    optional("context", "number", "the same"),
    optional("-o", "boolean", "only the matching parts"),
    optional("type", "string", "file type"),
    optional("head_limit", "number", "how many entries"),
    optional("offset", "number", "entries to skip"),
    optional("multiline", "boolean", "let `.` match line ends"),
];

/// Files that one listing shows at most.
const GLOB_LIMIT: usize = 100;

pub(super) fn glob(session: &Session, input: &Value) -> BuiltinOutcome {
    let root = paths::subject(session, input);
    let pattern = input["pattern"].as_str().unwrap_or_default();
    let Some(matcher) = glob_matcher(pattern) else {
        return BuiltinOutcome::Error(format!("invalid pattern: {pattern}"));
    };
    let found: Vec<String> = files_below(&root)
        .into_iter()
        .filter(|file| matches_relative(&matcher, &root, file))
        .map(|file| shown_path(session, &file))
        .collect();
    let total = found.len();
    let truncated = total > GLOB_LIMIT;
    let shown: Vec<String> = found.into_iter().take(GLOB_LIMIT).collect();
    let content = if shown.is_empty() {
        "No files found".to_owned()
    } else {
        shown.join("\n")
    };
    BuiltinOutcome::Success {
        content: json!(content),
        structured: json!({
            "filenames": shown,
            "durationMs": 0,
            "numFiles": shown.len(),
            "truncated": truncated,
            "totalMatches": total,
            "countIsComplete": true,
        }),
        states_success: false,
    }
}

pub(super) fn grep(session: &Session, input: &Value) -> BuiltinOutcome {
    let root = paths::subject(session, input);
    let source = input["pattern"].as_str().unwrap_or_default();
    let flags = if input["-i"] == true { "(?i)" } else { "" };
    let pattern = match Regex::new(&format!("{flags}{source}")) {
        Ok(pattern) => pattern,
        Err(error) => return BuiltinOutcome::Error(format!("invalid pattern: {error}")),
    };
    let filter = input["glob"].as_str().and_then(glob_matcher);
    let hits: Vec<(PathBuf, Vec<(usize, String)>)> = files_below(&root)
        .into_iter()
        .filter(|file| {
            filter
                .as_ref()
                .is_none_or(|matcher| matches_relative(matcher, &root, file))
        })
        .filter_map(|file| {
            let text = std::fs::read_to_string(&file).ok()?;
            let lines: Vec<(usize, String)> = text
                .lines()
                .enumerate()
                .filter(|(_, line)| pattern.is_match(line))
                .map(|(index, line)| (index + 1, line.to_owned()))
                .collect();
            (!lines.is_empty()).then_some((file, lines))
        })
        .collect();
    present(session, input, &hits)
}

fn present(
    session: &Session,
    input: &Value,
    hits: &[(PathBuf, Vec<(usize, String)>)],
) -> BuiltinOutcome {
    let mode = input["output_mode"]
        .as_str()
        .unwrap_or("files_with_matches");
    let relative = |file: &Path| shown_path(session, file);
    let names: Vec<String> = hits.iter().map(|(file, _)| relative(file)).collect();
    let lines: Vec<String> = match mode {
        "content" => hits
            .iter()
            .flat_map(|(file, lines)| {
                let name = relative(file);
                lines
                    .iter()
                    .map(move |(number, line)| format!("{name}:{number}:{line}"))
            })
            .collect(),
        "count" => hits
            .iter()
            .map(|(file, lines)| format!("{}:{}", relative(file), lines.len()))
            .collect(),
        _ => names.clone(),
    };
    let found = lines.len();
    let limit = input["head_limit"]
        .as_u64()
        .and_then(|limit| usize::try_from(limit).ok());
    let lines: Vec<String> = lines
        .into_iter()
        .take(limit.unwrap_or(usize::MAX))
        .collect();
    let content = match mode {
        _ if lines.is_empty() && mode == "content" => "No matches found".to_owned(),
        _ if lines.is_empty() => "No files found".to_owned(),
        "content" | "count" => lines.join("\n"),
        _ => {
            let noun = if lines.len() == 1 { "file" } else { "files" };
            format!("Found {} {noun}\n{}", lines.len(), lines.join("\n"))
        }
    };
    let structured = match mode {
        "content" => json!({
            "mode": mode,
            "numFiles": 0,
            "filenames": [],
            "content": lines.join("\n"),
            "numLines": lines.len(),
            "totalLines": found,
        }),
        _ => json!({"mode": mode, "filenames": names, "numFiles": names.len()}),
    };
    BuiltinOutcome::Success {
        content: json!(content),
        structured,
        states_success: false,
    }
}

/// A path as results show it: relative to the working directory, if it is below it.
fn shown_path(session: &Session, file: &Path) -> String {
    let root = &session.environment.working_directory;
    let shown = file.strip_prefix(root).unwrap_or(file);
    shown.display().to_string()
}

/// Every file below a directory, or the file itself, in order of path; hidden directories and
/// symbolic links are left out.
fn files_below(root: &Path) -> Vec<PathBuf> {
    if root.is_file() {
        return vec![root.to_owned()];
    }
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if kind.is_file() {
                files.push(entry.path());
            } else if kind.is_dir() && !hidden {
                directories.push(entry.path());
            }
        }
    }
    files.sort();
    files
}

fn matches_relative(matcher: &Regex, root: &Path, file: &Path) -> bool {
    let relative = file.strip_prefix(root).unwrap_or(file);
    matcher.is_match(&relative.to_string_lossy())
}

/// Turns a glob into a regular expression; a pattern without `/` matches in any directory.
fn glob_matcher(pattern: &str) -> Option<Regex> {
    let mut expression = String::from("^");
    if !pattern.contains('/') {
        expression.push_str("(?:.*/)?");
    }
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            expression.push_str("(?:.*/)?");
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("**") {
            expression.push_str(".*");
            rest = after;
            continue;
        }
        match character {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '{' => expression.push_str("(?:"),
            '}' => expression.push(')'),
            ',' => expression.push('|'),
            other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
        rest = &rest[character.len_utf8()..];
    }
    expression.push('$');
    Regex::new(&expression).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_paths() {
        let matches = |pattern: &str, path: &str| {
            glob_matcher(pattern).is_some_and(|matcher| matcher.is_match(path))
        };
        assert!(matches("*.rs", "src/lib.rs"));
        assert!(matches("**/*.rs", "lib.rs"));
        assert!(matches("src/*.{rs,toml}", "src/a.toml"));
        assert!(!matches("src/*.rs", "src/a/b.rs"));
    }
}
