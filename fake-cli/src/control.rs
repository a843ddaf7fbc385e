//! The control protocol: requests to the host, and the host's requests to the program.

mod host;
mod inbound;
mod requests;

pub(crate) use host::{Host, HostError};
pub(crate) use inbound::{answer_initializes, answer_interrupts, connect, handle};
