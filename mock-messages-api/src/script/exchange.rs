//! A script and its exchanges.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Block, Reply, ReplyAttempts, RequestExpectation, TextMatch};

/// What the API answers: a list of exchanges, each a request and its reply.
///
/// Which exchange answers is decided by what the request carries, so a retry or a rerun gets the same reply again.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Script {
    pub(crate) exchanges: Vec<Exchange>,
}

impl Script {
    /// A script that answers nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an exchange.
    #[must_use]
    pub fn exchange(mut self, exchange: Exchange) -> Self {
        self.exchanges.push(exchange);
        self
    }

    /// The exchanges in order.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }
}

impl From<Vec<Exchange>> for Script {
    fn from(exchanges: Vec<Exchange>) -> Self {
        Self { exchanges }
    }
}

/// A request and the reply to it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Answers the request whose last user text is this one. Without it, the exchange follows the one before it:
    /// it answers the request whose history ends with that exchange's reply.
    #[serde(default)]
    pub user: Option<TextMatch>,
    /// Narrows the choice further; all of it must hold.
    #[serde(default)]
    pub when: RequestCondition,
    /// What is asserted of the request.
    #[serde(default)]
    pub expect: RequestExpectation,
    /// The reply.
    pub reply: ReplyAttempts,
    /// Whether the verification accepts that the exchange was never asked for.
    #[serde(default)]
    pub optional: bool,
}

impl Exchange {
    /// An exchange that answers the request whose last user text is `text`.
    pub fn user(text: impl Into<TextMatch>, reply: impl Into<ReplyAttempts>) -> Self {
        Self {
            user: Some(text.into()),
            ..Self::follows(reply)
        }
    }

    /// An exchange that follows the one before it.
    pub fn follows(reply: impl Into<ReplyAttempts>) -> Self {
        Self {
            user: None,
            when: RequestCondition::default(),
            expect: RequestExpectation::default(),
            reply: reply.into(),
            optional: false,
        }
    }

    /// Adds assertions about the request.
    #[must_use]
    pub fn expect(mut self, expectation: RequestExpectation) -> Self {
        self.expect = expectation;
        self
    }

    /// Accepts that the exchange is never asked for.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// What else a request must carry to be answered by an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestCondition {
    /// The model that is asked.
    pub model: Option<TextMatch>,
    /// The system prompt, all its text blocks joined by line breaks.
    pub system: Option<TextMatch>,
    /// Whether a stream is asked for.
    pub stream: Option<bool>,
    /// Whether the request offers any tool.
    pub has_tools: Option<bool>,
}

impl From<Vec<Block>> for ReplyAttempts {
    fn from(content: Vec<Block>) -> Self {
        Reply::from(content).into()
    }
}

impl<const N: usize> From<[Block; N]> for ReplyAttempts {
    fn from(content: [Block; N]) -> Self {
        Vec::from(content).into()
    }
}
