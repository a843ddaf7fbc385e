//! One request from its arrival to the end of its reply.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use hyper::{HeaderMap, Method, Uri};
use serde_json::Value;

use super::{
    address::Address,
    connection::Cut,
    decision::{Decision, RequestFacts, decide},
    planner::{PlannedBody, PlannedReply},
    response::{Disconnected, PendingResponse},
    state::ServerState,
    writer::{ReplyWriter, pause},
};
use crate::{
    journal::{JournalEntry, Outcome},
    observer::{ApiEvent, Directive, ReplyEnd, RequestIdentity},
    request::{Rejection, presented_key},
    script::{Fault, FaultAction, FaultPoint},
};

/// A request that was read whole.
#[derive(Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// Absent when it is larger than the API accepts.
    pub(crate) body: Option<Bytes>,
}

/// Answers a request and keeps the journal of it.
pub(crate) async fn serve(
    state: Arc<ServerState>,
    received: ReceivedRequest,
    response: PendingResponse,
) {
    let address = Address::new(&received.method, received.uri.path());
    let (body, problem) = parse(received.body.as_deref());
    let body = Arc::new(body);
    let identity = state.record_arrival(journal_entry(&state, &received, &address, &body));
    let request = ServedRequest {
        state: &state,
        identity,
    };
    let end = request
        .run(&received, &address, &body, problem, response)
        .await
        .unwrap_or_else(|end| end);
    request.finish(end).await;
}

/// The body as JSON, or as text together with what the API says to that.
fn parse(body: Option<&[u8]>) -> (Value, Option<Rejection>) {
    let Some(bytes) = body else {
        let rejection = Rejection::new(413, "Request exceeds the maximum size");
        return (Value::Null, Some(rejection));
    };
    match serde_json::from_slice(bytes) {
        Ok(value) => (value, None),
        Err(problem) => (
            Value::String(String::from_utf8_lossy(bytes).into_owned()),
            Some(Rejection::new(
                400,
                format!("The request body is not valid JSON: {problem}"),
            )),
        ),
    }
}

fn journal_entry(
    state: &ServerState,
    received: &ReceivedRequest,
    address: &Address,
    body: &Value,
) -> JournalEntry {
    JournalEntry {
        session: address.session.clone(),
        client: address.client.clone(),
        number: 0,
        method: received.method.to_string(),
        path: path_and_query(&received.uri),
        headers: masked_headers(&received.headers, state.settings.expected_key.as_deref()),
        body: body.clone(),
        outcome: Outcome::Undecided,
        failed_expectations: Vec::new(),
        events: Vec::new(),
        end: None,
    }
}

fn path_and_query(uri: &Uri) -> String {
    uri.path_and_query()
        .map_or_else(|| uri.path().to_owned(), ToString::to_string)
}

/// The headers with every secret replaced.
fn masked_headers(headers: &HeaderMap, expected_key: Option<&str>) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            let shown = match name.as_str() {
                "x-api-key" | "authorization" => {
                    let alone = HeaderMap::from_iter([(name.clone(), value.clone())]);
                    mask_of_key(presented_key(&alone), expected_key).to_owned()
                }
                "cookie" | "proxy-authorization" => "[masked]".to_owned(),
                _ => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            };
            (name.to_string(), shown)
        })
        .collect()
}

fn mask_of_key(key: Option<&str>, expected: Option<&str>) -> &'static str {
    match expected {
        None => "[masked]",
        Some(_) if key == expected => "[expected key]",
        Some(_) => "[unexpected key]",
    }
}

/// The end of a request as the error of each of its parts, so that `?` stops it.
pub(crate) type Continued<T> = Result<T, ReplyEnd>;

impl From<Disconnected> for ReplyEnd {
    fn from(_: Disconnected) -> Self {
        Self::ClientDisconnected
    }
}

/// A request on its way to its end.
pub(crate) struct ServedRequest<'a> {
    pub(crate) state: &'a ServerState,
    pub(crate) identity: RequestIdentity,
}

