//! Whether a session went as its script says.

use std::fmt;

/// What did not go as the script says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct VerificationError {
    /// The session.
    pub session: String,
    /// One line for each thing, in the order of the requests, then of the exchanges.
    pub problems: Vec<String>,
}

impl fmt::Display for VerificationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "session `{}` departed from its script:",
            self.session
        )?;
        self.problems
            .iter()
            .try_for_each(|problem| write!(formatter, "\n  - {problem}"))
    }
}
