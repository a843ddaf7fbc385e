//! The application's own hooks.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::agent::tool::ToolError;

/// Answers one kind of hook event of the CLI.
#[async_trait]
pub trait HookHandler: Send + Sync + 'static {
    /// Takes the CLI's hook input and gives the hook's output.
    ///
    /// # Errors
    ///
    /// A `PreToolUse` hook that fails closes the gate: the call is denied and does not run.
    async fn call(&self, input: Value) -> Result<Value, ToolError>;
}

/// A hook that the application registers.
#[derive(Clone)]
pub struct ApplicationHook {
    pub(crate) event: String,
    pub(crate) matcher: Option<String>,
    pub(crate) handler: Arc<dyn HookHandler>,
}

impl ApplicationHook {
    /// A hook for the named event, such as `PreToolUse` or `PostToolUse`.
    ///
    /// The matcher is the CLI's: a tool name or a regular expression; `None` matches everything.
    #[must_use]
    pub fn new(
        event: impl Into<String>,
        matcher: Option<String>,
        handler: impl HookHandler,
    ) -> Self {
        Self {
            event: event.into(),
            matcher,
            handler: Arc::new(handler),
        }
    }
}

impl std::fmt::Debug for ApplicationHook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ApplicationHook")
            .field("event", &self.event)
            .field("matcher", &self.matcher)
            .finish_non_exhaustive()
    }
}
