//! Planning the response to a request.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;

use super::decision::Decision;
use crate::{
    identity::ReplyIdentity,
    journal::Outcome,
    reply::{RenderedMessage, WireEvent, message_events, scripted_events},
    request::{History, Rejection, failed_expectations},
    script::{
        ErrorDetail, Fault, MessageReply, Reply, Script, StatusBody, StatusReply, StreamOptions,
    },
};

/// A response before it is sent.
#[derive(Debug)]
pub(crate) struct PlannedReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: PlannedBody,
    pub(crate) delay_ms: u64,
    pub(crate) stream: StreamOptions,
    pub(crate) fault: Option<Fault>,
}

/// The body of a response before it is sent.
#[derive(Debug)]
pub(crate) enum PlannedBody {
    /// Sent in one piece, with its length.
    Whole(Bytes),
    /// Sent event by event.
    Events(Vec<WireEvent>),
}

/// An exchange that answers a request.
pub(crate) struct Answer<'a> {
    pub(crate) script: &'a Script,
    pub(crate) exchange: usize,
    pub(crate) attempt: usize,
    pub(crate) occurrence: usize,
    pub(crate) history: &'a History<'a>,
}

/// Plans the responses to one request.
pub(crate) struct Planner {
    pub(crate) request_id: String,
}

impl Planner {
    pub(crate) fn answered(&self, answer: &Answer<'_>) -> Decision {
        let exchange = &answer.script.exchanges()[answer.exchange];
        let identity = ReplyIdentity::new(
            answer.exchange,
            exchange.reply.position(answer.attempt),
            answer.occurrence,
        );
        let mut failed = failed_expectations(&exchange.expect, answer.history);
        let mut message_id = None;
        let reply = match exchange.reply.attempt(answer.attempt) {
            Reply::Message(reply) => {
                let rendered = RenderedMessage::new(reply, identity, answer.history);
                failed.extend(rendered.doubts.iter().cloned());
                message_id = Some(rendered.id.clone());
                self.message(reply, &rendered, answer.history.asks_for_stream())
            }
            Reply::Status(reply) => self.status(reply),
            Reply::Events(reply) => PlannedReply {
                body: PlannedBody::Events(scripted_events(&reply.events, &reply.stream)),
                delay_ms: reply.delay_ms,
                stream: reply.stream.clone(),
                fault: reply.fault.clone(),
                ..self.stream(&reply.headers)
            },
        };
        Decision {
            outcome: Outcome::Answered {
                exchange: answer.exchange + 1,
                attempt: answer.attempt + 1,
                message_id,
                status: reply.status.as_u16(),
            },
            failed_expectations: failed,
            reply,
        }
    }

    fn message(
        &self,
        reply: &MessageReply,
        rendered: &RenderedMessage,
        asks_for_stream: bool,
    ) -> PlannedReply {
        let planned = if asks_for_stream {
            PlannedReply {
                body: PlannedBody::Events(message_events(rendered, &reply.stream)),
                ..self.stream(&reply.headers)
            }
        } else {
            self.json(StatusCode::OK, &rendered.whole(), &reply.headers)
        };
        PlannedReply {
            delay_ms: reply.delay_ms,
            stream: reply.stream.clone(),
            fault: reply.fault.clone(),
            ..planned
        }
    }

    fn status(&self, reply: &StatusReply) -> PlannedReply {
        // The script's reader refuses statuses outside 200 to 599; a hand-built one may be anything.
        let status =
            StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let planned = match &reply.body {
            StatusBody::Error(error) => {
                self.json(status, &error.envelope(&self.request_id), &reply.headers)
            }
            StatusBody::Text(text) => self.whole(
                status,
                Bytes::from(text.clone()),
                text_type(text),
                &reply.headers,
            ),
        };
        PlannedReply {
            delay_ms: reply.delay_ms,
            fault: reply.fault.clone(),
            ..planned
        }
    }

    pub(crate) fn served(&self, body: &Value) -> Decision {
        Decision {
            outcome: Outcome::Served,
            failed_expectations: Vec::new(),
            reply: self.json(StatusCode::OK, body, &BTreeMap::new()),
        }
    }

    pub(crate) fn unanswered(&self, message: String) -> Decision {
        let error = ErrorDetail::new("permission_error", message.clone());
        Decision {
            outcome: Outcome::Unanswered { message },
            failed_expectations: Vec::new(),
            reply: self.final_error(StatusCode::FORBIDDEN, &error),
        }
    }

    pub(crate) fn rejected(&self, rejection: &Rejection) -> Decision {
        let status =
            StatusCode::from_u16(rejection.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Decision {
            outcome: Outcome::Rejected {
                status: rejection.status,
                message: rejection.error.message.clone(),
            },
            failed_expectations: Vec::new(),
            reply: self.final_error(status, &rejection.error),
        }
    }

    /// An error that the client is told not to retry, as the real API tells it.
    fn final_error(&self, status: StatusCode, error: &ErrorDetail) -> PlannedReply {
        let headers = BTreeMap::from([("x-should-retry".to_owned(), "false".to_owned())]);
        self.json(status, &error.envelope(&self.request_id), &headers)
    }

    fn json(
        &self,
        status: StatusCode,
        body: &Value,
        headers: &BTreeMap<String, String>,
    ) -> PlannedReply {
        self.whole(status, body.to_string().into(), "application/json", headers)
    }

    fn whole(
        &self,
        status: StatusCode,
        body: Bytes,
        content_type: &'static str,
        scripted: &BTreeMap<String, String>,
    ) -> PlannedReply {
        let mut headers = self.usual_headers(content_type);
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        apply_headers(&mut headers, scripted);
        PlannedReply {
            status,
            headers,
            body: PlannedBody::Whole(body),
            delay_ms: 0,
            stream: StreamOptions::default(),
            fault: None,
        }
    }

    fn stream(&self, scripted: &BTreeMap<String, String>) -> PlannedReply {
        let mut headers = self.usual_headers("text/event-stream; charset=utf-8");
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        apply_headers(&mut headers, scripted);
        PlannedReply {
            status: StatusCode::OK,
            headers,
            body: PlannedBody::Events(Vec::new()),
            delay_ms: 0,
            stream: StreamOptions::default(),
            fault: None,
        }
    }

    fn usual_headers(&self, content_type: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            headers.insert(HeaderName::from_static("request-id"), id);
        }
        headers
    }
}

fn text_type(text: &str) -> &'static str {
    let start = text.trim_start();
    if start.starts_with('<') {
        "text/html"
    } else if start.starts_with(['{', '[']) {
        "application/json"
    } else {
        "text/plain"
    }
}

/// Sets the headers of a script; an empty value removes the header.
fn apply_headers(headers: &mut HeaderMap, scripted: &BTreeMap<String, String>) {
    for (name, value) in scripted {
        let Ok(name) = HeaderName::try_from(name) else {
            continue;
        };
        match HeaderValue::from_str(value) {
            Ok(value) if !value.is_empty() => {
                headers.insert(name, value);
            }
            _ => {
                headers.remove(name);
            }
        }
    }
}
