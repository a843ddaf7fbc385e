//! Barriers and standing faults: what is held, and what happens to it, at the points of a plan.
//!
//! ```text
//!  source ── observe ──► recorded, counted ──► passage ── wait ──► goes on
//!                                 │                         ▲
//!                                 └─► reached ─► actions ───┘ release
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::scenario::{Fault, FaultEffect, Point};
use crate::trace::{Lane, Observation, Recorder, TraceEvent};

/// The armed points of one cell.
#[derive(Debug)]
pub(crate) struct Barriers {
    recorder: Arc<Recorder>,
    armed: Mutex<Vec<Armed>>,
    faults: Mutex<Vec<ArmedFault>>,
}

/// A barrier of a step, by its place among the barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BarrierId(usize);

#[derive(Debug)]
struct Armed {
    point: Point,
    seen: usize,
    stage: watch::Sender<Stage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Armed,
    Reached,
    Released,
}

#[derive(Debug)]
struct ArmedFault {
    fault: Fault,
    seen: usize,
}

/// What was decided for one observation.
#[derive(Debug)]
pub(crate) struct Passage {
    event: Arc<TraceEvent>,
    holds: Vec<watch::Receiver<Stage>>,
    faults: Vec<Fault>,
    recorder: Arc<Recorder>,
}

impl Barriers {
    pub(crate) fn new(recorder: Arc<Recorder>, faults: Vec<Fault>) -> Self {
        let faults = faults
            .into_iter()
            .map(|fault| ArmedFault { fault, seen: 0 })
            .collect();
        Self {
            recorder,
            armed: Mutex::new(Vec::new()),
            faults: Mutex::new(faults),
        }
    }

    /// Arms a barrier; its first (or nth) match is held until it is released.
    pub(crate) fn arm(&self, point: Point) -> BarrierId {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.push(Armed {
            point,
            seen: 0,
            stage: watch::Sender::new(Stage::Armed),
        });
        BarrierId(armed.len() - 1)
    }

    /// Records an observation and says what happens to it.
    pub(crate) fn observe(&self, observation: Observation) -> Passage {
        let (event, (holds, faults)) = self.recorder.record_with(observation, |event| {
            (self.count_barriers(event), self.count_faults(event))
        });
        Passage {
            event,
            holds,
            faults,
            recorder: Arc::clone(&self.recorder),
        }
    }

    /// Waits until the barrier holds something.
    pub(crate) async fn reached(&self, barrier: BarrierId) {
        let mut stage = self.stage(barrier).subscribe();
        // The sender lives as long as the barriers do.
        let _ = stage.wait_for(|stage| *stage != Stage::Armed).await;
    }

    /// Lets go of what the barrier holds, or disarms it.
    pub(crate) fn release(&self, barrier: BarrierId) {
        self.stage(barrier).send_replace(Stage::Released);
    }

    fn stage(&self, barrier: BarrierId) -> watch::Sender<Stage> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)[barrier.0]
            .stage
            .clone()
    }

    fn count_barriers(&self, event: &TraceEvent) -> Vec<watch::Receiver<Stage>> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut holds = Vec::new();
        for barrier in armed
            .iter_mut()
            .filter(|barrier| barrier.point.matches(event))
        {
            barrier.seen += 1;
            if barrier.seen == barrier.point.nth.unwrap_or(1)
                && *barrier.stage.borrow() == Stage::Armed
            {
                barrier.stage.send_replace(Stage::Reached);
                holds.push(barrier.stage.subscribe());
            }
        }
        holds
    }

    fn count_faults(&self, event: &TraceEvent) -> Vec<Fault> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let mut struck = Vec::new();
        for armed in faults
            .iter_mut()
            .filter(|armed| armed.fault.point.matches(event))
        {
            armed.seen += 1;
            if armed.fault.point.nth.is_none_or(|nth| nth == armed.seen) {
                struck.push(armed.fault.clone());
            }
        }
        struck
    }
}

impl Passage {
    /// Waits for every barrier and every `hold_until` on the way, and hands back the other faults.
    pub(crate) async fn wait(self) -> Vec<FaultEffect> {
        self.wait_for_barriers().await.wait().await
    }

    /// Waits for the barriers: they stop everything behind what they hold.
    pub(crate) async fn wait_for_barriers(self) -> Delayed {
        for mut hold in self.holds {
            // When the barriers are gone the cell is over, and nothing is held any more.
            let _ = hold.wait_for(|stage| *stage == Stage::Released).await;
        }
        Delayed {
            event: self.event,
            faults: self.faults,
            recorder: self.recorder,
        }
    }
}

