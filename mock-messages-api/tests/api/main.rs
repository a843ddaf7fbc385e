//! The server as its clients see it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connection;
mod faults;
mod fixture;
mod journal;
mod limits;
mod observing;
mod readme;
mod refusals;
mod selection;
mod streaming;
