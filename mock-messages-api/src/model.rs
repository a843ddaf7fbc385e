//! Models and their limits.

/// A model that the server knows, with the limits that the real API checks requests against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub(crate) id: String,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) accepts_prefill: bool,
}

impl Model {
    /// A model without limits.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            max_output_tokens: None,
            context_tokens: None,
            accepts_prefill: true,
        }
    }

    /// The largest `max_tokens` that the model accepts.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// The largest request that the model accepts, by the server's rough count of tokens.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u64) -> Self {
        self.context_tokens = Some(tokens);
        self
    }

    /// Refuses requests that end with the assistant.
    #[must_use]
    pub fn without_prefill(mut self) -> Self {
        self.accepts_prefill = false;
        self
    }
}
