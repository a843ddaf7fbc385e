//! HTTP: one request, and the events of its reply.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use eventsource_stream::{EventStreamError, Eventsource};
use futures::{Stream, StreamExt};
use reqwest::header::HeaderMap;
use serde_json::Value;
use uuid::Uuid;

use super::failure::ApiFailure;
use super::{Features, Model};
use crate::environment::{Credential, Environment};

/// How long a connection may stay silent before the first byte of a reply, unless
/// `API_TIMEOUT_MS` says otherwise (observed on CLI 2.1.316: about 360 s).
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_millis(360_500);
/// How long a reply that has begun may stay silent (observed on CLI 2.1.316).
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
const SHORTEST_IDLE_TIMEOUT_MS: u64 = 10_000;

/// What went wrong with a reply that had begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamFault {
    /// The connection ended or was reset.
    Cut,
    /// Nothing came for too long.
    Stalled,
    /// An event whose data is no JSON.
    Garbage(String),
}

type Events = Pin<
    Box<dyn Stream<Item = Result<eventsource_stream::Event, EventStreamError<reqwest::Error>>>>,
>;

/// A reply that streams in.
pub(crate) struct ReplyStream {
    events: Events,
    idle_timeout: Duration,
    pub(crate) request_id: Option<String>,
}

impl ReplyStream {
    /// The next event the program knows how to read, or `None` at the end. Events without a name
    /// are dropped (observed on CLI 2.1.316).
    pub(crate) async fn next(&mut self) -> Option<Result<Value, StreamFault>> {
        loop {
            let next = tokio::time::timeout(self.idle_timeout, self.events.next()).await;
            let event = match next {
                Err(_) => return Some(Err(StreamFault::Stalled)),
                Ok(None) => return None,
                Ok(Some(Err(EventStreamError::Transport(_)))) => {
                    return Some(Err(StreamFault::Cut));
                }
                Ok(Some(Err(error))) => return Some(Err(StreamFault::Garbage(error.to_string()))),
                Ok(Some(Ok(event))) => event,
            };
            if !is_known(&event.event) {
                continue;
            }
            return Some(serde_json::from_str(&event.data).map_err(|_| {
                eprintln!("Could not parse message into JSON: {}", event.data);
                StreamFault::Garbage(event.data)
            }));
        }
    }
}

fn is_known(name: &str) -> bool {
    matches!(
        name,
        "message_start"
            | "message_delta"
            | "message_stop"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "ping"
            | "error"
            | "completion"
    )
}

/// What a request says of itself in its headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    pub(crate) session_id: Uuid,
    pub(crate) model: &'a Model,
    pub(crate) features: Features,
    /// Once a connection was dropped, the next ones are not asked to stay open (observed on CLI 2.1.316).
    pub(crate) keep_alive: bool,
}

/// Sends a request whose reply streams.
pub(crate) async fn open_stream(
    http: &reqwest::Client,
    environment: &Environment,
    head: RequestHead<'_>,
    body: &Value,
) -> Result<ReplyStream, ApiFailure> {
    let own_limit = environment.number("API_TIMEOUT_MS");
    let stated_seconds = own_limit.map_or(600, |milliseconds| milliseconds / 1000);
    let sent = post(http, environment, head, body, stated_seconds).send();
    let limit = own_limit.map_or(FIRST_BYTE_TIMEOUT, Duration::from_millis);
    let response = tokio::time::timeout(limit, sent)
        .await
        .map_err(|_| ApiFailure::TimedOut)?
        .map_err(|error| ApiFailure::from_transport(&error))?;
    let response = refuse_error_status(response).await?;
    let idle = environment.number("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS");
    Ok(ReplyStream {
        request_id: header(response.headers(), "request-id"),
        events: Box::pin(without_byte_order_mark(response.bytes_stream()).eventsource()),
        idle_timeout: idle.map_or(IDLE_TIMEOUT, |milliseconds| {
            Duration::from_millis(milliseconds.max(SHORTEST_IDLE_TIMEOUT_MS))
        }),
    })
}

