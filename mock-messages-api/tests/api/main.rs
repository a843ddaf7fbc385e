//! The server as its clients see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod faults;
mod fixture;
mod journal;
mod observing;
mod refusals;
mod selection;
mod streaming;
