//! The CLI as a process: how it is started, what it says and how it is answered.

pub(crate) mod arguments;
mod descendants;
pub(crate) mod environment;
pub(crate) mod frame;
pub(crate) mod process;
mod spawner;
