//! What a script asserts about the request it answers.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{OneOrMany, Pattern, TextMatch};

/// What must be true of the request that an exchange answers.
///
/// A failed expectation is journalled and fails the verification; the reply is given all the same.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestExpectation {
    /// A tool result, or several, in the last user turn.
    pub tool_result: OneOrMany<ToolResultExpectation>,
    /// How many tool results the last user turn holds.
    pub tool_result_count: Option<usize>,
    /// The last text of the user.
    pub user: Option<TextMatch>,
    /// The system prompt, all its text blocks joined by line breaks.
    pub system: Option<TextMatch>,
    /// The model that is asked.
    pub model: Option<TextMatch>,
    /// Tools that the request offers, by exact name or by name without `mcp__<server>__`.
    pub tools: Option<Vec<String>>,
    /// Tools that the request must not offer, named alike.
    pub no_tools: Option<Vec<String>>,
    /// Whether a stream is asked for.
    pub stream: Option<bool>,
}

/// What must be true of one tool result.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolResultExpectation {
    /// The call it answers: the tool's name as in `call:`, or a tool use id. Any result when absent.
    pub of: Option<String>,
    /// Its whole text.
    pub equals: Option<String>,
    /// A part of its text.
    pub contains: Option<String>,
    /// A pattern found in its text.
    pub matches: Option<Pattern>,
    /// Whether it is marked as an error (a missing mark counts as `false`).
    pub is_error: Option<bool>,
}
