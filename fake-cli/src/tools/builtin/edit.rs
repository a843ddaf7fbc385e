//! `Edit`.

use serde_json::{Value, json};

use super::write::IN_CONTEXT;
use super::{BuiltinOutcome, Parameter, optional, paths, required};
use crate::session::Session;

pub(super) const PARAMETERS: &[Parameter] = &[
    required("file_path", "string", "absolute path of the file"),
    required("old_string", "string", "the text to replace"),
    required("new_string", "string", "the text that replaces it"),
    optional("replace_all", "boolean", "replace every occurrence"),
];

/// Adds the default of `replace_all` and refuses edits that cannot work, both before any hook is
/// asked (observed on CLI 2.1.316).
pub(super) fn prepare(session: &Session, input: &Value) -> Result<Value, String> {
    let path = paths::subject(session, input);
    let error = |text: String| Err(format!("<tool_use_error>{text}</tool_use_error>"));
    let old = input["old_string"].as_str().unwrap_or_default();
    let Ok(content) = std::fs::read_to_string(&path) else {
        return error(format!(
            "File does not exist. Note: your current working directory is {}.",
            session.stamp.working_directory
        ));
    };
    let all = input["replace_all"] == true;
    match content.matches(old).count() {
        0 => {
            return error(format!(
                "String to replace not found in file.\nString: {old}"
            ));
        }
        1 => {}
        _ if all => {}
        count => {
            return error(format!(
                "Found {count} matches of the string to replace, but replace_all is false. \
                 Provide more context or set replace_all.\nString: {old}"
            ));
        }
    }
    Ok(complete(input))
}

pub(super) fn run(session: &Session, input: &Value) -> BuiltinOutcome {
    let path = paths::subject(session, input);
    let shown = input["file_path"].as_str().unwrap_or_default();
    let old = input["old_string"].as_str().unwrap_or_default();
    let new = input["new_string"].as_str().unwrap_or_default();
    let all = input["replace_all"] == true;
    let before = match std::fs::read_to_string(&path) {
        Ok(before) => before,
        Err(error) => {
            return BuiltinOutcome::Error(format!("failed to read '{shown}': {error}"));
        }
    };
    let after = if all {
        before.replace(old, new)
    } else {
        before.replacen(old, new, 1)
    };
    if let Err(error) = std::fs::write(&path, &after) {
        return BuiltinOutcome::Error(format!("failed to write '{shown}': {error}"));
    }
    let patch = structured_patch(&before, &after);
    count_lines(session, &patch);
    let mut structured = json!({
        "filePath": shown,
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": patch,
        "userModified": false,
        "replaceAll": all,
    });
    let mut text = format!("The file {shown} has been updated successfully.");
    if session.seen_files.borrow().contains(&path) {
        text = format!("{text} {IN_CONTEXT}");
    } else {
        structured["contentNotInModelContext"] = json!(true);
    }
    BuiltinOutcome::Success {
        content: json!(text),
        structured,
        states_success: false,
    }
}

/// The input with what the program itself adds to it, as it is shown and recorded (observed on CLI 2.1.316).
pub(super) fn complete(input: &Value) -> Value {
    let mut complete = input.clone();
    if complete.is_object() && complete.get("replace_all").is_none() {
        complete["replace_all"] = json!(false);
    }
    complete
}

/// Adds a patch's lines to those that the session has changed.
pub(super) fn count_lines(session: &Session, patch: &Value) {
    let hunks = patch.as_array().into_iter().flatten();
    let lines: Vec<&str> = hunks
        .flat_map(|hunk| hunk["lines"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let count = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count();
    let mut ledger = session.ledger.borrow_mut();
    ledger.lines_added += count('+');
    ledger.lines_removed += count('-');
}

/// One hunk from the first changed line to the last, with up to three lines around it.
pub(super) fn structured_patch(before: &str, after: &str) -> Value {
    const CONTEXT: usize = 3;
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let same_end = old[same_start..]
        .iter()
        .rev()
        .zip(new[same_start..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old_end, new_end) = (old.len() - same_end, new.len() - same_end);
    if same_start == old_end && same_start == new_end {
        return json!([]);
    }
    let first = same_start.saturating_sub(CONTEXT);
    let after_context = same_end.min(CONTEXT);
    let mark = |sign: char, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{sign}{line}")).collect()
    };
    let lines: Vec<String> = [
        mark(' ', &old[first..same_start]),
        mark('-', &old[same_start..old_end]),
        mark('+', &new[same_start..new_end]),
        mark(' ', &old[old_end..old_end + after_context]),
    ]
    .concat();
    json!([{
        "oldStart": first + 1,
        "oldLines": old_end + after_context - first,
        "newStart": first + 1,
        "newLines": new_end + after_context - first,
        "lines": lines,
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_one_hunk() {
        assert_eq!(
            structured_patch("one\ntwo\n", "ONE\ntwo\n"),
            json!([{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
                "lines": ["-one", "+ONE", " two"]}])
        );
        assert_eq!(structured_patch("same\n", "same\n"), json!([]));
    }
}
