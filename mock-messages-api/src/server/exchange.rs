//! One request from its arrival to the end of its reply.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use hyper::{HeaderMap, Method, Uri};
use serde_json::Value;

use super::{
    address::Address,
    connection::Cut,
    decision::{Decision, PlannedBody, PlannedReply, RequestFacts, decide},
    response::{Disconnected, OpenResponse, PendingResponse},
    state::ServerState,
};
use crate::{
    journal::{JournalEntry, Outcome},
    observer::{ApiEvent, Directive, ReplyEnd, RequestIdentity},
    reply::{WireEvent, error_event},
    request::presented_key,
    script::{Fault, FaultAction, FaultPoint, StreamOptions},
};

/// A request that was read whole.
#[derive(Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Answers a request and keeps the journal of it.
pub(crate) async fn serve(
    state: Arc<ServerState>,
    received: ReceivedRequest,
    response: PendingResponse,
) {
    let address = Address::new(&received.method, received.uri.path());
    let parsed = serde_json::from_slice::<Value>(&received.body);
    let problem = parsed.as_ref().err().map(ToString::to_string);
    let body =
        Arc::new(parsed.unwrap_or_else(|_| {
            Value::String(String::from_utf8_lossy(&received.body).into_owned())
        }));
    let identity = state.record_arrival(journal_entry(&state, &received, &address, &body));
    let exchange = Exchange {
        state: &state,
        identity,
    };
    let end = exchange
        .run(&received, &address, &body, problem.as_deref(), response)
        .await
        .unwrap_or_else(|end| end);
    exchange.finish(end).await;
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

/// The end of an exchange as the error of each of its parts, so that `?` stops it.
type Continued<T> = Result<T, ReplyEnd>;

impl From<Disconnected> for ReplyEnd {
    fn from(_: Disconnected) -> Self {
        Self::ClientDisconnected
    }
}

struct Exchange<'a> {
    state: &'a ServerState,
    identity: RequestIdentity,
}

impl Exchange<'_> {
    async fn run(
        &self,
        received: &ReceivedRequest,
        address: &Address,
        body: &Arc<Value>,
        problem: Option<&str>,
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
                body: problem.map_or(Ok(body), Err),
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

    async fn consult(&self, event: ApiEvent) -> Directive {
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
        if let Some(Fault {
            after: FaultPoint::Request,
            then,
        }) = &reply.fault
        {
            match then {
                FaultAction::Close => response.cut(Cut::Close).await,
                FaultAction::Stall => response.disconnected().await,
                FaultAction::Reset | FaultAction::Error(_) | FaultAction::Garbage(_) => {
                    response.cut(Cut::Reset).await;
                }
            }
            return Err(ReplyEnd::ScriptedFault);
        }
        let response = response.start(reply.status, reply.headers.clone()).await?;
        let mut writer = ReplyWriter {
            exchange: self,
            response,
            options: &reply.stream,
            fault: reply.fault.as_ref(),
            sent: 0,
            buffered: BytesMut::new(),
        };
        writer.write_body(&reply.body).await?;
        // Whoever has read the response to its end must find the end in the journal.
        self.state.record_end(&self.identity, ReplyEnd::Completed);
        Ok(ReplyEnd::Completed)
    }
}

async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}

/// How many bytes of the coming event are still sent before a cut, and which cut it is.
fn cut_of(directive: Directive) -> Option<(usize, Cut)> {
    match directive {
        Directive::Continue => None,
        Directive::Reset => Some((0, Cut::Reset)),
        Directive::Close => Some((0, Cut::Close)),
        Directive::Truncate { bytes, reset } => {
            Some((bytes, if reset { Cut::Reset } else { Cut::Close }))
        }
    }
}

/// Writes a body, and strikes where the script or an observer says.
struct ReplyWriter<'a> {
    exchange: &'a Exchange<'a>,
    response: OpenResponse,
    options: &'a StreamOptions,
    /// The fault, until it has struck.
    fault: Option<&'a Fault>,
    /// Bytes of the body so far, also those that are still buffered.
    sent: usize,
    /// Bytes that wait for a write of the wanted size.
    buffered: BytesMut,
}