/// Leaves out a byte order mark at the beginning, in however many pieces it comes: the parser of
/// events cannot take one.
fn without_byte_order_mark<E>(
    pieces: impl Stream<Item = Result<Bytes, E>>,
) -> impl Stream<Item = Result<Bytes, E>> {
    const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
    let mut expected = MARK.as_slice();
    pieces.map(move |piece| {
        piece.map(|mut bytes| {
            while let Some((next, rest)) = expected.split_first()
                && let Some(first) = bytes.first()
            {
                if first == next {
                    bytes.advance(1);
                    expected = rest;
                } else {
                    expected = &[];
                }
            }
            bytes
        })
    })
}

/// Sends a request whose reply comes in one piece.
pub(crate) async fn fetch_whole_reply(
    http: &reqwest::Client,
    environment: &Environment,
    head: RequestHead<'_>,
    body: &Value,
) -> Result<(Value, Option<String>), ApiFailure> {
    let exchange = async {
        let response = post(http, environment, head, body, 300)
            .send()
            .await
            .map_err(|error| ApiFailure::from_transport(&error))?;
        let response = refuse_error_status(response).await?;
        let request_id = header(response.headers(), "request-id");
        let bytes = response
            .bytes()
            .await
            .map_err(|error| ApiFailure::from_transport(&error))?;
        let message: Value = serde_json::from_slice(&bytes).map_err(|_| ApiFailure::NotAMessage)?;
        if message["content"].is_array() {
            Ok((message, request_id))
        } else {
            Err(ApiFailure::NotAMessage)
        }
    };
    let limit = environment.number("API_TIMEOUT_MS").unwrap_or(300_000);
    tokio::time::timeout(Duration::from_millis(limit), exchange)
        .await
        .map_err(|_| ApiFailure::TimedOut)?
}

fn post(
    http: &reqwest::Client,
    environment: &Environment,
    head: RequestHead<'_>,
    body: &Value,
    stated_timeout_seconds: u64,
) -> reqwest::RequestBuilder {
    let url = format!("{}/v1/messages?beta=true", environment.base_url());
    let sdk = environment
        .get("CLAUDE_AGENT_SDK_VERSION")
        .map_or_else(String::new, |version| format!(", agent-sdk/{version}"));
    let user_agent = format!(
        "claude-cli/{} (external, {}{sdk})",
        crate::IMITATED_VERSION,
        environment.entrypoint()
    );
    let request = http
        .post(url)
        .header("Accept", "application/json")
        .header("Accept-Encoding", "gzip, deflate, br, zstd")
        .header("Content-Type", "application/json")
        .header("User-Agent", user_agent)
        .header("X-Claude-Code-Session-Id", head.session_id.to_string())
        .header("X-Stainless-Arch", "x64")
        .header("X-Stainless-Lang", "js")
        .header("X-Stainless-OS", "Linux")
        .header("X-Stainless-Package-Version", "0.128.0")
        .header("X-Stainless-Retry-Count", "0")
        .header("X-Stainless-Runtime", "node")
        .header("X-Stainless-Runtime-Version", "v26.12.1")
        .header("X-Stainless-Timeout", stated_timeout_seconds.to_string())
        .header("anthropic-beta", head.features.betas(head.model))
        .header("anthropic-dangerous-direct-browser-access", "true")
        .header("anthropic-version", "2023-06-01")
        .header("x-app", "cli")
        .body(body.to_string());
    let request = if head.keep_alive {
        request.header("Connection", "keep-alive")
    } else {
        request
    };
    match environment.credential() {
        Some(Credential::ApiKey(key)) => request.header("x-api-key", key),
        Some(Credential::Bearer(token)) => request.bearer_auth(token),
        None => request,
    }
}

async fn refuse_error_status(response: reqwest::Response) -> Result<reqwest::Response, ApiFailure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let headers = response.headers().clone();
    let body = response.text().await.unwrap_or_default();
    Err(ApiFailure::from_status(
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        &headers,
        &body,
    ))
}

/// A header's text, if it is there and not empty.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
