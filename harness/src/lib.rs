//! Conformance harness for adapters that run Claude Agent SDK agents as durable sessions.

pub mod catalogue;
pub mod cell;
pub mod checks;
pub mod clis;
pub mod commands;
pub mod coverage;
pub mod drift;
mod executable;
pub mod exit;
pub mod installation;
mod interruption;
mod loopback;
pub mod matrix;
pub mod protocol;
pub mod report;
pub mod runners;
pub mod scenario;
pub mod tap;
pub mod trace;
