//! A scripted host: starts a CLI, speaks stream-json with it as a case says, and writes down what it sees.

mod answers;
mod conversation;
mod process;
mod run;
mod server;

pub(in crate::drift) use conversation::IN_VAIN;
pub(in crate::drift) use process::{Happening, Spawn};
pub(in crate::drift) use run::converse;
