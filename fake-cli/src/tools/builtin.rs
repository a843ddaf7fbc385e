//! The built-in tools.

mod bash;
mod edit;
mod paths;
mod read;
mod search;
mod write;

use serde_json::{Value, json};

use crate::permissions::Allowance;
use crate::session::Session;

/// One built-in tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Bash,
    Edit,
    Glob,
    Grep,
    Read,
    Write,
}

/// What a built-in tool came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BuiltinOutcome {
    Success {
        /// The content of the `tool_result` block.
        content: Value,
        /// The structured result that hosts and hooks see.
        structured: Value,
        /// Whether the block says `is_error: false` in so many words.
        states_success: bool,
    },
    Error(String),
}

impl Builtin {
    /// Every tool, in the order in which they are listed.
    pub(crate) const ALL: [Self; 6] = [
        Self::Bash,
        Self::Edit,
        Self::Glob,
        Self::Grep,
        Self::Read,
        Self::Write,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bash => "Bash",
            Self::Edit => "Edit",
            Self::Glob => "Glob",
            Self::Grep => "Grep",
            Self::Read => "Read",
            Self::Write => "Write",
        }
    }

    pub(crate) fn is_read_only(self) -> bool {
        matches!(self, Self::Glob | Self::Grep | Self::Read)
    }

    /// The tool as the model is told about it.
    pub(crate) fn definition(self) -> Value {
        let parameters = self.parameters();
        let properties: serde_json::Map<String, Value> = parameters
            .iter()
            .map(|parameter| (parameter.name.to_owned(), parameter.schema()))
            .collect();
        let required: Vec<&str> = parameters
            .iter()
            .filter(|parameter| parameter.required)
            .map(|parameter| parameter.name)
            .collect();
        json!({
            "name": self.name(),
            "description": self.about(),
            "input_schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
        })
    }

    fn about(self) -> &'static str {
        match self {
            Self::Bash => "Runs a shell command in the working directory.",
            Self::Edit => "Replaces a text in a file.",
            Self::Glob => "Lists files whose path matches a pattern.",
            Self::Grep => "Searches file contents for a regular expression.",
            Self::Read => "Reads a file.",
            Self::Write => "Writes a file.",
        }
    }

    fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Bash => bash::PARAMETERS,
            Self::Edit => edit::PARAMETERS,
            Self::Glob => search::GLOB_PARAMETERS,
            Self::Grep => search::GREP_PARAMETERS,
            Self::Read => read::PARAMETERS,
            Self::Write => write::PARAMETERS,
        }
    }

    /// A call's input as it is shown and recorded.
    pub(crate) fn complete(self, input: &Value) -> Value {
        match self {
            Self::Edit if validate(self, input).is_ok() => edit::complete(input),
            _ => input.clone(),
        }
    }

    /// Checks an input before any hook sees it, and fills in defaults.
    ///
    /// # Errors
    /// What model and host are told.
    pub(crate) fn prepare(self, session: &Session, input: &Value) -> Result<Value, Refusal> {
        validate(self, input)?;
        match self {
            Self::Bash => bash::prepare(input),
            Self::Edit => {
                edit::prepare(session, input).map_err(|text| Refusal { text, told: None })
            }
            _ => Ok(input.clone()),
        }
    }

    /// What the call needs when nobody decides (observed on CLI 2.1.316).
    pub(crate) fn allowance(self, session: &Session, input: &Value) -> Allowance {
        match self {
            Self::Bash => bash::allowance(session, input),
            Self::Edit | Self::Write => paths::write_allowance(session, input),
            Self::Glob | Self::Grep | Self::Read => paths::read_allowance(session, input),
        }
    }

    /// What a question about the call says that it is about.
    pub(crate) fn asked_about(self, session: &Session, input: &Value) -> Option<Value> {
        match self {
            Self::Bash => input.get("description").cloned(),
            Self::Edit | Self::Glob | Self::Grep | Self::Read | Self::Write => {
                paths::asked_about(session, input)
            }
        }
    }

    /// Runs the call.
    pub(crate) async fn run(self, session: &Session, input: &Value) -> BuiltinOutcome {
        match self {
            Self::Bash => bash::run(session, input).await,
            Self::Edit => edit::run(session, input),
            Self::Glob => search::glob(session, input),
            Self::Grep => search::grep(session, input),
            Self::Read => read::run(session, input),
            Self::Write => write::run(session, input),
        }
    }
}

/// One member of a tool's input.
#[derive(Debug)]
struct Parameter {
    name: &'static str,
    kind: &'static str,
    required: bool,
    about: &'static str,
    /// Bounds of a number.
    bounds: &'static [(&'static str, u64)],
}

impl Parameter {
    /// Counts are bounded; some have a default or a closed set of values (observed on CLI 2.1.316).
    fn schema(&self) -> Value {
        let mut schema = json!({"description": self.about, "type": self.kind});
        for (member, value) in self.bounds {
            schema[*member] = json!(value);
        }
        match self.name {
            "replace_all" => schema["default"] = json!(false),
            "output_mode" => schema["enum"] = json!(["content", "files_with_matches", "count"]),
            _ => {}
        }
        schema
    }
}

const fn required(name: &'static str, kind: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        required: true,
        about,
        bounds: &[],
    }
}

const fn optional(name: &'static str, kind: &'static str, about: &'static str) -> Parameter {
    Parameter {
        name,
        kind,
        required: false,
        about,
        bounds: &[],
    }
}

/// The largest whole number that JavaScript counts with.
const LARGEST_INTEGER: u64 = 9_007_199_254_740_991;

const fn counted(
    name: &'static str,
    about: &'static str,
    bounds: &'static [(&'static str, u64)],
) -> Parameter {
    Parameter {
        name,
        kind: "integer",
        required: false,
        about,
        bounds,
    }
}

/// Why a call cannot even be asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The text of the `tool_result`.
    pub(crate) text: String,
    /// What hosts are told in its place; the same without tags if absent.
    pub(crate) told: Option<String>,
}

/// Refuses inputs that the schema refuses, with the texts of the real program.
fn validate(tool: Builtin, input: &Value) -> Result<(), Refusal> {
    let mut issues = Vec::new();
    let parameters = tool.parameters();
    for parameter in parameters.iter().filter(|parameter| parameter.required) {
        if input.get(parameter.name).is_none() {
            issues.push(format!(
                "The required parameter `{}` is missing",
                parameter.name
            ));
        }
    }
    for (name, value) in input.as_object().into_iter().flatten() {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            issues.push(format!("An unexpected parameter `{name}` was provided"));
            continue;
        };
        let fits = match parameter.kind {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64() || value.is_i64(),
            _ => value.is_number(),
        };
        if !fits {
            issues.push(format!(
                "The parameter `{name}` type is expected as `{}` but provided as `{}`",
                parameter.kind,
                kind_of(value)
            ));
        }
    }
    if issues.is_empty() {
        return Ok(());
    }
    let plural = if issues.len() == 1 { "issue" } else { "issues" };
    let dump: Vec<Value> = issues
        .iter()
        .map(|issue| json!({"message": issue}))
        .collect();
    Err(Refusal {
        text: format!(
            "<tool_use_error>InputValidationError: {} failed due to the following {plural}:\n{}\
             </tool_use_error>",
            tool.name(),
            issues.join("\n")
        ),
        told: Some(format!("InputValidationError: {}", Value::Array(dump))),
    })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
