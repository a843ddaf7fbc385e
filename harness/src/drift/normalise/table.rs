//! The one table of what is replaced before traces are compared, and why.

use std::sync::LazyLock;

use regex::Regex;

use super::rule::Rule;
use super::rule::Treatment::{self, Embedded, LeadIn, LeftOut, List, Measured, Text};
use crate::drift::path::PathPattern;
use crate::drift::trace::Lane;

const STDOUT: &[Lane] = &[Lane::Stdout];
const CONTROL: &[Lane] = &[Lane::Control];
const ANY: &[Lane] = &[];
const STREAM: &[Lane] = &[Lane::Stream];
const HTTP: &[Lane] = &[Lane::Http];
const PROCESS: &[Lane] = &[Lane::Process];
const ENTRIES: &[Lane] = &[Lane::Transcript, Lane::Mirror];

type Row = (
    &'static [Lane],
    &'static str,
    &'static str,
    Treatment,
    &'static str,
);

/// Lanes, path, what the text looks like (empty: anything), treatment, reason. The first that fits is applied.
const ROWS: &[Row] = &[
    (
        ANY,
        "**",
        "^(Error: )?Permission to use .* has been denied because Claude Code is running in don't ask mode\\.",
        LeadIn,
        "a long text of the CLI's own",
    ),
    (
        ANY,
        "**",
        "^(Error: |<tool_use_error>)?InputValidationError: \\[",
        LeadIn,
        "a dump of the CLI's own checks",
    ),
    (
        ANY,
        "**",
        "^(Error: |<tool_use_error>)?InputValidationError: \\S+ was called with input that could not be parsed as JSON\\.",
        LeadIn,
        "a long text of the CLI's own",
    ),
    (
        ANY,
        "**",
        "^(Error: |<tool_use_error>)?Blocked: standalone sleep \\d+\\.",
        LeadIn,
        "a long text of the CLI's own",
    ),
    (
        STDOUT,
        "system/informational.content",
        "^We're changing auto mode",
        Text("notice"),
        "an announcement of the day",
    ),
    (
        STDOUT,
        "user.tool_use_result.durationMs",
        "",
        Measured,
        "time",
    ),
    (
        ENTRIES,
        "user.toolUseResult.durationMs",
        "",
        Measured,
        "time",
    ),
    (ENTRIES, "*.slug", "", Text("slug"), "words drawn by lot"),
    (
        ENTRIES,
        "attachment/plan_mode.attachment.planFilePath",
        "",
        Text("plan_file"),
        "named after words drawn by lot",
    ),
    (
        ANY,
        "**",
        "^(Error: )?The canUseTool callback returned an invalid permission result\\.",
        LeadIn,
        "a long text of the CLI's own",
    ),
    (
        ANY,
        "**",
        "^Your response above was stopped by a safety classifier — this is not a tool or API error\\.",
        LeadIn,
        "a long text of the CLI's own",
    ),
    (
        ANY,
        "**",
        "^(Error: )?Prompt is too long · the request is ~\\d+ tokens \\(limit \\d+\\)",
        LeadIn,
        "a long text of the CLI's own",
    ),
    (
        ANY,
        "**",
        "(?s)^(Error: )?The user doesn't want to proceed with this tool use\\..*Correction to the text above:",
        Text("stopped_while_running"),
        "a long text of the CLI's own",
    ),
    (
        STDOUT,
        "system/api_retry.retry_delay_ms",
        "",
        Measured,
        "drawn by lot, within the rule for delays",
    ),
    (
        ENTRIES,
        "system/api_error.retryInMs",
        "",
        Measured,
        "drawn by lot, within the rule for delays",
    ),
    (
        PROCESS,
        "process.stderr",
        "^Error in hook callback \\w+:",
        LeadIn,
        "a dump of the CLI's own code",
    ),
    (
        PROCESS,
        "process.pid",
        "",
        Measured,
        "differs in every process",
    ),
    (
        CONTROL,
        "control_response/success.response.response.pid",
        "",
        Measured,
        "differs in every process",
    ),
    (
        CONTROL,
        "control_response/success.response.response.commands",
        "",
        List("commands"),
        "the CLI's own prompts",
    ),
    (
        CONTROL,
        "control_response/success.response.response.agents",
        "",
        List("agents"),
        "the CLI's own prompts",
    ),
    (
        CONTROL,
        "control_response/success.response.response.models",
        "",
        List("models"),
        "the CLI's own descriptions",
    ),
    (
        CONTROL,
        "control_response/success.response.response.available_output_styles",
        "",
        List("output_styles"),
        "the CLI's own prompts",
    ),
    (
        CONTROL,
        "control_request/mcp_message/initialize.request.message.params.clientInfo.description",
        "",
        Text("client_description"),
        "the CLI's own words",
    ),
    (
        CONTROL,
        "control_request/hook_callback/*.request.input.duration_ms",
        "",
        Measured,
        "time",
    ),
    (
        STDOUT,
        "assistant.thinking_duration_ms",
        "",
        Measured,
        "time",
    ),
    (
        ENTRIES,
        "assistant.thinkingDurationMs",
        "",
        Measured,
        "time",
    ),
    (
        STREAM,
        "stream_event/message_start.ttft_ms",
        "",
        Measured,
        "time",
    ),
    (STDOUT, "result.duration_ms", "", Measured, "time"),
    (STDOUT, "result.duration_api_ms", "", Measured, "time"),
    (STDOUT, "result.ttft_ms", "", Measured, "time"),
    (STDOUT, "result.ttft_stream_ms", "", Measured, "time"),
    (STDOUT, "result.time_to_request_ms", "", Measured, "time"),
    (
        STDOUT,
        "result.first_content_frame_ms",
        "",
        Measured,
        "time",
    ),
    (
        STDOUT,
        "system/init.messaging_socket_path",
        "",
        Text("socket_path"),
        "named after the process id",
    ),
    (
        STDOUT,
        "system/init.slash_commands",
        "",
        List("commands"),
        "the CLI's own prompts",
    ),
    (
        STDOUT,
        "system/init.skills",
        "",
        List("skills"),
        "the CLI's own prompts",
    ),
    (
        STDOUT,
        "system/init.agents",
        "",
        List("agents"),
        "the CLI's own prompts",
    ),
    (
        STDOUT,
        "system/init.plugins",
        "",
        List("plugins"),
        "the CLI's own prompts",
    ),
    (
        HTTP,
        "request.headers.content-length",
        "",
        LeftOut,
        "follows from the length of the CLI's own texts",
    ),
    (
        HTTP,
        "request.body.metadata.user_id",
        "",
        Embedded,
        "a text that holds JSON",
    ),
    (
        HTTP,
        "request.body.system[].text",
        "^You are (an? |Claude)",
        Text("identity"),
        "the CLI's own prompt",
    ),
    (
        HTTP,
        "request.body.messages[].content[].text",
        "^(<system-reminder>|# Environment)",
        Text("reminder"),
        "the CLI's own prompt",
    ),
    (
        HTTP,
        "request.body.messages[].content",
        "^(<system-reminder>|# Environment)",
        Text("reminder"),
        "the CLI's own prompt",
    ),
    (
        HTTP,
        "request.body.tools[built-in].**.description",
        "",
        Text("description"),
        "the CLI's own prompt",
    ),
    (ENTRIES, "cost-state.startTime", "", Measured, "time"),
    (ENTRIES, "cost-state.totalAPIDuration", "", Measured, "time"),
    (
        ENTRIES,
        "cost-state.totalAPIDurationWithoutRetries",
        "",
        Measured,
        "time",
    ),
    (ENTRIES, "cost-state.totalDuration", "", Measured, "time"),
    (
        ENTRIES,
        "cost-state.totalToolDuration",
        "",
        Measured,
        "time",
    ),
    (
        ENTRIES,
        "api-request-shape.shape.system[].text",
        "^You are (an? |Claude)",
        Text("identity"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "api-request-shape.shape.tools[built-in].**.description",
        "",
        Text("description"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "api-request-blob.message.content[].text",
        "^(<system-reminder>|# Environment)",
        Text("reminder"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "api-request-blob.message.content",
        "^(<system-reminder>|# Environment)",
        Text("reminder"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/*.rendered[].content",
        "^(<system-reminder>|# Environment)",
        Text("reminder"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/environment.attachment.snapshot.osVersion",
        "",
        Text("os_version"),
        "the machine's",
    ),
    (
        ENTRIES,
        "attachment/model.attachment.text",
        "",
        Text("model"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/model.attachment.identity.knowledgeCutoff",
        "",
        Text("knowledge_cutoff"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/prompt_snapshot.attachment.cliPrefix",
        "",
        Text("identity"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/prompt_snapshot.attachment.tools[built-in].**.description",
        "",
        Text("description"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/remote_session_change.attachment.commit",
        "",
        Text("attribution"),
        "the CLI's own prompt",
    ),
    (
        ENTRIES,
        "attachment/remote_session_change.attachment.pr",
        "",
        Text("attribution"),
        "the CLI's own prompt",
    ),
];

/// The table.
#[must_use]
pub fn rules() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| ROWS.iter().map(rule).collect());
    &RULES
}

fn rule(row: &Row) -> Rule {
    let (lanes, path, text, treatment, reason) = *row;
    #[expect(
        clippy::expect_used,
        reason = "the table is constant, and a test reads every row"
    )]
    let text =
        (!text.is_empty()).then(|| Regex::new(text).expect("a regular expression of the table"));
    Rule {
        lanes,
        path: PathPattern::new(path),
        text,
        treatment,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read_and_has_a_reason() {
        assert!(rules().iter().all(|rule| !rule.reason.is_empty()));
    }
}
