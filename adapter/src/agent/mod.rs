//! What the application brings: options, tools, policies and hooks.

pub(crate) mod built_in;
pub(crate) mod connector;
pub(crate) mod definition;
pub(crate) mod hook;
pub(crate) mod options;
pub(crate) mod policy;
pub(crate) mod sabotage;
pub(crate) mod session_options;
pub(crate) mod tool;
