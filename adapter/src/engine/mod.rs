//! What runs a session's Steps durably.

pub(crate) mod contract;
pub(crate) mod embedded;
pub(crate) mod performer;
