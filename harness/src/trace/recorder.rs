//! Gives every observation its place in the one order, keeps it, and wakes whoever waits for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::event::{Lane, TRACE_VERSION, TraceEvent};

/// An observation before it has its place in the order.
#[derive(Debug, Clone)]
pub struct Observation {
    at: Instant,
    lane: Lane,
    kind: String,
    worker: Option<String>,
    spawn: Option<usize>,
    fields: BTreeMap<String, String>,
    payload: Value,
}

impl Observation {
    /// Something that is being observed now.
    #[must_use]
    pub fn new(lane: Lane, kind: impl Into<String>) -> Self {
        Self {
            at: Instant::now(),
            lane,
            kind: kind.into(),
            worker: None,
            spawn: None,
            fields: BTreeMap::new(),
            payload: Value::Null,
        }
    }

    /// The worker it belongs to.
    #[must_use]
    pub fn worker(mut self, worker: &str) -> Self {
        self.worker = Some(worker.to_owned());
        self
    }

    /// The CLI process it belongs to.
    #[must_use]
    pub fn spawn(mut self, spawn: Option<usize>) -> Self {
        self.spawn = spawn;
        self
    }

    /// A short value to match and to show.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<String>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// The whole of it.
    #[must_use]
    pub fn payload(mut self, payload: Value) -> Self {
        self.payload = payload;
        self
    }
}

/// The one task-free owner of a cell's trace: recording is a short critical section, so the order of
/// `seq` is the order of receipt.
#[derive(Debug)]
pub struct Recorder {
    started: Instant,
    state: Mutex<State>,
    length: watch::Sender<usize>,
}

#[derive(Debug)]
struct State {
    events: Vec<Arc<TraceEvent>>,
    file: Option<File>,
}

impl Recorder {
    /// A trace that is written to `path` as it grows.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn to_file(path: &Path) -> std::io::Result<Self> {
        let mut file = File::create(path)?;
        writeln!(file, "{}", json!({ "trace_version": TRACE_VERSION }))?;
        Ok(Self::with_file(Some(file)))
    }

    /// A trace that is only kept in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::with_file(None)
    }

    fn with_file(file: Option<File>) -> Self {
        Self {
            started: Instant::now(),
            state: Mutex::new(State {
                events: Vec::new(),
                file,
            }),
            length: watch::Sender::new(0),
        }
    }

    /// Records one observation; `on_recorded` runs inside the same critical section, so that what it
    /// counts is counted in the order of the trace.
    pub fn record_with<R>(
        &self,
        observation: Observation,
        on_recorded: impl FnOnce(&Arc<TraceEvent>) -> R,
    ) -> (Arc<TraceEvent>, R) {
        let mut state = self.lock();
        let at = observation.at.saturating_duration_since(self.started);
        let event = Arc::new(TraceEvent {
            seq: state.events.len() as u64 + 1,
            at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
            lane: observation.lane,
            worker: observation.worker,
            spawn: observation.spawn,
            kind: observation.kind,
            fields: observation.fields,
            payload: observation.payload,
        });
        state.append(&event);
        let answer = on_recorded(&event);
        let length = state.events.len();
        drop(state);
        self.length.send_replace(length);
        (event, answer)
    }

    /// Records one observation.
    pub fn record(&self, observation: Observation) -> Arc<TraceEvent> {
        self.record_with(observation, |_| ()).0
    }

    /// Everything recorded so far.
    #[must_use]
    pub fn events(&self) -> Vec<Arc<TraceEvent>> {
        self.lock().events.clone()
    }

    /// The place of the newest event; 0 when there is none.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.lock().events.len() as u64
    }

    /// Shows `find` each event after `after` once, in order, those to come as well, until it has found what it looks
    /// for.
    pub async fn wait_for<R>(
        &self,
        after: u64,
        mut find: impl FnMut(&TraceEvent) -> Option<R>,
    ) -> R {
        let mut length = self.length.subscribe();
        let mut next = usize::try_from(after).unwrap_or(usize::MAX);
        loop {
            length.borrow_and_update();
            let found = {
                let state = self.lock();
                let fresh = state.events.get(next..).unwrap_or_default();
                let found = fresh.iter().find_map(|event| find(event));
                next += fresh.len();
                found
            };
            if let Some(found) = found {
                return found;
            }
            // The sender lives in `self`, so the channel cannot close while we wait.
            let _ = length.changed().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while appending leaves at worst one event out; the trace stays readable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn append(&mut self, event: &Arc<TraceEvent>) {
        if let Some(file) = &mut self.file
            && let Ok(mut line) = serde_json::to_vec(event.as_ref())
        {
            line.push(b'\n');
            // A full disk must not hide the verdict: the trace in memory is what is judged.
            let _ = file.write_all(&line);
        }
        self.events.push(Arc::clone(event));
    }
}
