//! The server as its clients see it.

mod faults;
mod fixture;
mod journal;
mod observing;
mod refusals;
mod selection;
mod streaming;
