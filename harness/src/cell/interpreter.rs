//! Runs the steps of a plan, one after the other.

use std::sync::Arc;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::barriers::{BarrierId, Meetings};
use super::context::CellContext;
use super::error::CellError;
use super::messages_api::CellApi;
use super::process_tree;
use super::session::{self, CellSession};
use super::taps::{self, TapServer};
use super::workers::Workers;
use crate::protocol::{Accepted, PendingInterrupt, Snapshot};
use crate::scenario::{Action, Awaited, Point, SessionStatus, Step, StepKind, Target};
use crate::trace::{Lane, Observation};

/// A step that did not come about; a finding, not an error of the cell.
#[derive(Debug, Clone)]
pub(crate) struct StepFailure {
    pub(crate) line: usize,
    pub(crate) expected: String,
    pub(crate) seen: String,
}

/// Why the steps were not all done.
#[derive(Debug)]
pub(crate) enum StepsEnd {
    Failure(StepFailure),
    Error(CellError),
}

impl From<CellError> for StepsEnd {
    fn from(error: CellError) -> Self {
        Self::Error(error)
    }
}

/// Runs the steps of a plan.
pub(crate) struct Interpreter {
    pub(crate) context: Arc<CellContext>,
    pub(crate) api: Arc<CellApi>,
    pub(crate) taps: Arc<TapServer>,
    pub(crate) session: Arc<CellSession>,
    pub(crate) workers: Workers,
    /// The trace's length when the last action was done: a session's status counts from there.
    acted: u64,
}

impl Interpreter {
    pub(crate) fn new(
        context: Arc<CellContext>,
        api: Arc<CellApi>,
        taps: Arc<TapServer>,
        session: Arc<CellSession>,
        workers: Workers,
    ) -> Self {
        Self {
            context,
            api,
            taps,
            session,
            workers,
            acted: 0,
        }
    }

    /// Runs all steps. Barriers are armed first: what they name may come before its step does.
    pub(crate) async fn run(&mut self, steps: &[Step]) -> Result<(), StepsEnd> {
        let barriers: Vec<Option<BarrierId>> =
            steps.iter().map(|step| self.arm(&step.kind)).collect();
        for (step, barrier) in steps.iter().zip(barriers) {
            self.note_step(step);
            match (&step.kind, barrier) {
                (StepKind::At { point, actions }, Some(barrier)) => {
                    self.at_barrier(step.line, point, barrier, actions).await?;
                }
                (StepKind::Act(action), _) => self.act(step.line, action).await?,
                (StepKind::Await(awaited), _) => self.wait(step.line, awaited).await?,
                (StepKind::At { .. }, None) => {}
            }
        }
        Ok(())
    }

    fn arm(&self, kind: &StepKind) -> Option<BarrierId> {
        match kind {
            StepKind::At { point, .. } => Some(self.context.barriers.arm(point.clone())),
            StepKind::Act(_) | StepKind::Await(_) => None,
        }
    }

    fn note_step(&self, step: &Step) {
        let observation =
            Observation::new(Lane::Harness, "step").field("line", step.line.to_string());
        self.context
            .recorder
            .record(observation.payload(serde_json::to_value(&step.kind).unwrap_or_default()));
    }

    async fn at_barrier(
        &mut self,
        line: usize,
        point: &Point,
        barrier: BarrierId,
        actions: &[Action],
    ) -> Result<(), StepsEnd> {
        let context = Arc::clone(&self.context);
        self.bounded(
            line,
            || format!("{point} to be met"),
            context.barriers.reached(barrier),
        )
        .await?;
        for action in actions {
            self.act(line, action).await?;
        }
        self.context.barriers.release(barrier);
        Ok(())
    }

    async fn wait(&mut self, line: usize, awaited: &Awaited) -> Result<(), StepsEnd> {
        let recorder = Arc::clone(&self.context.recorder);
        let after = self.acted;
        match awaited {
            Awaited::Status(status) => {
                let found = recorder.wait_for(after, |event| {
                    let snapshot = session::snapshot_of(event)?;
                    (snapshot.status == *status).then_some(())
                });
                self.bounded(line, || format!("the session to be {status:?}"), found)
                    .await
            }
            Awaited::Interrupt { tool, arguments } => {
                let found = recorder.wait_for(after, |event| {
                    interrupt_or_end(session::snapshot_of(event)?, tool)
                });
                let expected = || format!("an interrupt for {tool}");
                let Some(interrupt) = self.bounded(line, expected, found).await? else {
                    let seen = format!("none will come: {}", self.state());
                    return Err(StepsEnd::Failure(StepFailure {
                        line,
                        expected: expected(),
                        seen,
                    }));
                };
                match arguments {
                    Some(arguments) if *arguments != interrupt.arguments => {
                        Err(StepsEnd::Failure(StepFailure {
                            line,
                            expected: format!("an interrupt for {tool} that shows {arguments}"),
                            seen: format!("one that shows {}", interrupt.arguments),
                        }))
                    }
                    _ => Ok(()),
                }
            }
            Awaited::Point(point) => {
                let mut meetings = Meetings::of(point);
                let found = recorder.wait_for(0, |event| meetings.complete(event).then_some(()));
                self.bounded(line, || format!("{point}"), found).await
            }
        }
    }

    /// Waits for `work`, at most as long as a step may take.
    async fn bounded<T>(
        &self,
        line: usize,
        expected: impl FnOnce() -> String,
        work: impl Future<Output = T>,
    ) -> Result<T, StepsEnd> {
        let bound = self.context.bounds.step;
        match self
            .context
            .unless_failed(tokio::time::timeout(bound, work))
            .await?
        {
            Ok(done) => Ok(done),
            Err(_) => {
                let seen = format!("not within {bound:?}; {}", self.state());
                Err(StepsEnd::Failure(StepFailure {
                    line,
                    expected: expected(),
                    seen,
                }))
            }
        }
    }

