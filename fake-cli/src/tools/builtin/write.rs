//! `Write`.

use serde_json::{Value, json};

use super::edit::{count_lines, structured_patch};
use super::{BuiltinOutcome, Parameter, paths, required};
use crate::session::Session;

pub(super) const PARAMETERS: &[Parameter] = &[
    required("file_path", "string", "absolute path of the file"),
    required("content", "string", "the whole new content"),
];

/// What the model is told about a file whose content it has seen (observed on CLI 2.1.316).
pub(super) const IN_CONTEXT: &str =
    "(file state is current in your context — no need to Read it back)";

pub(super) fn run(session: &Session, input: &Value) -> BuiltinOutcome {
    let path = paths::subject(session, input);
    let shown = input["file_path"].as_str().unwrap_or_default();
    let content = input["content"].as_str().unwrap_or_default();
    let original = std::fs::read_to_string(&path).ok();
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&path, content));
    if let Err(error) = written {
        return BuiltinOutcome::Error(format!("failed to write '{shown}': {error}"));
    }
    session.seen_files.borrow_mut().insert(path);
    let (kind, text, patch) = match &original {
        Some(before) => (
            "update",
            format!("The file {shown} has been updated successfully. {IN_CONTEXT}"),
            structured_patch(before, content),
        ),
        None => (
            "create",
            format!("File created successfully at: {shown} {IN_CONTEXT}"),
            json!([]),
        ),
    };
    count_lines(session, &patch);
    if original.is_none() {
        // The end of the last line begins another one, to this count (observed on CLI 2.1.316).
        session.ledger.borrow_mut().lines_added += content.split('\n').count();
    }
    BuiltinOutcome::Success {
        content: json!(text),
        structured: json!({
            "type": kind,
            "filePath": shown,
            "content": content,
            "structuredPatch": patch,
            "originalFile": original,
            "userModified": false,
        }),
        states_success: false,
    }
}
