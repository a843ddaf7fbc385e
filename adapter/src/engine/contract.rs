//! What an engine owes to clients and workers, and what it asks of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::agent::sabotage::Sabotage;
use crate::segment::conversation::SegmentStart;
use crate::session::event::{AttemptResult, Resolution, SessionEvent};
use crate::session::export::ExportedSession;
use crate::session::record::DeferredCall;
use crate::session::snapshot::Snapshot;
use crate::session::step::{RetryPolicy, StepType};

/// An engine could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is no such session.
    #[error("find session {0}: it was never started here")]
    UnknownSession(String),
    /// There is such a session already.
    #[error("start session {0}: it exists already; choose another id")]
    SessionExists(String),
    /// A session's first message is blank.
    #[error("start session {0}: its message is blank")]
    BlankMessage(String),
    /// Another worker has the attempt by now.
    #[error("commit an attempt of session {0}: its lease was lost")]
    LeaseLost(String),
    /// The state directory or its file cannot be used.
    #[error("use the state directory {path}: {reason}", path = path.display())]
    StateDirectory {
        /// The directory or file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The database failed.
    #[error("use the session database: {0}")]
    Database(#[from] rusqlite::Error),
    /// Stored state cannot be read.
    #[error("read stored state of session {session_id}: {reason}")]
    Corrupt {
        /// The session.
        session_id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An exported session cannot be gone on from.
    #[error("import session {session_id}: {reason}")]
    InvalidExport {
        /// The session.
        session_id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something the operating system should have done.
    #[error("watch the state directory: {0}")]
    Io(#[from] std::io::Error),
}

/// What a client may ask of a session.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Send {
        text: String,
    },
    Resolve {
        interrupt_id: String,
        resolution: Resolution,
    },
    Cancel,
}

/// A session changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionChange {
    /// The session.
    pub session_id: String,
    /// Its newest revision.
    pub revision: u64,
}

/// A live event with the place it belongs to.
///
/// Group live text by turn, Step execution and attempt: a Step that is attempted again says
/// everything again, under a higher attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveEvent {
    /// The session.
    pub session_id: String,
    /// The turn.
    pub turn_id: String,
    /// The Step execution; all its attempts share the id.
    pub step_execution_id: String,
    /// Counts from 1.
    pub attempt: u32,
    /// What happened: `event` and `data` of its JSON form.
    #[serde(flatten)]
    pub event: SessionEvent,
}

/// A point in an attempt at which an observer may make the engine wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GatePoint {
    /// The attempt is handed out, nothing was done yet.
    BeforePerform,
    /// The work is done and nothing of it is stored.
    Performed,
    /// The result is about to be stored.
    BeforeCommit,
    /// The result is stored.
    Committed,
}

/// Where an attempt stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepGate {
    /// The session.
    pub session_id: String,
    /// The kind of Step.
    pub step: StepType,
    /// The Step execution.
    pub step_execution_id: String,
    /// Counts from 1.
    pub attempt: u32,
    /// The point that was reached.
    pub at: GatePoint,
}

/// Watches attempts, and can hold them.
#[async_trait]
pub trait StepObserver: Send + Sync + 'static {
    /// The attempt goes on when this returns.
    async fn reached(&self, gate: StepGate);
}

/// An attempt, with everything needed to perform it.
#[derive(Clone, Debug)]
pub(crate) struct PlannedAttempt {
    pub(crate) session_id: String,
    pub(crate) flow_type: String,
    pub(crate) turn_id: String,
    pub(crate) step_execution_id: String,
    pub(crate) attempt: u32,
    pub(crate) step_type: StepType,
    pub(crate) work: Work,
}

/// What an attempt has to do.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    RunModel {
        start: Arc<SegmentStart>,
        /// Ids of this turn's calls that have a final record.
        recorded: BTreeSet<String>,
    },
    Call {
        call: DeferredCall,
        idempotency_key: String,
    },
    ResumeTurn,
}

/// What an attempt may use while it is performed. It touches no session state but for the mark
/// that a handler is entered.
#[async_trait]
pub(crate) trait AttemptScope: Send + Sync {
    /// Stores that the handler is about to be called.
    async fn enter_handler(&self) -> Result<(), EngineError>;

    /// Where live events go.
    fn publish(&self) -> Arc<dyn Fn(SessionEvent) + Send + Sync>;

    /// A private directory that is removed at the latest when the worker is found dead.
    fn scratch_directory(&self) -> &Path;

    /// Cancelled when the attempt's result is wanted no longer.
    fn cancelled(&self) -> &CancellationToken;
}

/// Performs attempts.
#[async_trait]
pub(crate) trait StepPerformer: Send + Sync + 'static {
    /// The attempt's result, or `None` when it was cancelled.
    async fn perform(
        &self,
        attempt: &PlannedAttempt,
        scope: &dyn AttemptScope,
    ) -> Option<AttemptResult>;

    /// The types of sessions whose attempts it can perform.
    fn flow_types(&self) -> Vec<String>;

    /// How often Steps of sessions of a type are attempted.
    fn retry(&self, flow_type: &str) -> RetryPolicy;

    /// A promise to be broken on purpose.
    fn sabotage(&self, flow_type: &str) -> Option<Sabotage>;
}

/// What an engine needs to work as a worker.
pub(crate) struct WorkerContext {
    pub(crate) performer: Arc<dyn StepPerformer>,
    pub(crate) observer: Option<Arc<dyn StepObserver>>,
    pub(crate) events: broadcast::Sender<LiveEvent>,
    pub(crate) concurrency: usize,
    /// Becomes true when the worker takes what is due.
    pub(crate) serving: watch::Sender<bool>,
    pub(crate) stop: CancellationToken,
}

/// Runs sessions durably.
#[async_trait]
pub(crate) trait Engine: Send + Sync + 'static {
    async fn start_session(
        &self,
        flow_type: &str,
        session_id: &str,
        message: Option<String>,
    ) -> Result<(), EngineError>;

    /// Whether the command was accepted; if so it shows in the next snapshot.
    async fn submit(&self, session_id: &str, command: Command) -> Result<bool, EngineError>;

    async fn snapshot(&self, session_id: &str) -> Result<Snapshot, EngineError>;

    /// Everything the session is.
    async fn export(&self, session_id: &str) -> Result<ExportedSession, EngineError>;

    /// Stores a session that was exported.
    async fn import(&self, flow_type: &str, session: ExportedSession) -> Result<(), EngineError>;

    /// Gives a session that was set aside back to the workers. Whether it was.
    async fn take_up_again(&self, session_id: &str) -> Result<bool, EngineError>;

    /// Changes of all sessions from the return of this on, whoever makes them.
    async fn changes(&self) -> Result<broadcast::Receiver<SessionChange>, EngineError>;

    /// Live events of all sessions from the return of this on, whatever process tells them.
    async fn events(&self) -> Result<broadcast::Receiver<LiveEvent>, EngineError>;

    /// Works until told to stop and nothing is in flight any more.
    async fn work(&self, context: WorkerContext) -> Result<(), EngineError>;
}
