//! The client side of the Messages API.

mod client;
mod error_message;
mod failure;
mod failure_report;
mod model;
mod reply;
mod request;
mod retry;

pub(crate) use client::{ReplyStream, RequestHead, StreamFault, fetch_whole_reply, open_stream};
pub(crate) use failure::ApiFailure;
pub(crate) use failure_report::FailureReport;
pub(crate) use model::Model;
pub(crate) use reply::{ReplyAssembler, ReplyStep};
pub(crate) use request::{Features, RequestContext, request_body};
pub(crate) use retry::RetryPlan;