/// What is left of a passage behind its barriers: a `hold_until` delays only the one thing it meets,
/// so that what comes later may overtake it.
#[derive(Debug)]
pub(crate) struct Delayed {
    event: Arc<TraceEvent>,
    faults: Vec<Fault>,
    recorder: Arc<Recorder>,
}

impl Delayed {
    /// Whether nothing is left to wait for.
    pub(crate) fn is_free(&self) -> bool {
        !self
            .faults
            .iter()
            .any(|fault| matches!(fault.effect, FaultEffect::HoldUntil(_)))
    }

    /// Waits for every `hold_until`, and hands back the other faults.
    pub(crate) async fn wait(self) -> Vec<FaultEffect> {
        let mut others = Vec::new();
        for fault in self.faults {
            self.recorder.record(
                Observation::new(Lane::Fault, fault.effect.name())
                    .spawn(self.event.spawn)
                    .field("line", fault.line.to_string())
                    .field("at_seq", self.event.seq.to_string()),
            );
            match fault.effect {
                FaultEffect::HoldUntil(points) => {
                    let mut meetings: Vec<Meetings<'_>> = points.iter().map(Meetings::of).collect();
                    self.recorder
                        .wait_for(self.event.seq, |event| {
                            // Each of them counts, also behind one that is complete.
                            let complete = meetings
                                .iter_mut()
                                .filter_map(|meetings| meetings.complete(event).then_some(()));
                            complete.last()
                        })
                        .await;
                }
                other => others.push(other),
            }
        }
        others
    }
}

/// How often a point has been met.
#[derive(Debug)]
pub(crate) struct Meetings<'a> {
    point: &'a Point,
    count: usize,
}

impl<'a> Meetings<'a> {
    pub(crate) fn of(point: &'a Point) -> Self {
        Self { point, count: 0 }
    }

    /// Counts `event` if the point is met by it; whether the point has been met as often as it says.
    pub(crate) fn complete(&mut self, event: &TraceEvent) -> bool {
        self.count += usize::from(self.point.matches(event));
        self.count >= self.point.nth.unwrap_or(1)
    }
}

impl FaultEffect {
    /// The name of the fault in the trace.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Argv { .. } => "argv",
            Self::HoldUntil(_) => "hold_until",
            Self::Drop => "drop",
            Self::Duplicate { .. } => "duplicate",
            Self::Inject { .. } => "inject",
            Self::Split { .. } => "split",
            Self::Reset => "reset",
            Self::Truncate => "truncate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Subject, ToolPhase};

    fn point(nth: Option<usize>) -> Point {
        let subject = Subject::Tool {
            tool: "publish".into(),
            phase: ToolPhase::Called,
        };
        Point {
            subject,
            nth,
            spawn: None,
            matching: Default::default(),
        }
    }

    fn called() -> Observation {
        Observation::new(Lane::Tool, "called").field("tool", "publish")
    }

    #[tokio::test]
    async fn the_nth_match_is_held_until_release() {
        let barriers = Arc::new(Barriers::new(Arc::new(Recorder::in_memory()), Vec::new()));
        let barrier = barriers.arm(point(Some(2)));
        assert!(barriers.observe(called()).wait().await.is_empty());
        let held = tokio::spawn(barriers.observe(called()).wait());
        barriers.reached(barrier).await;
        tokio::task::yield_now().await;
        assert!(!held.is_finished());
        barriers.release(barrier);
        held.await.expect("the passage ends");
        assert!(
            barriers.observe(called()).wait().await.is_empty(),
            "a barrier holds once"
        );
    }

    #[tokio::test]
    async fn hold_until_counts_only_what_comes_after_it() {
        let recorder = Arc::new(Recorder::in_memory());
        let until = Point {
            subject: Subject::Cli(crate::scenario::CliPhase::Exited),
            ..point(None)
        };
        let fault = Fault {
            line: 1,
            point: point(None),
            effect: FaultEffect::HoldUntil(vec![until]),
        };
        let barriers = Barriers::new(Arc::clone(&recorder), vec![fault]);
        recorder.record(Observation::new(Lane::Cli, "exited"));
        let held = tokio::spawn(barriers.observe(called()).wait());
        tokio::task::yield_now().await;
        assert!(!held.is_finished());
        recorder.record(Observation::new(Lane::Cli, "exited"));
        held.await.expect("the passage ends");
    }
}
