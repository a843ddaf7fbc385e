//! The control protocol: requests to the host, and the host's requests to the program.

mod host;
mod inbound;

pub(crate) use host::{Host, HostError};
pub(crate) use inbound::{answer_initializes, connect, handle};
