//! The client's side of a session.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::agent::definition::DEFAULT_FLOW_TYPE;
use crate::engine::contract::{Command, Engine, EngineError, LiveEvent, SessionChange};
use crate::engine::embedded::engine::EmbeddedEngine;
use crate::session::event::Resolution;
use crate::session::export::ExportedSession;
use crate::session::snapshot::Snapshot;

/// Starts sessions, talks to them and sees them, wherever their workers are. Cheap to clone.
#[derive(Clone)]
pub struct SessionClient {
    engine: Arc<dyn Engine>,
    flow_type: Arc<str>,
}

impl std::fmt::Debug for SessionClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionClient")
            .field("flow_type", &self.flow_type)
            .finish_non_exhaustive()
    }
}

impl SessionClient {
    /// A client of the sessions of an engine; those that it starts are for agents that name no
    /// flow type.
    #[must_use]
    pub fn new(engine: &EmbeddedEngine) -> Self {
        Self::of_flow(engine, DEFAULT_FLOW_TYPE)
    }

    /// A client whose new sessions are for the agents of a flow type.
    #[must_use]
    pub fn of_flow(engine: &EmbeddedEngine, flow_type: &str) -> Self {
        Self {
            engine: Arc::new(engine.clone()),
            flow_type: flow_type.into(),
        }
    }

    /// Starts a session, and its first turn when there is a message.
    ///
    /// # Errors
    ///
    /// [`EngineError::SessionExists`] when the id is taken, [`EngineError::BlankMessage`] when the
    /// message says nothing.
    pub async fn start(
        &self,
        session_id: &str,
        message: Option<String>,
    ) -> Result<(), EngineError> {
        self.engine
            .start_session(&self.flow_type, session_id, message)
            .await
    }

    /// Sends a user's message; while a turn runs it waits for the next one. Whether it was
    /// accepted: a blank message is not.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownSession`] when there is no such session.
    pub async fn send(&self, session_id: &str, text: String) -> Result<bool, EngineError> {
        self.engine.submit(session_id, Command::Send { text }).await
    }

    /// Answers an interrupt. Whether the answer was accepted: only the first one to an interrupt
    /// that waits is.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownSession`] when there is no such session.
    pub async fn resolve(
        &self,
        session_id: &str,
        interrupt_id: &str,
        resolution: Resolution,
    ) -> Result<bool, EngineError> {
        let command = Command::Resolve {
            interrupt_id: interrupt_id.to_owned(),
            resolution,
        };
        self.engine.submit(session_id, command).await
    }

    /// Cancels the turn that runs or waits. Whether there was one.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownSession`] when there is no such session.
    pub async fn cancel(&self, session_id: &str) -> Result<bool, EngineError> {
        self.engine.submit(session_id, Command::Cancel).await
    }

    /// The session as it is now.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownSession`] when there is no such session.
    pub async fn snapshot(&self, session_id: &str) -> Result<Snapshot, EngineError> {
        self.engine.snapshot(session_id).await
    }

    /// Everything the session is, to be imported elsewhere: in another state directory, on
    /// another machine, by an adapter in another language.
    ///
    /// Nothing changes here. Stop the workers first, and let nobody go on with the session here:
    /// two copies of it would both run its calls.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownSession`] when there is no such session.
    pub async fn export(&self, session_id: &str) -> Result<ExportedSession, EngineError> {
        self.engine.export(session_id).await
    }

    /// Stores a session that was exported, under the id that it had. An attempt that was in hand
    /// at the export counts as interrupted.
    ///
    /// # Errors
    ///
    /// [`EngineError::SessionExists`] when the id is taken, [`EngineError::InvalidExport`] when
    /// its parts contradict each other.
    pub async fn import(&self, session: ExportedSession) -> Result<(), EngineError> {
        self.engine.import(&self.flow_type, session).await
    }

    /// Gives a session back to the workers that they set aside because something stored of it could
    /// not be read ([`Snapshot::set_aside`] says what). To be called when it was repaired. Whether
    /// the session was set aside.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownSession`] when there is no such session, [`EngineError::Corrupt`] when
    /// its state still cannot be read.
    pub async fn take_up_again(&self, session_id: &str) -> Result<bool, EngineError> {
        self.engine.take_up_again(session_id).await
    }

    /// Changes of all sessions from now on, whoever makes them. Several changes of one session
    /// may be told as one.
    ///
    /// # Errors
    ///
    /// An error of the operating system when the state directory cannot be watched.
    pub async fn changes(&self) -> Result<broadcast::Receiver<SessionChange>, EngineError> {
        self.engine.changes().await
    }

    /// Live events of all sessions from now on, whatever process works on them. Those of one
    /// attempt come in order; a receiver that lags by thousands of events loses the oldest.
    ///
    /// Live events show progress and are never stored: after a gap, look at the snapshot.
    ///
    /// # Errors
    ///
    /// An error of the operating system when the state directory cannot be watched.
    pub async fn events(&self) -> Result<broadcast::Receiver<LiveEvent>, EngineError> {
        self.engine.events().await
    }
}
