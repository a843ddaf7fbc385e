//! One SQLite file, any number of processes on one machine.

mod bell;
mod claim;
mod database;
pub(crate) mod engine;
mod event_log;
mod liveness;
mod rows;
mod set_aside;
mod worker;

#[cfg(test)]
mod tests;
