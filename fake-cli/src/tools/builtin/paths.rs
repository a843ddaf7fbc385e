//! Paths in tool inputs, and what touching them needs.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::permissions::{Allowance, AskReason, texts};
use crate::session::Session;

/// The file or directory an input names; the working directory if it names none.
pub(super) fn subject(session: &Session, input: &Value) -> PathBuf {
    let working_directory = &session.environment.working_directory;
    let named = ["file_path", "path"]
        .iter()
        .find_map(|member| input[*member].as_str());
    named.map_or_else(
        || working_directory.clone(),
        |path| normalised(&working_directory.join(path)),
    )
}

/// The path of a call as a question names it: from the working directory on if it lies there (observed on CLI 2.1.316).
pub(super) fn asked_about(session: &Session, input: &Value) -> Option<Value> {
    let path = subject(session, input);
    let working_directory = &session.environment.working_directory;
    let shown = path.strip_prefix(working_directory).unwrap_or(&path);
    (!shown.as_os_str().is_empty()).then(|| json!(shown.display().to_string()))
}

/// Whether a path is inside the working directory or an additional one.
pub(super) fn is_inside(session: &Session, path: &Path) -> bool {
    let own = &session.environment.working_directory;
    let additional = session
        .arguments
        .additional_directories
        .iter()
        .map(Path::new);
    std::iter::once(own.as_path())
        .chain(additional)
        .any(|directory| path.starts_with(directory))
}

/// Removes `.` and `..` without asking the file system, so that `..` cannot lead outside.
fn normalised(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

pub(super) fn read_allowance(session: &Session, input: &Value) -> Allowance {
    let path = subject(session, input);
    if is_inside(session, &path) {
        return Allowance::Free;
    }
    let shown = path.display().to_string();
    let directory = path.parent().unwrap_or(&path).display().to_string();
    let mut request = serde_json::Map::new();
    request.insert(
        "permission_suggestions".to_owned(),
        json!([{
            "type": "addRules",
            "rules": [{"toolName": "Read", "ruleContent": format!("/{directory}/**")}],
            "behavior": "allow",
            "destination": "session",
        }]),
    );
    request.insert("decision_reason".to_owned(), json!(texts::OUTSIDE));
    request.insert("decision_reason_type".to_owned(), json!("workingDir"));
    Allowance::FreeWhilePlanning(AskReason {
        text: Some(format!(
            "Claude requested permissions to read from {shown}, but you haven't granted it yet."
        )),
        plan_text: None,
        request,
    })
}

pub(super) fn write_allowance(session: &Session, input: &Value) -> Allowance {
    let path = subject(session, input);
    let shown = path.display().to_string();
    let mut request = serde_json::Map::new();
    request.insert(
        "permission_suggestions".to_owned(),
        json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]),
    );
    let reason = AskReason {
        text: Some(format!(
            "Claude requested permissions to write to {shown}, but you haven't granted it yet."
        )),
        plan_text: Some(format!("Cannot write to {shown} while in plan mode.")),
        request,
    };
    if is_inside(session, &path) {
        Allowance::Edit(reason)
    } else {
        Allowance::Ask(reason)
    }
}
