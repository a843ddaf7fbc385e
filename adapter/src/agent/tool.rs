//! Custom tools: what the model is offered, and the handler behind it.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::agent::policy::ToolEffect;

/// Hints about a tool, in the sense of the Model Context Protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// A title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating a call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches beyond a closed world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// The effect that the hints name, if they name one.
    pub(crate) fn effect(&self) -> Option<ToolEffect> {
        if self.read_only_hint == Some(true) {
            Some(ToolEffect::Read)
        } else if self.idempotent_hint == Some(true) {
            Some(ToolEffect::IdempotentWrite)
        } else {
            None
        }
    }
}

/// One content block of a tool's result, as the Model Context Protocol writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolContent(Value);

impl ToolContent {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self(json!({"type": "text", "text": text.into()}))
    }

    /// A block of any kind, given as its JSON form.
    #[must_use]
    pub fn from_json(block: Value) -> Self {
        Self(block)
    }

    /// The JSON form of the block.
    #[must_use]
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// What a record keeps of the block: its text, or a placeholder naming its kind.
    fn recorded(&self) -> String {
        match (self.0["type"].as_str(), self.0["text"].as_str()) {
            (Some("text"), Some(text)) => text.to_owned(),
            (Some(kind), _) => format!("[{kind} content omitted]"),
            (None, _) => "[content omitted]".to_owned(),
        }
    }
}

/// What a tool's handler gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The result's content blocks.
    pub content: Vec<ToolContent>,
    /// Whether the tool says of itself that it failed.
    pub is_error: bool,
}

impl ToolOutput {
    /// A successful result of one text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![ToolContent::text(text)],
            is_error: false,
        }
    }

    /// A failure that the tool itself reports.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            content: vec![ToolContent::text(text)],
            is_error: true,
        }
    }

    /// The text that a record keeps of this result.
    pub(crate) fn recorded_text(&self) -> String {
        let blocks: Vec<String> = self.content.iter().map(ToolContent::recorded).collect();
        blocks.join("\n")
    }
}

/// A handler that raised: it is not known whether the tool took effect.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    message: String,
}

impl ToolError {
    /// An error with a message for the record and the log.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Runs the calls of one tool.
#[async_trait]
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs one call.
    ///
    /// # Errors
    ///
    /// An error says that the handler raised, so that nobody knows whether the call took effect;
    /// a failure that the tool itself can vouch for is [`ToolOutput::error`].
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError>;
}

struct FunctionHandler<F>(F);

#[async_trait]
impl<F, R> ToolHandler for FunctionHandler<F>
where
    F: Fn(Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, ToolError>> + Send,
{
    async fn call(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        (self.0)(arguments).await
    }
}

/// A tool that the model is offered and the application runs.
#[derive(Clone)]
pub struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Map<String, Value>,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) handler: Arc<dyn ToolHandler>,
    pub(crate) always_leaves_turn: bool,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool whose input is described by a JSON Schema.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Map<String, Value>,
        handler: impl ToolHandler,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema,
            annotations: ToolAnnotations::default(),
            handler: Arc::new(handler),
            always_leaves_turn: false,
        }
    }

    /// A tool whose input is a Rust type; the JSON Schema is derived from it.
    #[must_use]
    pub fn typed<Input, F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Self
    where
        Input: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(Input) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        let schema = schemars::schema_for!(Input)
            .as_object()
            .cloned()
            .unwrap_or_default();
        let handler = Arc::new(handler);
        Self::new(
            name,
            description,
            schema,
            FunctionHandler(move |arguments: Value| {
                let handler = Arc::clone(&handler);
                async move { handler(serde_json::from_value(arguments)?).await }
            }),
        )
    }

    /// Adds hints; without a policy they classify the tool.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// The tool's name inside the CLI.
    pub(crate) fn cli_name(&self) -> String {
        format!(
            "mcp__{}__{}",
            crate::agent::policy::TOOL_SERVER_NAME,
            self.name
        )
    }

    /// Why the arguments do not fit the input schema, if they do not.
    pub(crate) fn validation_error(&self, arguments: &Value) -> Option<String> {
        let schema = Value::Object(self.input_schema.clone());
        match jsonschema::validator_for(&schema) {
            Ok(validator) => validator
                .iter_errors(arguments)
                .next()
                .map(|error| error.to_string()),
            Err(error) => Some(format!("the tool's input schema is not valid: {error}")),
        }
    }
}

/// What a handler may know about the tool Step it runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeferredToolExecution {
    /// Opaque; the same for all attempts of one call, different for every call.
    pub idempotency_key: String,
    /// Counts from 1.
    pub attempt: u32,
    /// The model's id of the call.
    pub tool_use_id: String,
}

tokio::task_local! {
    static EXECUTION: Option<DeferredToolExecution>;
}

/// The tool Step that the calling handler runs in, or `None` in an inline read.
#[must_use]
pub fn current_deferred_tool_execution() -> Option<DeferredToolExecution> {
    EXECUTION.try_with(Clone::clone).unwrap_or_default()
}

/// Runs a handler so that it can see the tool Step it belongs to.
pub(crate) async fn within_execution<R>(
    execution: Option<DeferredToolExecution>,
    call: impl Future<Output = R>,
) -> R {
    EXECUTION.scope(execution, call).await
}
