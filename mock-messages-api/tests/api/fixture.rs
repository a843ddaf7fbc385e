//! A server with one script, and a client of it.

use std::sync::Arc;

use eventsource_stream::Eventsource;
use futures::StreamExt;
use mock_messages_api::{JournalEntry, MockMessagesApi, Observer, Script};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

const SESSION: &str = "cell";

pub(crate) struct Fixture {
    pub(crate) api: MockMessagesApi,
    client: Client,
}

/// What a client saw of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Value>,
    /// Whether the stream ended in good order.
    pub(crate) whole: bool,
}

impl Fixture {
    pub(crate) async fn new(script: &str) -> Self {
        Self::start(MockMessagesApi::start().await.unwrap(), script)
    }

    pub(crate) async fn observed(script: &str, observer: Arc<dyn Observer>) -> Self {
        let api = MockMessagesApi::builder()
            .observer(observer)
            .start()
            .await
            .unwrap();
        Self::start(api, script)
    }

    pub(crate) async fn with_key(script: &str, key: &str) -> Self {
        let api = MockMessagesApi::builder()
            .api_key(key)
            .start()
            .await
            .unwrap();
        Self::start(api, script)
    }

    fn start(api: MockMessagesApi, script: &str) -> Self {
        api.mount(SESSION, Script::from_yaml(script).unwrap());
        Self {
            api,
            client: Client::builder().no_proxy().build().unwrap(),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.api.base_url(SESSION, "spawn-1"))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client
            .post(self.url(path))
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "dummy")
            .json(body)
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client
            .get(self.url(path))
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "dummy")
    }

    pub(crate) async fn send(&self, body: &Value) -> Response {
        self.post("/v1/messages?beta=true", body)
            .send()
            .await
            .unwrap()
    }

    /// Asks for a stream and reads all of it.
    pub(crate) async fn stream(&self, messages: Value) -> Seen {
        let mut body = request(messages);
        body["stream"] = json!(true);
        let response = self.send(&body).await;
        assert_eq!(response.status(), 200, "{}", response.status());
        read(response).await
    }

    /// Asks for a whole message.
    pub(crate) async fn whole(&self, messages: Value) -> Value {
        let response = self.send(&request(messages)).await;
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    /// Asks for a whole message and gets an error.
    pub(crate) async fn refused(&self, messages: Value) -> (u16, Value) {
        refusal(self.send(&request(messages)).await).await
    }

    pub(crate) fn journal(&self) -> Vec<JournalEntry> {
        self.api.journal(SESSION)
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.api
            .verify(SESSION)
            .err()
            .map(|error| error.problems)
            .unwrap_or_default()
    }
}

pub(crate) async fn refusal(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

pub(crate) async fn read(response: Response) -> Seen {
    let mut stream = response.bytes_stream().eventsource();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        let Ok(event) = event else {
            return Seen {
                events,
                whole: false,
            };
        };
        let data: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(
            data["type"],
            json!(event.event),
            "the event line names the type"
        );
        events.push(data);
    }
    Seen {
        events,
        whole: true,
    }
}

impl Seen {
    pub(crate) fn types(&self) -> Vec<&str> {
        self.events
            .iter()
            .map(|event| event["type"].as_str().unwrap())
            .collect()
    }

    /// The deltas of a block, joined.
    pub(crate) fn joined(&self, index: usize, field: &str) -> String {
        self.events
            .iter()
            .filter(|event| event["index"] == json!(index))
            .filter_map(|event| event["delta"][field].as_str())
            .collect()
    }
}

pub(crate) fn request(messages: Value) -> Value {
    json!({"model": "claude-sonnet-5", "max_tokens": 100, "messages": messages})
}

pub(crate) fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

pub(crate) fn assistant(content: impl Into<Value>) -> Value {
    json!({"role": "assistant", "content": content.into()})
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn tool_use(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

pub(crate) fn tool_result(id: &str, text: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": text})
}
