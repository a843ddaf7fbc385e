//! The Messages API of a cell, with every step of every request on the trace.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mock_messages_api::{
    ApiEvent, Directive, JournalEntry, MockMessagesApi, Observer, Outcome, Script,
};
use serde_json::Value;

use super::barriers::Barriers;
use super::error::CellError;
use crate::scenario::FaultEffect;
use crate::trace::{Lane, Observation, Recorder};

/// The name under which the cell's script is mounted.
const SESSION: &str = "cell";

/// The cell's Messages API.
pub(crate) struct CellApi {
    api: MockMessagesApi,
    /// The CLI processes whose worker was killed; what they still ask is an orphan's.
    orphans: Arc<Mutex<Vec<usize>>>,
}

impl CellApi {
    pub(crate) async fn start(
        barriers: &Arc<Barriers>,
        script: Script,
        key: &str,
    ) -> Result<Self, CellError> {
        let orphans = Arc::new(Mutex::new(Vec::new()));
        let observer = TraceObserver {
            barriers: Arc::clone(barriers),
            orphans: Arc::clone(&orphans),
        };
        let api = MockMessagesApi::builder()
            .observer(Arc::new(observer))
            .api_key(key)
            .start()
            .await
            .map_err(CellError::surroundings(
                "the Messages API could not listen on loopback",
            ))?;
        api.mount(SESSION, script);
        Ok(Self { api, orphans })
    }

    /// The base URL of one CLI process.
    pub(crate) fn base_url(&self, spawn: usize) -> String {
        self.api.base_url(SESSION, &client_label(spawn))
    }

    /// Marks a CLI process as an orphan.
    pub(crate) fn orphaned(&self, spawn: usize) {
        self.orphans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(spawn);
    }

    /// Puts the journal on the trace, for the checks: one `journalled` event a request. Its clients are
    /// gone, so that every response has an end.
    pub(crate) async fn record_journal(&self, recorder: &Recorder) {
        self.api.settled(SESSION).await;
        for entry in self.api.journal(SESSION) {
            let spawn = entry.client.as_deref().and_then(spawn_of_label);
            recorder.record(
                Observation::new(Lane::Api, "journalled")
                    .spawn(spawn)
                    .field("number", entry.number.to_string())
                    .field("outcome", outcome_name(&entry.outcome))
                    .payload(journal_payload(&entry)),
            );
        }
    }
}

fn client_label(spawn: usize) -> String {
    format!("spawn-{spawn}")
}

fn spawn_of_label(label: &str) -> Option<usize> {
    label.strip_prefix("spawn-")?.parse().ok()
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Undecided => "undecided",
        Outcome::Answered { .. } => "answered",
        Outcome::Unanswered { .. } => "unanswered",
        Outcome::Rejected { .. } => "rejected",
        Outcome::Served => "served",
    }
}

/// The entry without its body, which the trace already holds in the `request` event.
fn journal_payload(entry: &JournalEntry) -> Value {
    let mut payload = serde_json::to_value(entry).unwrap_or_default();
    if let Some(object) = payload.as_object_mut() {
        object.remove("body");
    }
    payload
}

struct TraceObserver {
    barriers: Arc<Barriers>,
    orphans: Arc<Mutex<Vec<usize>>>,
}

#[async_trait]
impl Observer for TraceObserver {
    async fn observe(&self, event: ApiEvent) -> Directive {
        let spawn = event.request().client.as_deref().and_then(spawn_of_label);
        let number = event.request().number.to_string();
        let observation = |kind: &str| {
            Observation::new(Lane::Api, kind)
                .spawn(spawn)
                .field("number", number.clone())
        };
        let observation = match event {
            ApiEvent::RequestArrived {
                method, path, body, ..
            } => {
                let kind = if self.is_orphan(spawn) {
                    "orphan_request"
                } else {
                    "request"
                };
                observation(kind)
                    .field("method", method)
                    .field("path", path)
                    .payload(Value::clone(&body))
            }
            ApiEvent::ReplyChosen {
                exchange, status, ..
            } => observation("reply")
                .field(
                    "exchange",
                    exchange.map_or_else(|| "none".to_owned(), |exchange| exchange.to_string()),
                )
                .field("status", status.to_string()),
            ApiEvent::BeforeEvent {
                index, event_type, ..
            } => observation("event")
                .field("index", index.to_string())
                .field("type", event_type),
            ApiEvent::Finished { end, .. } => observation("finished").field("end", end_name(end)),
        };
        let faults = self.barriers.observe(observation).wait().await;
        directive(&faults)
    }
}

impl TraceObserver {
    fn is_orphan(&self, spawn: Option<usize>) -> bool {
        let orphans = self.orphans.lock().unwrap_or_else(PoisonError::into_inner);
        spawn.is_some_and(|spawn| orphans.contains(&spawn))
    }
}

fn end_name(end: mock_messages_api::ReplyEnd) -> String {
    serde_json::to_value(end)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn directive(faults: &[FaultEffect]) -> Directive {
    faults
        .iter()
        .find_map(|fault| match fault {
            FaultEffect::Reset => Some(Directive::Reset),
            FaultEffect::Truncate => Some(Directive::Close),
            _ => None,
        })
        .unwrap_or(Directive::Continue)
}
