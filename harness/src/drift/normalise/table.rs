//! The one table of what is replaced before traces are compared, and why.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::drift::path::{FieldPath, PathPattern};
use crate::drift::trace::Lane;

/// What stands for a field that is left out of the comparison.
pub const LEFT_OUT: &str = "[left out]";

/// What stands for the rest of a text that is cut.
pub(super) const REST: &str = "[text:rest]";

/// What is done with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// A long text of the CLI's own: only its kind is kept.
    Text(&'static str),
    /// A list or object that depends on the CLI's own prompts and commands: only its kind is kept.
    List(&'static str),
    /// A measured number: only that there is one.
    Measured,
    /// A long text of the CLI's own that begins with a short one: cut after its beginning.
    LeadIn,
    /// A text that holds JSON: compared as JSON.
    Embedded,
    /// Not compared at all.
    LeftOut,
}

/// A row of the table.
#[derive(Debug)]
pub struct Rule {
    /// The lanes it holds on; all when empty.
    pub lanes: &'static [Lane],
    /// Which fields.
    pub path: PathPattern,
    /// What the text must look like.
    pub text: Option<Regex>,
    /// What is done.
    pub treatment: Treatment,
    /// Why.
    pub reason: &'static str,
}

impl Rule {
    /// Whether the rule is for this field.
    #[must_use]
    pub fn is_for(&self, lane: Lane, path: &FieldPath, value: &Value) -> bool {
        let looks_right = |text: &Regex| value.as_str().is_some_and(|value| text.is_match(value));
        let fits = match self.treatment {
            Treatment::Measured => value.is_number(),
            _ => true,
        };
        fits && self.is_for_path(lane, path) && self.text.as_ref().is_none_or(looks_right)
    }

    pub(super) fn is_for_path(&self, lane: Lane, path: &FieldPath) -> bool {
        (self.lanes.is_empty() || self.lanes.contains(&lane)) && self.path.matches(path)
    }

    pub(super) fn stand_in(&self, value: &Value) -> String {
        match self.treatment {
            Treatment::Text(kind) => format!("[text:{kind}]"),
            Treatment::List(kind) => format!("[list:{kind}]"),
            Treatment::Measured => "[measured]".to_owned(),
            Treatment::LeftOut => LEFT_OUT.to_owned(),
            Treatment::LeadIn | Treatment::Embedded => value.to_string(),
        }
    }

    /// `text` up to the end of its beginning.
    pub(super) fn led_in(&self, text: &str) -> String {
        match self
            .text
            .as_ref()
            .and_then(|expression| expression.find(text))
        {
            Some(found) => format!("{}{REST}", &text[..found.end()]),
            None => text.to_owned(),
        }
    }
}

const STDOUT: &[Lane] = &[Lane::Stdout];
const CONTROL: &[Lane] = &[Lane::Control];
const ANY: &[Lane] = &[];
const STREAM: &[Lane] = &[Lane::Stream];
const HTTP: &[Lane] = &[Lane::Http];
const PROCESS: &[Lane] = &[Lane::Process];
const ENTRIES: &[Lane] = &[Lane::Transcript, Lane::Mirror];

use Treatment::{Embedded, LeadIn, LeftOut, List, Measured, Text};

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

/// The table as a page.
#[must_use]
pub fn rules_page() -> String {
    let mut page =
        String::from("| lanes | field | looks like | becomes | why |\n|---|---|---|---|---|\n");
    for rule in rules() {
        let lanes = if rule.lanes.is_empty() {
            "all".to_owned()
        } else {
            rule.lanes
                .iter()
                .map(|lane| lane.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let text = rule.text.as_ref().map_or_else(String::new, |text| {
            format!("`{}`", text.as_str().replace('|', "\\|"))
        });
        let becomes = match rule.treatment {
            Text(kind) => format!("`[text:{kind}]`"),
            List(kind) => format!("`[list:{kind}]`"),
            Measured => "`[measured]`".to_owned(),
            LeadIn => format!("its beginning, then `{REST}`"),
            Embedded => "the JSON it holds".to_owned(),
            LeftOut => "left out of the comparison".to_owned(),
        };
        let _ = writeln!(
            page,
            "| {lanes} | `{}` | {text} | {becomes} | {} |",
            rule.path.as_str(),
            rule.reason
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_read_and_has_a_reason() {
        assert!(rules().iter().all(|rule| !rule.reason.is_empty()));
    }
}
