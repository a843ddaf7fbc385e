//! A Messages API that answers with what a test gave it, one reply after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// The server and what it was asked.
pub(crate) struct Api {
    server: MockServer,
    requests: Arc<Mutex<Vec<Value>>>,
}

/// One reply.
#[derive(Clone)]
pub(crate) enum Reply {
    /// A message with these blocks and this stop reason.
    Message(Vec<Value>, &'static str),
    /// The bytes of an event stream.
    Stream(String),
    Error(u16, Value, Vec<(&'static str, &'static str)>),
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// A call of the refund tool.
pub(crate) fn refund(id: &str, order: &str) -> Value {
    call(id, "mcp__tools__create_refund", &json!({"order_id": order}))
}

/// A reply with these blocks and the stop reason that fits them.
pub(crate) fn says(blocks: &[Value]) -> Reply {
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop_reason = if calls { "tool_use" } else { "end_turn" };
    Reply::Message(blocks.to_vec(), stop_reason)
}

/// An error with the API's envelope.
pub(crate) fn error(status: u16, kind: &str, message: &str) -> Reply {
    let envelope = json!({"type": "error", "error": {"type": kind, "message": message}});
    Reply::Error(status, envelope, Vec::new())
}

impl Api {
    pub(crate) async fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = MockServer::start().await;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Script {
            replies: Mutex::new(replies.into_iter().collect()),
            requests: Arc::clone(&requests),
        };
        Mock::given(method("POST"))
            .and(path("/v1/messages"))
            .respond_with(script)
            .mount(&server)
            .await;
        Self { server, requests }
    }

    pub(crate) fn base_url(&self) -> String {
        self.server.uri()
    }

    /// The bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// The messages of the latest request, without what the program itself tells the model.
    pub(crate) fn last_messages(&self) -> Vec<Value> {
        let requests = self.requests();
        let messages = requests.last().unwrap()["messages"]
            .as_array()
            .unwrap()
            .clone();
        let own = |message: &Value| message["role"] == "system";
        messages
            .into_iter()
            .filter(|message| !own(message))
            .collect()
    }

    pub(crate) async fn headers(&self) -> Vec<Request> {
        self.server.received_requests().await.unwrap()
    }
}

struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Respond for Script {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let mut requests = self.requests.lock().unwrap();
        requests.push(body.clone());
        let id = format!("msg_{:04}", requests.len());
        let reply = self.replies.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| error(403, "permission_error", "not in the script"));
        match reply {
            Reply::Message(blocks, stop_reason) if body["stream"] == true => {
                let stream = events_of(&id, &blocks, stop_reason);
                answer(200).set_body_raw(stream, "text/event-stream")
            }
            Reply::Message(blocks, stop_reason) => {
                let mut message = message_start(&id);
                message["content"] = json!(blocks);
                message["stop_reason"] = json!(stop_reason);
                answer(200).set_body_json(message)
            }
            Reply::Stream(stream) => answer(200).set_body_raw(stream, "text/event-stream"),
            Reply::Error(status, envelope, headers) => headers
                .into_iter()
                .fold(answer(status), |answer, (name, value)| {
                    answer.insert_header(name, value)
                })
                .set_body_json(envelope),
        }
    }
}

fn answer(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status).insert_header("request-id", "req_test")
}

fn message_start(id: &str) -> Value {
    json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 1,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 2,
        },
    })
}

/// One event as it goes over the wire.
pub(crate) fn event(data: &Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap()
    )
}

/// The beginning of a reply.
pub(crate) fn start_event(id: &str) -> String {
    event(&json!({"type": "message_start", "message": message_start(id)}))
}

/// The events of one block.
pub(crate) fn block_events(index: usize, block: &Value) -> String {
    let mut empty = block.clone();
    let deltas = if block["type"] == "tool_use" {
        empty["input"] = json!({});
        let input = block["input"].to_string();
        let (first, second) = input.split_at(input.len() / 2);
        vec![
            json!({"type": "input_json_delta", "partial_json": first}),
            json!({"type": "input_json_delta", "partial_json": second}),
        ]
    } else {
        empty["text"] = json!("");
        vec![json!({"type": "text_delta", "text": block["text"]})]
    };
    let mut events =
        event(&json!({"type": "content_block_start", "index": index, "content_block": empty}));
    for delta in deltas {
        events += &event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    events + &event(&json!({"type": "content_block_stop", "index": index}))
}

/// The end of a reply.
pub(crate) fn end_events(stop_reason: &str) -> String {
    let delta = event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": 7},
    }));
    delta + &event(&json!({"type": "message_stop"}))
}

fn events_of(id: &str, blocks: &[Value], stop_reason: &str) -> String {
    let mut stream = start_event(id);
    for (index, block) in blocks.iter().enumerate() {
        stream += &block_events(index, block);
    }
    stream + &end_events(stop_reason)
}
