//! A worker: takes what is due, performs it, commits it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::engine::contract::{
    AttemptScope, EngineError, GatePoint, LiveEvent, PlannedAttempt, StepGate, Work, WorkerContext,
};
use crate::engine::embedded::claim::{self, Claim};
use crate::engine::embedded::engine::{LOOK_AROUND, Shared, now};
use crate::engine::embedded::liveness::WorkerLock;
use crate::session::event::{AttemptResult, Event, SessionEvent};

/// Works until told to stop and nothing is in flight any more.
pub(crate) async fn work(shared: &Arc<Shared>, context: WorkerContext) -> Result<(), EngineError> {
    let lock = WorkerLock::take(&shared.directory)?;
    let listener = shared.listener()?;
    let mut worker = EmbeddedWorker {
        shared: Arc::clone(shared),
        context: Arc::new(context),
        name: lock.name().to_owned(),
        scratch_directory: lock.scratch_directory(),
        signed: None,
        in_flight: HashMap::new(),
        tasks: JoinSet::new(),
    };
    let stop = worker.context.stop.clone();
    worker.give_sign_of_life().await?;
    worker.context.serving.send_replace(true);
    while !stop.is_cancelled() {
        worker.give_sign_of_life().await?;
        worker.take_over().await?;
        worker.claim_due().await?;
        let rest = worker.rest().await?;
        tokio::select! {
            () = stop.cancelled() => {}
            Some(ended) = worker.tasks.join_next_with_id() => worker.ended(ended).await?,
            heard = tokio::time::timeout(rest, listener.heard()) => {
                heard.unwrap_or(Ok(()))?;
                worker.drop_revoked().await?;
            }
        }
    }
    worker.finish().await?;
    drop(lock);
    shared.ring();
    Ok(())
}

type Ended = Result<(Id, Result<(), EngineError>), tokio::task::JoinError>;

struct EmbeddedWorker {
    shared: Arc<Shared>,
    context: Arc<WorkerContext>,
    name: String,
    scratch_directory: PathBuf,
    /// When the last sign of life was given.
    signed: Option<Instant>,
    in_flight: HashMap<Id, InFlight>,
    tasks: JoinSet<Result<(), EngineError>>,
}

struct InFlight {
    attempt: Attempt,
    cancelled: CancellationToken,
}

impl EmbeddedWorker {
    /// Most of the time there is nothing to write, so look first: writers wait for each other.
    async fn take_over(&mut self) -> Result<(), EngineError> {
        let directory = self.shared.directory.clone();
        let name = self.name.clone();
        let context = Arc::clone(&self.context);
        let lost = self
            .shared
            .read(move |transaction| claim::lost_workers(transaction, &directory, &name, &context))
            .await?;
        for lost in lost {
            let directory = self.shared.directory.clone();
            let context = Arc::clone(&self.context);
            let taken_over = self
                .shared
                .write(move |transaction| {
                    claim::take_over(transaction, &directory, &lost, &context)
                })
                .await;
            let events = self.shared.unless_corrupt(taken_over).await?;
            self.shared.ring();
            tell(&self.shared, &self.context, &events.unwrap_or_default());
        }
        Ok(())
    }

    async fn give_sign_of_life(&mut self) -> Result<(), EngineError> {
        if self
            .signed
            .is_some_and(|signed| signed.elapsed() < LOOK_AROUND)
        {
            return Ok(());
        }
        let name = self.name.clone();
        let directory = self.shared.directory.clone();
        self.shared
            .write(move |transaction| {
                claim::forget_dead(transaction, &directory)?;
                claim::sign_of_life(transaction, &name, now())
            })
            .await?;
        self.signed = Some(Instant::now());
        Ok(())
    }

    async fn claim_due(&mut self) -> Result<(), EngineError> {
        while self.tasks.len() < self.context.concurrency {
            if self.next_due().await?.is_none_or(|due| due > now()) {
                break;
            }
            let name = self.name.clone();
            let context = Arc::clone(&self.context);
            let handed_out = self
                .shared
                .write(move |transaction| claim::hand_out(transaction, &name, &context))
                .await;
            let Some(handed_out) = self.shared.unless_corrupt(handed_out).await? else {
                continue;
            };
            let Some((handed_out, events)) = handed_out else {
                break;
            };
            self.shared.ring();
            tell(&self.shared, &self.context, &events);
            let claimed = self
                .shared
                .read(move |transaction| claim::claim(transaction, &handed_out))
                .await;
            if let Some(claim) = self.shared.unless_corrupt(claimed).await?.flatten() {
                self.spawn(claim);
            }
        }
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<u64>, EngineError> {
        let context = Arc::clone(&self.context);
        self.shared
            .read(move |transaction| claim::next_due(transaction, &context))
            .await
    }

    fn spawn(&mut self, claim: Claim) {
        let cancelled = CancellationToken::new();
        let attempt = Attempt {
            shared: Arc::clone(&self.shared),
            context: Arc::clone(&self.context),
            claim,
            scratch_directory: self.scratch_directory.clone(),
            cancelled: cancelled.clone(),
        };
        let task = self.tasks.spawn(attempt.clone().run());
        self.in_flight
            .insert(task.id(), InFlight { attempt, cancelled });
    }

    /// An attempt that cannot be stored ends the worker, so that its lock shows what is unfinished.
    async fn ended(&mut self, ended: Ended) -> Result<(), EngineError> {
        match ended {
            Ok((id, stored)) => {
                self.in_flight.remove(&id);
                stored
            }
            Err(error) => match self.in_flight.remove(&error.id()) {
                Some(in_flight) if error.is_panic() => in_flight.attempt.panicked().await,
                _ => Ok(()),
            },
        }
    }

    /// Cancels attempts that this worker has no longer.
    async fn drop_revoked(&mut self) -> Result<(), EngineError> {
        let claims: Vec<Claim> = self
            .in_flight
            .values()
            .map(|in_flight| in_flight.attempt.claim.clone())
            .collect();
        if claims.is_empty() {
            return Ok(());
        }
        let held: Vec<bool> = self
            .shared
            .read(move |transaction| {
                claims
                    .iter()
                    .map(|claim| claim::is_held(transaction, claim))
                    .collect()
            })
            .await?;
        for (in_flight, held) in self.in_flight.values().zip(held) {
            if !held {
                in_flight.cancelled.cancel();
            }
        }
        Ok(())
    }

    /// How long there is nothing to do.
    async fn rest(&self) -> Result<Duration, EngineError> {
        if self.tasks.len() >= self.context.concurrency {
            return Ok(LOOK_AROUND);
        }
        let due = self.next_due().await?;
        let rest = due.map(|due| Duration::from_millis(due.saturating_sub(now())));
        Ok(rest.map_or(LOOK_AROUND, |rest| rest.min(LOOK_AROUND)))
    }

    /// Gives segments back unused and lets tool calls end.
    async fn finish(&mut self) -> Result<(), EngineError> {
        for in_flight in self.in_flight.values() {
            if !matches!(in_flight.attempt.claim.attempt.work, Work::Call { .. }) {
                in_flight.cancelled.cancel();
            }
        }
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.ended(ended).await?;
        }
        let name = self.name.clone();
        self.shared
            .write(move |transaction| claim::sign_off(transaction, &name))
            .await
    }
}

