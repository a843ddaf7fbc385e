//! A turn: from a prompt, or a deferred call that is resumed, to a result.

mod call;
mod context;
mod continuation;
mod events;
mod model_call;
mod queue;
mod result;
mod run;
mod settle;

pub(crate) use context::{note_mode, note_prompt};
pub(crate) use continuation::resume_deferred_call;
pub(crate) use result::fail_session;
pub(crate) use run::run_prompts;
