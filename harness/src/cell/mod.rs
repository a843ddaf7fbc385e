//! One cell: a scenario on a runner and a CLI, run in a process of its own.

mod request;

pub use request::*;