    /// Where the session stands, for a message.
    fn state(&self) -> String {
        let events = self.context.recorder.events();
        let Some(snapshot) = events
            .iter()
            .rev()
            .find_map(|event| session::snapshot_of(event))
        else {
            return "the session has no snapshot yet".to_owned();
        };
        let pending: Vec<String> = snapshot
            .pending_interrupts
            .iter()
            .map(|i| format!("{} {}", i.tool, i.arguments))
            .collect();
        let error = snapshot.last_turn_error.map_or_else(String::new, |error| {
            format!("; its last turn failed: {error}")
        });
        format!(
            "the session is {:?}, its pending interrupts are [{}]{error}",
            snapshot.status,
            pending.join(", ")
        )
    }

    async fn act(&mut self, line: usize, action: &Action) -> Result<(), StepsEnd> {
        match action {
            Action::StartSession(message) => self.session.start(message.clone()).await?,
            Action::Send { text, accepted } => {
                let answer = self.session.send(text.clone()).await?;
                expect_accepted(line, "the message", *accepted, answer)?;
            }
            Action::Resolve {
                tool,
                decision,
                accepted,
            } => {
                let answer = self.session.resolve(tool, decision.clone()).await?;
                let answer = answer.ok_or_else(|| {
                    StepsEnd::Failure(StepFailure {
                        line,
                        expected: format!("a pending interrupt for {tool}"),
                        seen: self.state(),
                    })
                })?;
                expect_accepted(line, "the answer", *accepted, answer)?;
            }
            Action::CancelTurn { accepted } => {
                let answer = self.session.cancel().await?;
                expect_accepted(line, "the cancel", *accepted, answer)?;
            }
            Action::LaunchWorker => self.workers.launch().await?,
            Action::StopWorker => {
                self.require(line, Target::WorkerTree)?;
                self.workers.stop_newest().await?;
            }
            Action::Kill(target) => {
                self.require(line, *target)?;
                self.kill(*target).await?;
            }
            Action::Terminate(target) => {
                self.require(line, *target)?;
                self.signal(*target, Signal::SIGTERM);
            }
            Action::Freeze(target) => {
                self.require(line, *target)?;
                self.signal(*target, Signal::SIGSTOP);
            }
            Action::Thaw(target) => {
                self.require(line, *target)?;
                self.signal(*target, Signal::SIGCONT);
            }
        }
        self.acted = self.session.refresh_after_action().await?;
        Ok(())
    }

    /// A signal to nobody would prove nothing.
    fn require(&self, line: usize, target: Target) -> Result<(), StepsEnd> {
        let (runs, what) = match target {
            Target::WorkerTree | Target::WorkerOnly => {
                (self.workers.newest_pid().is_some(), "a running worker")
            }
            Target::Cli => (self.taps.newest_running().is_some(), "a running CLI"),
        };
        if runs {
            return Ok(());
        }
        Err(StepsEnd::Failure(StepFailure {
            line,
            expected: what.to_owned(),
            seen: "there is none".to_owned(),
        }))
    }

    async fn kill(&mut self, target: Target) -> Result<(), CellError> {
        self.note_kill(target);
        match target {
            Target::WorkerTree | Target::WorkerOnly => {
                let alone = target == Target::WorkerOnly;
                let Some(name) = self.workers.newest_name() else {
                    return Ok(());
                };
                let spawns = self.taps.running_of(&name);
                spawns
                    .iter()
                    .for_each(|(number, _)| self.api.orphaned(*number));
                let also = if alone {
                    Vec::new()
                } else {
                    taps::process_ids(&spawns)
                };
                self.workers.kill_newest(also, alone).await;
            }
            Target::Cli => {
                if let Some(spawn) = self.taps.newest_running() {
                    process_tree::kill_trees(&spawn.cli_pid.into_iter().collect::<Vec<_>>());
                }
            }
        }
        Ok(())
    }

    fn signal(&self, target: Target, signal: Signal) {
        let pid = match target {
            Target::WorkerTree | Target::WorkerOnly => self.workers.newest_pid(),
            Target::Cli => self.taps.newest_running().and_then(|spawn| spawn.cli_pid),
        };
        let observation = Observation::new(Lane::Fault, "signal").field("signal", signal.as_str());
        self.context.recorder.record(observation);
        pid.into_iter()
            .for_each(|pid| process_tree::signal_process(pid, signal));
    }

    fn note_kill(&self, target: Target) {
        let payload: Value = json!({"target": target});
        self.context
            .recorder
            .record(Observation::new(Lane::Fault, "kill").payload(payload));
    }
}

/// The pending interrupt of `tool`; or `None`, when nothing is due and so none can come any more.
fn interrupt_or_end(snapshot: Snapshot, tool: &str) -> Option<Option<PendingInterrupt>> {
    let idle = snapshot.status == SessionStatus::Idle;
    let pending = snapshot
        .pending_interrupts
        .into_iter()
        .find(|interrupt| interrupt.tool == tool);
    (pending.is_some() || idle).then_some(pending)
}

fn expect_accepted(
    line: usize,
    what: &str,
    expected: bool,
    seen: Accepted,
) -> Result<(), StepsEnd> {
    let words = |accepted: bool| if accepted { "accepted" } else { "refused" };
    if seen.accepted == expected {
        return Ok(());
    }
    Err(StepsEnd::Failure(StepFailure {
        line,
        expected: format!("{what} to be {}", words(expected)),
        seen: format!("it was {}", words(seen.accepted)),
    }))
}
