//! The client side of the Messages API.

mod client;
mod failure;
mod model;
mod reply;
mod request;
mod retry;

pub(crate) use client::{ReplyStream, StreamFault, fetch_whole_reply, open_stream};
pub(crate) use failure::{ApiFailure, FailureReport};
pub(crate) use model::Model;
pub(crate) use reply::{ReplyAssembler, ReplyStep};
pub(crate) use request::{Features, RequestContext, request_body};
pub(crate) use retry::RetryPlan;
