//! The engine: one database, shared by the processes of one machine.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{OnceCell, broadcast};
use uuid::Uuid;

use crate::engine::contract::{
    Command, Engine, EngineError, LiveEvent, SessionChange, WorkerContext,
};
use crate::engine::embedded::bell::{Bell, Listener};
use crate::engine::embedded::claim::apply_command;
use crate::engine::embedded::event_log::{EventReader, EventWriter, events_directory};
use crate::engine::embedded::rows::{SessionRow, SessionRows};
use crate::engine::embedded::{database, liveness, set_aside, worker};
use crate::session::event::{Circumstances, Event};
use crate::session::export::ExportedSession;
use crate::session::snapshot::{PendingInterrupt, Snapshot, SnapshotToolCall};
use crate::session::state::SessionState;
use crate::session::step::RetryPolicy;

/// How long a listener waits for the bell before it looks on its own: a process can die between
/// its commit and the bell.
pub(crate) const LOOK_AROUND: Duration = Duration::from_secs(2);

/// How many changes a slow receiver may lag behind.
const CHANGE_BACKLOG: usize = 1024;

/// How many live events a slow receiver may lag behind.
const EVENT_BACKLOG: usize = 4096;

/// Runs sessions on one SQLite file in a state directory. Cheap to clone.
///
/// Any number of processes on one machine may open the same directory, as clients and as workers.
#[derive(Clone, Debug)]
pub struct EmbeddedEngine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) directory: PathBuf,
    connection: Mutex<Connection>,
    bell: Bell,
    changes: OnceCell<broadcast::Sender<SessionChange>>,
    events: OnceCell<broadcast::Sender<LiveEvent>>,
    /// Made when there is something to tell.
    event_writer: Mutex<Option<EventWriter>>,
}

impl EmbeddedEngine {
    /// Opens a state directory, making it if there is none.
    ///
    /// # Errors
    ///
    /// [`EngineError::StateDirectory`] when the directory cannot be written or the file in it
    /// belongs to another program or to a newer version of this one.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, EngineError> {
        let directory = directory.as_ref();
        let refused = |error: std::io::Error| EngineError::StateDirectory {
            path: directory.to_owned(),
            reason: error.to_string(),
        };
        // Conversations are nobody else's business.
        for directory in [
            liveness::workers_directory(directory),
            events_directory(directory),
        ] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
                .map_err(refused)?;
        }
        let connection = database::open(directory)?;
        let bell = Bell::open(directory).map_err(refused)?;
        Ok(Self {
            shared: Arc::new(Shared {
                directory: directory.to_owned(),
                connection: Mutex::new(connection),
                bell,
                changes: OnceCell::new(),
                events: OnceCell::new(),
                event_writer: Mutex::new(None),
            }),
        })
    }
}

#[cfg(test)]
impl EmbeddedEngine {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Shared {
    /// Runs one write transaction away from the runtime's threads, then rings the bell.
    pub(crate) async fn write<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        self.transact(TransactionBehavior::Immediate, work).await
    }

    /// Runs one read transaction away from the runtime's threads.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        self.transact(TransactionBehavior::Deferred, work).await
    }

    /// Sets the session aside whose stored state stood in the way, if that is what failed.
    pub(crate) async fn unless_corrupt<T>(
        self: &Arc<Self>,
        done: Result<T, EngineError>,
    ) -> Result<Option<T>, EngineError> {
        match done {
            Err(EngineError::Corrupt { session_id, reason }) => {
                tracing::error!(
                    session_id,
                    reason,
                    "set a session aside that cannot be read"
                );
                self.write(move |transaction| {
                    set_aside::set_aside(transaction, &session_id, &reason)
                })
                .await?;
                self.ring();
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    async fn transact<T: Send + 'static>(
        self: &Arc<Self>,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let shared = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = shared
                .connection
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(behavior)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        done.await.map_err(std::io::Error::other)?
    }

    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    /// Tells all processes of live events. One that cannot be told is lost: it changes no state.
    pub(crate) fn publish(&self, events: &[LiveEvent]) {
        if events.is_empty() {
            return;
        }
        if let Err(error) = self.append_events(events) {
            tracing::warn!(%error, "live events could not be told to other processes");
        }
    }

    fn append_events(&self, events: &[LiveEvent]) -> std::io::Result<()> {
        let mut writer = self
            .event_writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            *writer = Some(EventWriter::create(&self.directory)?);
        }
        if let Some(writer) = writer.as_mut() {
            for event in events {
                writer.append(event)?;
            }
        }
        Ok(())
    }

    pub(crate) fn listener(&self) -> std::io::Result<Listener> {
        Listener::of_changes(
            &self.directory,
            &liveness::workers_directory(&self.directory),
        )
    }
}

