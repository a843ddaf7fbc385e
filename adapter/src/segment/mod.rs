//! One segment of a turn: one run of the CLI, from its start to its result.

mod answer;
mod calls;
pub(crate) mod conversation;
mod delta;
mod gate;
mod hooks;
mod mirror;
mod pending;
pub(crate) mod run;
mod transcript;