/// One attempt on its way from hand-out to commit.
#[derive(Clone)]
struct Attempt {
    shared: Arc<Shared>,
    context: Arc<WorkerContext>,
    claim: Claim,
    scratch_directory: PathBuf,
    cancelled: CancellationToken,
}

impl Attempt {
    async fn run(self) -> Result<(), EngineError> {
        self.accept_unstored(self.run_to_end().await).await
    }

    /// Stores that application code panicked; nobody knows what took effect.
    async fn panicked(&self) -> Result<(), EngineError> {
        let error = "the attempt panicked".to_owned();
        let stored = self
            .apply(Event::AttemptEnded(AttemptResult::Failed { error }))
            .await;
        self.accept_unstored(stored).await
    }

    /// A result that comes too late, or for a session that cannot be read, is no failure of the
    /// worker.
    async fn accept_unstored(&self, stored: Result<(), EngineError>) -> Result<(), EngineError> {
        match stored {
            Err(EngineError::LeaseLost(session_id)) => {
                tracing::info!(session_id, "the result of an attempt came too late");
                Ok(())
            }
            other => self.shared.unless_corrupt(other).await.map(|_| ()),
        }
    }

    async fn run_to_end(&self) -> Result<(), EngineError> {
        self.reached(GatePoint::BeforePerform).await;
        let result = self
            .context
            .performer
            .perform(&self.claim.attempt, self)
            .await;
        let Some(result) = result else {
            return self.apply(Event::AttemptReleased).await;
        };
        self.reached(GatePoint::Performed).await;
        self.commit(result).await
    }

    async fn commit(&self, result: AttemptResult) -> Result<(), EngineError> {
        self.reached(GatePoint::BeforeCommit).await;
        self.apply(Event::AttemptEnded(result)).await?;
        self.reached(GatePoint::Committed).await;
        Ok(())
    }

    async fn apply(&self, event: Event) -> Result<(), EngineError> {
        let claim = self.claim.clone();
        let circumstances = claim::circumstances(&self.context, &claim.attempt.flow_type);
        let events = self
            .shared
            .write(move |transaction| {
                claim::apply_claimed(transaction, &claim, event, &circumstances)
            })
            .await?;
        self.shared.ring();
        tell(&self.shared, &self.context, &events);
        Ok(())
    }

    async fn reached(&self, at: GatePoint) {
        let Some(observer) = &self.context.observer else {
            return;
        };
        let PlannedAttempt {
            session_id,
            step_execution_id,
            attempt,
            step_type,
            ..
        } = &self.claim.attempt;
        let gate = StepGate {
            session_id: session_id.clone(),
            step: *step_type,
            step_execution_id: step_execution_id.clone(),
            attempt: *attempt,
            at,
        };
        // A revoked attempt waits for nobody.
        tokio::select! {
            () = observer.reached(gate) => {}
            () = self.cancelled.cancelled() => {}
        }
    }
}

#[async_trait]
impl AttemptScope for Attempt {
    async fn enter_handler(&self) -> Result<(), EngineError> {
        self.apply(Event::HandlerEntered).await
    }

    fn publish(&self) -> Arc<dyn Fn(SessionEvent) + Send + Sync> {
        let (shared, context) = (Arc::clone(&self.shared), Arc::clone(&self.context));
        let attempt = self.claim.attempt.clone();
        Arc::new(move |event| {
            let event = LiveEvent {
                session_id: attempt.session_id.clone(),
                turn_id: attempt.turn_id.clone(),
                step_execution_id: attempt.step_execution_id.clone(),
                attempt: attempt.attempt,
                event,
            };
            tell(&shared, &context, &[event]);
        })
    }

    fn scratch_directory(&self) -> &Path {
        &self.scratch_directory
    }

    fn cancelled(&self) -> &CancellationToken {
        &self.cancelled
    }
}

/// Tells this worker's listeners and all other processes.
fn tell(shared: &Shared, context: &WorkerContext, events: &[LiveEvent]) {
    shared.publish(events);
    for event in events {
        // Nobody may be listening just now.
        let _ = context.events.send(event.clone());
    }
}
