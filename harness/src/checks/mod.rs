//! Checks: what is held against the trace of a cell when its steps are done.
//!
//! A check reads the plan and the trace and nothing else. The table in `table` is the one list: it
//! feeds the verdict, `harness explain`, and the tests that turn each check red.

mod approval;
mod conversation;
mod expectation;
mod keys;
mod requests;
mod surroundings;
mod table;
mod transcript;
mod view;

pub use table::{CHECKS, Check, find};
pub(crate) use table::{Judgement, judge};
