//! Conformance harness for adapters that run Claude Agent SDK agents as durable sessions.

pub mod catalogue;
pub mod cell;
pub mod protocol;
pub mod scenario;
pub mod trace;
