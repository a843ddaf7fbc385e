//! A turn: from a prompt, or a deferred call that is resumed, to a result.

mod announcement;
mod call;
mod context;
mod continuation;
mod events;
mod model_call;
mod queue;
mod repair;
mod result;
mod run;
mod settle;
mod synthetic_reply;

pub(crate) use context::{hold_prompts, note_mode, note_prompt};
pub(crate) use continuation::resume_deferred_call;
pub(crate) use result::fail_session;
pub(crate) use run::run_prompts;