impl ServedRequest<'_> {
    async fn run(
        &self,
        received: &ReceivedRequest,
        address: &Address,
        body: &Arc<Value>,
        problem: Option<Rejection>,
        response: PendingResponse,
    ) -> Continued<ReplyEnd> {
        let arrived = ApiEvent::RequestArrived {
            request: self.identity.clone(),
            method: received.method.to_string(),
            path: path_and_query(&received.uri),
            body: Arc::clone(body),
        };
        let response = self.consult_before_head(arrived, response).await?;
        let decision = decide(
            self.state,
            &RequestFacts {
                address,
                identity: &self.identity,
                headers: &received.headers,
                body: problem.map_or(Ok(&**body), Err),
            },
        );
        self.state.record_decision(&self.identity, &decision);
        let response = self
            .consult_before_head(self.chosen(&decision), response)
            .await?;
        self.send(&decision.reply, response).await
    }

    fn chosen(&self, decision: &Decision) -> ApiEvent {
        ApiEvent::ReplyChosen {
            request: self.identity.clone(),
            exchange: match decision.outcome {
                Outcome::Answered { exchange, .. } => Some(exchange),
                _ => None,
            },
            status: decision.reply.status.as_u16(),
            events: match &decision.reply.body {
                PlannedBody::Whole(_) => 0,
                PlannedBody::Events(events) => events.len(),
            },
        }
    }

    async fn finish(&self, end: ReplyEnd) {
        self.state.record_end(&self.identity, end);
        self.consult(ApiEvent::Finished {
            request: self.identity.clone(),
            end,
        })
        .await;
    }

    /// Asks the observer how to go on.
    pub(crate) async fn consult(&self, event: ApiEvent) -> Directive {
        match &self.state.settings.observer {
            Some(observer) => observer.observe(event).await,
            None => Directive::Continue,
        }
    }

    async fn consult_before_head(
        &self,
        event: ApiEvent,
        mut response: PendingResponse,
    ) -> Continued<PendingResponse> {
        let directive = tokio::select! {
            directive = self.consult(event) => directive,
            () = response.disconnected() => return Err(ReplyEnd::ClientDisconnected),
        };
        match cut_of(directive) {
            None => Ok(response),
            Some((_, cut)) => {
                response.cut(cut).await;
                Err(ReplyEnd::Cut)
            }
        }
    }

    async fn send(
        &self,
        reply: &PlannedReply,
        mut response: PendingResponse,
    ) -> Continued<ReplyEnd> {
        tokio::select! {
            () = pause(reply.delay_ms) => {}
            () = response.disconnected() => return Err(ReplyEnd::ClientDisconnected),
        }
        let response = strike_before_head(reply.fault.as_ref(), response).await?;
        let response = response.start(reply.status, reply.headers.clone()).await?;
        let mut writer = ReplyWriter::new(self, response, reply);
        writer.write_body().await?;
        // Whoever has read the response to its end must find the end in the journal.
        self.state.record_end(&self.identity, ReplyEnd::Completed);
        Ok(ReplyEnd::Completed)
    }
}

/// Strikes where not even the headers are sent; what needs a response cannot strike there.
async fn strike_before_head(
    fault: Option<&Fault>,
    mut response: PendingResponse,
) -> Continued<PendingResponse> {
    let Some(fault) = fault.filter(|fault| fault.after == FaultPoint::Request) else {
        return Ok(response);
    };
    match fault.then {
        FaultAction::Reset => response.cut(Cut::Reset).await,
        FaultAction::Close => response.cut(Cut::Close).await,
        FaultAction::Stall => response.disconnected().await,
        FaultAction::Error(_) | FaultAction::Garbage(_) | FaultAction::PauseMs(_) => {
            return Ok(response);
        }
    }
    Err(ReplyEnd::ScriptedFault)
}

/// How many bytes of the coming event are still sent before a cut, and which cut it is.
pub(crate) fn cut_of(directive: Directive) -> Option<(usize, Cut)> {
    match directive {
        Directive::Continue => None,
        Directive::Reset => Some((0, Cut::Reset)),
        Directive::Close => Some((0, Cut::Close)),
        Directive::Truncate { bytes, reset } => {
            Some((bytes, if reset { Cut::Reset } else { Cut::Close }))
        }
    }
}
