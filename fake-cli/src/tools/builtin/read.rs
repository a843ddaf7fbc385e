//! `Read`.

use serde_json::{Value, json};

use super::{BuiltinOutcome, LARGEST_INTEGER, Parameter, counted, optional, paths, required};
use crate::session::Session;

pub(super) const PARAMETERS: &[Parameter] = &[
    required("file_path", "string", "absolute path of the file"),
    counted(
        "offset",
        "first line, counted from 1",
        &[("minimum", 0), ("maximum", LARGEST_INTEGER)],
    ),
    counted(
        "limit",
        "how many lines",
        &[("exclusiveMinimum", 0), ("maximum", LARGEST_INTEGER)],
    ),
    optional("pages", "string", "page range of a PDF"),
    optional("allow_large", "boolean", "read beyond the usual size"),
];

/// Lines that are read when no limit is given.
const DEFAULT_LIMIT: usize = 2000;

pub(super) fn run(session: &Session, input: &Value) -> BuiltinOutcome {
    let path = paths::subject(session, input);
    let shown = input["file_path"].as_str().unwrap_or_default();
    if path.is_dir() {
        return BuiltinOutcome::Error(format!(
            "EISDIR: illegal operation on a directory, read '{shown}'"
        ));
    }
    let Ok(bytes) = std::fs::read(&path) else {
        return BuiltinOutcome::Error(format!(
            "File does not exist. Note: your current working directory is {}.",
            session.stamp.working_directory
        ));
    };
    session.seen_files.borrow_mut().insert(path);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.split('\n').collect();
    let number = |member: &str| input[member].as_u64().and_then(|n| usize::try_from(n).ok());
    let first = number("offset").unwrap_or(1).max(1);
    let limit = number("limit").unwrap_or(DEFAULT_LIMIT);
    let chosen: Vec<&str> = lines.iter().copied().skip(first - 1).take(limit).collect();
    let content = if text.is_empty() {
        "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
            .to_owned()
    } else {
        numbered(&chosen, first)
    };
    BuiltinOutcome::Success {
        content: json!(content),
        structured: json!({
            "type": "text",
            "file": {
                "filePath": shown,
                "content": chosen.join("\n"),
                "numLines": chosen.len(),
                "startLine": first,
                "totalLines": lines.len(),
            },
        }),
        states_success: false,
    }
}

/// Line number, tab, text.
fn numbered(lines: &[&str], first: usize) -> String {
    let numbered = lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{}\t{line}", first + index));
    numbered.collect::<Vec<String>>().join("\n")
}
