//! The one session of a cell, as its client sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::context::CellContext;
use super::error::CellError;
use super::runner::RunnerProcess;
use crate::protocol::{
    Accepted, PendingInterrupt, SessionParams, SessionResolveParams, SessionSendParams,
    SessionStartParams, Snapshot,
};
use crate::scenario::Decision;
use crate::trace::{Lane, Observation, TraceEvent};

/// The id of a cell's session.
pub(crate) const SESSION_ID: &str = "session-1";

/// The kind of event that holds a snapshot.
const SNAPSHOT: &str = "session";

/// The one session of a cell.
pub(crate) struct CellSession {
    context: Arc<CellContext>,
    client: Arc<RunnerProcess>,
    /// The interrupts that were answered, oldest first, for an answer that is given again.
    answered: Mutex<Vec<PendingInterrupt>>,
    /// Whether `session/start` was answered; before, there is nothing to take a snapshot of.
    started: AtomicBool,
    /// Snapshots are taken one at a time, so that the newest on the trace is the newest.
    refreshing: tokio::sync::Mutex<()>,
}

impl CellSession {
    pub(crate) fn new(context: Arc<CellContext>, client: Arc<RunnerProcess>) -> Self {
        Self {
            context,
            client,
            answered: Mutex::default(),
            started: AtomicBool::new(false),
            refreshing: tokio::sync::Mutex::default(),
        }
    }

    /// Takes a snapshot whenever the runner says that something changed, until it is aborted.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            self.context.session_changed.notified().await;
            if let Err(error) = self.refresh().await {
                return self.context.fail(error);
            }
        }
    }

    /// Takes a snapshot after an action, and hands back the trace's length from which on every
    /// snapshot is known to be younger than the action.
    pub(crate) async fn refresh_after_action(&self) -> Result<u64, CellError> {
        let turn = self.refreshing.lock().await;
        let from = self.context.recorder.last_seq();
        self.take_snapshot().await?;
        drop(turn);
        Ok(from)
    }

    /// Takes a snapshot and puts it on the trace.
    ///
    /// `None` before the session was started.
    pub(crate) async fn refresh(&self) -> Result<Option<Snapshot>, CellError> {
        let _turn = self.refreshing.lock().await;
        self.take_snapshot().await
    }

    async fn take_snapshot(&self) -> Result<Option<Snapshot>, CellError> {
        if !self.started.load(Ordering::Acquire) {
            return Ok(None);
        }
        let snapshot: Snapshot = self
            .client
            .request("session/snapshot", &this_session())
            .await?;
        let status = serde_json::to_value(snapshot.status).unwrap_or_default();
        self.context.recorder.record(
            Observation::new(Lane::Harness, SNAPSHOT)
                .field("status", status.as_str().unwrap_or_default())
                .field("revision", snapshot.revision.to_string())
                .payload(serde_json::to_value(&snapshot).unwrap_or_default()),
        );
        Ok(Some(snapshot))
    }

    pub(crate) async fn start(&self, message: Option<String>) -> Result<(), CellError> {
        let params = SessionStartParams {
            session_id: SESSION_ID.to_owned(),
            message,
        };
        self.client
            .request::<Value>("session/start", &params)
            .await?;
        self.started.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) async fn send(&self, text: String) -> Result<Accepted, CellError> {
        self.client
            .request(
                "session/send",
                &SessionSendParams {
                    session_id: SESSION_ID.to_owned(),
                    text,
                },
            )
            .await
    }

    pub(crate) async fn cancel(&self) -> Result<Accepted, CellError> {
        self.client.request("session/cancel", &this_session()).await
    }

    /// Answers the pending interrupt of `tool`, or again the one that was answered before.
    ///
    /// `None` when there is neither.
    pub(crate) async fn resolve(
        &self,
        tool: &str,
        decision: Decision,
    ) -> Result<Option<Accepted>, CellError> {
        let snapshot = self.refresh().await?;
        let pending = snapshot
            .into_iter()
            .flat_map(|snapshot| snapshot.pending_interrupts)
            .find(|interrupt| interrupt.tool == tool);
        let Some(interrupt) = pending.or_else(|| self.answered_before(tool)) else {
            return Ok(None);
        };
        let (approved, rejection_message) = match decision {
            Decision::Approve => (true, None),
            Decision::Reject(message) => (false, message),
        };
        let interrupt_id = interrupt.interrupt_id.clone();
        self.answered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(interrupt.clone());
        self.context.recorder.record(
            Observation::new(Lane::Harness, "resolved")
                .field("tool", tool)
                .field("approved", approved.to_string())
                .payload(json!({"interrupt": interrupt, "rejection_message": rejection_message})),
        );
        let params = SessionResolveParams {
            session_id: SESSION_ID.to_owned(),
            interrupt_id,
            approved,
            rejection_message,
        };
        self.client
            .request("session/resolve", &params)
            .await
            .map(Some)
    }

    fn answered_before(&self, tool: &str) -> Option<PendingInterrupt> {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered
            .iter()
            .rev()
            .find(|interrupt| interrupt.tool == tool)
            .cloned()
    }
}

fn this_session() -> SessionParams {
    SessionParams {
        session_id: SESSION_ID.to_owned(),
    }
}

/// The snapshot that an event holds.
pub(crate) fn snapshot_of(event: &TraceEvent) -> Option<Snapshot> {
    let is_snapshot = event.lane == Lane::Harness && event.kind == SNAPSHOT;
    is_snapshot
        .then(|| serde_json::from_value(event.payload.clone()).ok())
        .flatten()
}
