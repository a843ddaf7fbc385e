//! The worker's side of a session.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::definition::ClaudeAgent;
use crate::engine::contract::{Engine as _, EngineError, LiveEvent, StepObserver, WorkerContext};
use crate::engine::embedded::engine::EmbeddedEngine;
use crate::engine::performer::AgentPerformer;

/// How many attempts one worker performs at once unless told otherwise.
const CONCURRENCY: usize = 8;

/// How many live events a slow receiver may lag behind.
const EVENT_BACKLOG: usize = 4096;

/// Works on whatever the durable state says is due.
///
/// Dropping a worker without [`Worker::stop`] is like losing it: what it had in flight is cut off,
/// and other workers take it for interrupted.
#[derive(Debug)]
pub struct Worker {
    events: broadcast::Sender<LiveEvent>,
    serving: watch::Receiver<bool>,
    stop: CancellationToken,
    working: AbortOnDropHandle<Result<(), EngineError>>,
}

/// Describes a worker piece by piece.
#[must_use]
pub struct WorkerBuilder {
    engine: EmbeddedEngine,
    agents: AgentPerformer,
    concurrency: usize,
    observer: Option<Arc<dyn StepObserver>>,
}

impl WorkerBuilder {
    /// Adds an agent, for the sessions of its flow type; it takes the place of an agent of the same
    /// type.
    pub fn agent(mut self, agent: &ClaudeAgent) -> Self {
        self.agents.add(agent.clone());
        self
    }

    /// Sets how many attempts are performed at once; 8 unless set.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Sets an observer that may hold attempts.
    pub fn observer(mut self, observer: impl StepObserver) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Starts working, on the current runtime.
    #[must_use]
    pub fn start(self) -> Worker {
        let (events, _) = broadcast::channel(EVENT_BACKLOG);
        let (serving, is_serving) = watch::channel(false);
        let stop = CancellationToken::new();
        let context = WorkerContext {
            performer: Arc::new(self.agents),
            observer: self.observer,
            events: events.clone(),
            concurrency: self.concurrency,
            serving,
            stop: stop.clone(),
        };
        let engine = self.engine;
        let working = AbortOnDropHandle::new(tokio::spawn(async move {
            let worked = engine.work(context).await;
            if let Err(error) = &worked {
                tracing::error!(%error, "the worker ended early");
            }
            worked
        }));
        Worker {
            events,
            serving: is_serving,
            stop,
            working,
        }
    }
}

impl Worker {
    /// Begins a worker for the sessions of an engine.
    pub fn builder(engine: &EmbeddedEngine, agent: &ClaudeAgent) -> WorkerBuilder {
        WorkerBuilder {
            engine: engine.clone(),
            agents: AgentPerformer::new(agent.clone()),
            concurrency: CONCURRENCY,
            observer: None,
        }
    }

    /// Waits until the worker takes what is due. False when it ended before, for a reason that
    /// [`Worker::stop`] tells.
    pub async fn wait_until_serving(&self) -> bool {
        self.serving
            .clone()
            .wait_for(|serving| *serving)
            .await
            .is_ok()
    }

    /// Live events of this worker's attempts from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<LiveEvent> {
        self.events.subscribe()
    }

    /// Stops when nothing is in flight any more: segments are given back unused, tool calls end.
    ///
    /// # Errors
    ///
    /// The error that ended the work early, if one did.
    pub async fn stop(self) -> Result<(), EngineError> {
        self.stop.cancel();
        self.working.await.map_err(std::io::Error::other)?
    }
}
