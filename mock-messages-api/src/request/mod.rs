//! What a request carries: its history, and whether the real API would accept it.

mod expectation;
mod history;
mod model_limits;
mod validation;

pub(crate) use expectation::failed_expectations;
pub(crate) use history::{History, Turn, tool_is_called};
pub(crate) use model_limits::validate_model;
pub(crate) use validation::{Rejection, presented_key, validate_body, validate_headers};
