//! The texts by which the model learns that a call did not run (observed on CLI 2.1.316; long ones
//! keep their lead-in only).

/// Nobody was there to grant a permission.
pub(crate) fn not_granted(tool: &str) -> String {
    format!("Claude requested permissions to use {tool}, but you haven't granted it yet.")
}

/// The mode is `dontAsk`.
pub(crate) fn dont_ask(tool: &str) -> String {
    format!(
        "Permission to use {tool} has been denied because Claude Code is running in don't ask mode. \
         IMPORTANT: You *may* attempt to accomplish this action using other tools that might \
         naturally be used to accomplish this goal, but do not work around the denial."
    )
}

/// A rule of the command line forbids the tool.
pub(crate) fn denied_by_rule(tool: &str) -> String {
    format!("Permission to use {tool} has been denied.")
}

/// The mode is `plan`.
pub(crate) fn plan_mode(tool: &str) -> String {
    format!("Cannot call {tool} while in plan mode.")
}

/// A path is none of the session's.
pub(crate) const OUTSIDE: &str = "Path is outside allowed working directories";

/// A hook denied.
pub(crate) fn hook_denied(tool: &str, reason: Option<&str>) -> String {
    let reason = reason
        .filter(|reason| !reason.is_empty())
        .unwrap_or("Blocked by hook");
    format!("PreToolUse:{tool} hook error: {reason}")
}

pub(crate) const HOOK_TIMED_OUT: &str = "PreToolUse hook did not respond before its timeout (host \
    client may be unreachable). The tool call was not executed; other configured hooks may not have \
    completed.";

pub(crate) const NOT_NOW: &str = "The user doesn't want to take this action right now. STOP what you \
    are doing and wait for the user to tell you how to proceed.";

pub(crate) const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use \
    was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what \
    you are doing and wait for the user to tell you how to proceed.";

pub(crate) const STOPPED_WHILE_RUNNING: &str = " Correction to the text above: this call was stopped \
    while running, not refused before it ran. It may have run in part or in full, so check before \
    you repeat it.";

pub(crate) const INTERRUPTED_CALL: &str = "The tool call was interrupted before a result was \
    received. It may or may not have completed on the server — verify before assuming it succeeded, \
    and retry if needed.";

pub(crate) const INVALID_PERMISSION_RESULT: &str = "The canUseTool callback returned an invalid \
    permission result. Expected {behavior: 'allow', updatedInput?: object} or {behavior: 'deny', \
    message: string}. updatedPermissions may hold permission updates.";

pub(crate) const PERMISSION_STREAM_CLOSED: &str = "Tool permission request failed: AbortError: Tool \
    permission stream closed before response received";

pub(crate) const RESULT_MISSING: &str = "[Tool result missing due to internal error]";

pub(crate) const SESSION_ENDED: &str = "[Tool call interrupted: the session ended before this call's \
    result was recorded, so its outcome is unknown. Check whether it took effect before relying on \
    it or running it again.]";

pub(crate) const INTERRUPTED: &str = "[Request interrupted by user]";

pub(crate) const INTERRUPTED_FOR_TOOL_USE: &str = "[Request interrupted by user for tool use]";

pub(crate) const CONTINUE: &str = "Continue from where you left off.";

pub(crate) const CUT_OFF: &str = "Your response above was cut off mid-stream. Resume directly from \
    where it stops — no apology, no recap. If none of it survived, answer the request from the start.";

pub(crate) const MALFORMED_CALL: &str = "The previous response failed to produce a valid tool call. \
    Please retry the tool call now.";

pub(crate) const OUTPUT_LIMIT: &str = "Output token limit hit. Resume directly — no apology, no recap \
    of what you were doing. Pick up mid-thought if that is where the cut happened. Break remaining \
    work into smaller pieces.";

pub(crate) const NO_VISIBLE_OUTPUT: &str = "[Your previous response had no visible output. Please \
    continue and produce a user-visible response.]";

pub(crate) const REFUSED: &str = "Your response above was stopped by a safety classifier — this is not \
    a tool or API error. Do not repeat it.";

pub(crate) const NO_RESPONSE: &str = "No response requested.";