/// Milliseconds of the Unix epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

/// What the rules need for a client's command: it starts no retry.
fn command_circumstances() -> Circumstances {
    Circumstances {
        now: now(),
        retry: RetryPolicy::default(),
        sabotage: None,
    }
}

#[async_trait]
impl Engine for EmbeddedEngine {
    async fn start_session(
        &self,
        flow_type: &str,
        session_id: &str,
        message: Option<String>,
    ) -> Result<(), EngineError> {
        let flow_type = flow_type.to_owned();
        let session_id = session_id.to_owned();
        let events = self
            .shared
            .write(move |transaction| {
                let rows = SessionRows::new(transaction, &session_id);
                if rows.find()?.is_some() {
                    return Err(EngineError::SessionExists(session_id.clone()));
                }
                let mut row = SessionRow {
                    flow_type,
                    state: SessionState::new(Uuid::new_v4()),
                    revision: 0,
                    owner: None,
                    epoch: 0,
                };
                let Some(text) = message else {
                    return rows.save(&row).map(|()| Vec::new());
                };
                apply_command(
                    &rows,
                    &session_id,
                    &mut row,
                    Event::MessageSent { text },
                    &command_circumstances(),
                )?
                .ok_or_else(|| EngineError::BlankMessage(session_id.clone()))
            })
            .await?;
        self.shared.ring();
        self.shared.publish(&events);
        Ok(())
    }

    async fn submit(&self, session_id: &str, command: Command) -> Result<bool, EngineError> {
        let session_id = session_id.to_owned();
        let event = match command {
            Command::Send { text } => Event::MessageSent { text },
            Command::Resolve {
                interrupt_id,
                resolution,
            } => Event::InterruptResolved {
                interrupt_id,
                resolution,
            },
            Command::Cancel => Event::TurnCancelled,
        };
        let applied = self
            .shared
            .write(move |transaction| {
                let rows = SessionRows::new(transaction, &session_id);
                let mut row = rows.load()?;
                apply_command(
                    &rows,
                    &session_id,
                    &mut row,
                    event,
                    &command_circumstances(),
                )
            })
            .await?;
        self.shared.ring();
        self.shared.publish(applied.as_deref().unwrap_or_default());
        Ok(applied.is_some())
    }

    async fn snapshot(&self, session_id: &str) -> Result<Snapshot, EngineError> {
        let session_id = session_id.to_owned();
        self.shared
            .read(move |transaction| snapshot(transaction, &session_id))
            .await
    }

    async fn export(&self, session_id: &str) -> Result<ExportedSession, EngineError> {
        let session_id = session_id.to_owned();
        self.shared
            .read(move |transaction| {
                let rows = SessionRows::new(transaction, &session_id);
                let state = rows.load()?.state;
                Ok(ExportedSession::new(&session_id, state, rows.history()?))
            })
            .await
    }

    async fn import(&self, flow_type: &str, session: ExportedSession) -> Result<(), EngineError> {
        let flow_type = flow_type.to_owned();
        self.shared
            .write(move |transaction| import(transaction, flow_type, session))
            .await?;
        self.shared.ring();
        Ok(())
    }

    async fn take_up_again(&self, session_id: &str) -> Result<bool, EngineError> {
        let session_id = session_id.to_owned();
        let taken_up = self
            .shared
            .write(move |transaction| set_aside::take_up_again(transaction, &session_id))
            .await?;
        self.shared.ring();
        Ok(taken_up)
    }

    async fn changes(&self) -> Result<broadcast::Receiver<SessionChange>, EngineError> {
        let changes = self
            .shared
            .changes
            .get_or_try_init(|| start_following(&self.shared))
            .await?;
        Ok(changes.subscribe())
    }

    async fn events(&self) -> Result<broadcast::Receiver<LiveEvent>, EngineError> {
        let events = self
            .shared
            .events
            .get_or_try_init(|| start_following_events(&self.shared))
            .await?;
        Ok(events.subscribe())
    }

    async fn work(&self, context: WorkerContext) -> Result<(), EngineError> {
        worker::work(&self.shared, context).await
    }
}

fn import(
    transaction: &Transaction<'_>,
    flow_type: String,
    session: ExportedSession,
) -> Result<(), EngineError> {
    let session_id = session.session_id().to_owned();
    let rows = SessionRows::new(transaction, &session_id);
    if rows.find()?.is_some() {
        return Err(EngineError::SessionExists(session_id));
    }
    let (state, effects) = session
        .into_state()
        .map_err(|error| EngineError::InvalidExport {
            session_id: session_id.clone(),
            reason: error.to_string(),
        })?;
    // Whoever had an attempt in hand is not here: the next worker finds it dead.
    let owner = state.is_handed_out().then(|| "elsewhere".to_owned());
    rows.write(effects)?;
    rows.save(&SessionRow {
        flow_type,
        state,
        revision: 0,
        owner,
        epoch: 0,
    })
}

