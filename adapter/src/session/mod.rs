//! What a session is: its state, what may happen to it, and what follows. Nothing here touches a
//! process, a clock or a disk.

pub(crate) mod event;
pub(crate) mod export;
pub(crate) mod message;
pub(crate) mod note;
pub(crate) mod record;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod step;
mod transition;

#[cfg(test)]
mod properties;