impl ReplyWriter<'_> {
    async fn write_body(&mut self, body: &PlannedBody) -> Continued<()> {
        self.strike_at(&FaultPoint::Headers).await?;
        match body {
            PlannedBody::Whole(bytes) => {
                self.strike_at(&FaultPoint::Events(0)).await?;
                self.write(bytes).await?;
            }
            PlannedBody::Events(events) => self.write_events(events).await?,
        }
        self.flush().await?;
        match self.fault {
            // A point past the end is the end.
            Some(fault) => self.strike(fault).await,
            None => Ok(()),
        }
    }

    async fn write_events(&mut self, events: &[WireEvent]) -> Continued<()> {
        for (index, event) in events.iter().enumerate() {
            self.strike_at(&FaultPoint::Events(index)).await?;
            self.consult(index, event).await?;
            self.pause_before_event().await?;
            self.write(&event.bytes).await?;
            self.exchange
                .state
                .record_event(&self.exchange.identity, &event.kind);
        }
        Ok(())
    }

    async fn consult(&mut self, index: usize, event: &WireEvent) -> Continued<()> {
        let question = ApiEvent::BeforeEvent {
            request: self.exchange.identity.clone(),
            index,
            event_type: event.kind.clone(),
        };
        let directive = tokio::select! {
            directive = self.exchange.consult(question) => directive,
            () = self.response.disconnected() => return Err(ReplyEnd::ClientDisconnected),
        };
        let Some((bytes, cut)) = cut_of(directive) else {
            return Ok(());
        };
        let part = event.bytes.slice(..bytes.min(event.bytes.len()));
        self.buffered.extend_from_slice(&part);
        self.flush().await?;
        self.response.cut(cut).await;
        Err(ReplyEnd::Cut)
    }

    async fn pause_before_event(&self) -> Continued<()> {
        tokio::select! {
            () = pause(self.options.interval_ms) => Ok(()),
            () = self.response.disconnected() => Err(ReplyEnd::ClientDisconnected),
        }
    }

    /// Writes bytes of the body, striking in their middle where a fault says so.
    async fn write(&mut self, bytes: &Bytes) -> Continued<()> {
        let struck = match self.fault {
            Some(fault) => match fault.after {
                FaultPoint::Bytes(point) => point
                    .checked_sub(self.sent)
                    .filter(|offset| *offset < bytes.len())
                    .map(|offset| (offset, fault)),
                _ => None,
            },
            None => None,
        };
        self.sent += bytes.len();
        let Some((offset, fault)) = struck else {
            return self.write_pieces(bytes).await;
        };
        self.write_pieces(&bytes.slice(..offset)).await?;
        self.strike(fault).await?;
        self.write_pieces(&bytes.slice(offset..)).await
    }

    async fn write_pieces(&mut self, bytes: &Bytes) -> Continued<()> {
        let Some(size) = self.options.write_bytes else {
            return Ok(self.write_through(bytes.clone()).await?);
        };
        self.buffered.extend_from_slice(bytes);
        while self.buffered.len() >= size.get() {
            let piece = self.buffered.split_to(size.get()).freeze();
            self.write_through(piece).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Continued<()> {
        let rest = self.buffered.split().freeze();
        Ok(self.write_through(rest).await?)
    }

    async fn write_through(&self, bytes: Bytes) -> Result<(), Disconnected> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.response.write(bytes).await
    }

    async fn strike_at(&mut self, point: &FaultPoint) -> Continued<()> {
        match self.fault {
            Some(fault) if fault.after == *point => self.strike(fault).await,
            _ => Ok(()),
        }
    }

    async fn strike(&mut self, fault: &Fault) -> Continued<()> {
        self.fault = None;
        self.flush().await?;
        match &fault.then {
            FaultAction::Reset => self.response.cut(Cut::Reset).await,
            FaultAction::Close => self.response.cut(Cut::Close).await,
            FaultAction::Stall => self.response.disconnected().await,
            FaultAction::Error(error) => {
                let event = error_event(error, self.options.line_ending);
                self.write_through(event.bytes).await?;
                self.exchange
                    .state
                    .record_event(&self.exchange.identity, &event.kind);
            }
            FaultAction::Garbage(garbage) => {
                self.write_through(garbage.clone().into()).await?;
                return Ok(());
            }
        }
        Err(ReplyEnd::ScriptedFault)
    }
}