/// Starts the telling of changes; what happened before is told to nobody.
async fn start_following(
    shared: &Arc<Shared>,
) -> Result<broadcast::Sender<SessionChange>, EngineError> {
    let listener = shared.listener()?;
    let seen = shared.read(newest_change).await?;
    let (sender, _) = broadcast::channel(CHANGE_BACKLOG);
    tokio::spawn(follow(
        Arc::downgrade(shared),
        listener,
        seen,
        sender.clone(),
    ));
    Ok(sender)
}

/// Tells of every change until the engine is gone.
async fn follow(
    shared: std::sync::Weak<Shared>,
    listener: Listener,
    mut seen: u64,
    sender: broadcast::Sender<SessionChange>,
) {
    while let Some(shared) = shared.upgrade() {
        let since = seen;
        match shared
            .read(move |transaction| changes_since(transaction, since))
            .await
        {
            Ok((newest, changes)) => {
                seen = newest;
                for change in changes {
                    // Nobody may be listening just now.
                    let _ = sender.send(change);
                }
            }
            Err(error) => tracing::warn!(%error, "changes could not be read"),
        }
        drop(shared);
        // Either way it is time to look.
        let _ = tokio::time::timeout(LOOK_AROUND, listener.heard()).await;
    }
}

/// Starts the telling of live events; those before it are told to nobody.
async fn start_following_events(
    shared: &Arc<Shared>,
) -> Result<broadcast::Sender<LiveEvent>, EngineError> {
    let listener = Listener::of_writes(&events_directory(&shared.directory))?;
    let reader = EventReader::open(&shared.directory)?;
    let (sender, _) = broadcast::channel(EVENT_BACKLOG);
    let engine = Arc::downgrade(shared);
    tokio::spawn(follow_events(engine, listener, reader, sender.clone()));
    Ok(sender)
}

/// Tells of every live event until the engine is gone.
async fn follow_events(
    engine: std::sync::Weak<Shared>,
    listener: Listener,
    mut reader: EventReader,
    sender: broadcast::Sender<LiveEvent>,
) {
    while engine.strong_count() > 0 {
        match reader.read() {
            Ok(events) => {
                for event in events {
                    // Nobody may be listening just now.
                    let _ = sender.send(event);
                }
            }
            Err(error) => tracing::warn!(%error, "live events could not be read"),
        }
        // Either way it is time to look.
        let _ = tokio::time::timeout(LOOK_AROUND, listener.heard()).await;
    }
}

fn newest_change(transaction: &Transaction<'_>) -> Result<u64, EngineError> {
    Ok(transaction.query_row("SELECT change FROM counter", [], |row| row.get(0))?)
}

fn changes_since(
    transaction: &Transaction<'_>,
    since: u64,
) -> Result<(u64, Vec<SessionChange>), EngineError> {
    let newest = newest_change(transaction)?;
    let mut statement = transaction.prepare_cached(
        "SELECT session_id, revision FROM session WHERE change > ?1 ORDER BY change",
    )?;
    let changes = statement.query_map([since], |row| {
        Ok(SessionChange {
            session_id: row.get(0)?,
            revision: row.get(1)?,
        })
    })?;
    Ok((newest, changes.collect::<rusqlite::Result<_>>()?))
}

fn snapshot(transaction: &Transaction<'_>, session_id: &str) -> Result<Snapshot, EngineError> {
    let rows = SessionRows::new(transaction, session_id);
    let row = rows.load()?;
    let turn = row.state.turn.as_ref();
    let mut tool_calls = rows.archived_calls()?;
    let current = turn.map(|turn| turn.records.clone()).unwrap_or_default();
    tool_calls.extend(current.into_iter().map(SnapshotToolCall::from));
    Ok(Snapshot {
        session_id: session_id.to_owned(),
        revision: row.revision,
        status: row.state.status(),
        turn_id: turn.map(|turn| turn.id.clone()),
        messages: rows.messages()?,
        pending_interrupts: turn.and_then(PendingInterrupt::of).into_iter().collect(),
        tool_calls,
        steps: rows.steps()?,
        usage: row.state.usage,
        last_turn_error: row.state.last_turn_error,
        set_aside: set_aside::reason(transaction, session_id)?,
    })
}
