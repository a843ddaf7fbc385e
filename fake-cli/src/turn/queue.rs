//! The calls of one reply: one after the other, except that read-only ones run beside each other.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::call::{Call, Ending, HookTraces, Phase, Settled, run_call};
use crate::session::Session;
use crate::tools;

/// Calls that wait and calls that run.
pub(crate) struct CallQueue {
    session: Rc<Session>,
    waiting: VecDeque<Call>,
    running: FuturesUnordered<Pin<Box<dyn Future<Output = Settled>>>>,
    started: Vec<Started>,
}

struct Started {
    call: Call,
    phase: Rc<Cell<Phase>>,
    concurrency_safe: bool,
}

impl CallQueue {
    pub(crate) fn new(session: &Rc<Session>) -> Self {
        Self {
            session: Rc::clone(session),
            waiting: VecDeque::new(),
            running: FuturesUnordered::new(),
            started: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, call: Call) {
        self.waiting.push_back(call);
        self.start_what_may_run();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.started.is_empty()
    }

    fn start_what_may_run(&mut self) {
        while let Some(next) = self.waiting.front() {
            let safe = tools::find(&self.session, &next.name)
                .is_some_and(|tool| tool.is_concurrency_safe());
            let alone = self.started.is_empty();
            let beside = safe && self.started.iter().all(|started| started.concurrency_safe);
            if !(alone || beside) {
                return;
            }
            let Some(call) = self.waiting.pop_front() else {
                return;
            };
            let phase = Rc::new(Cell::new(Phase::Undecided));
            self.started.push(Started {
                call: call.clone(),
                phase: Rc::clone(&phase),
                concurrency_safe: safe,
            });
            let session = Rc::clone(&self.session);
            self.running.push(Box::pin(run_call(session, call, phase)));
        }
    }

    /// The next call that ends; waits for ever when none runs.
    pub(crate) async fn next_settled(&mut self) -> Settled {
        match self.running.next().await {
            Some(settled) => {
                let ended = self
                    .started
                    .iter()
                    .position(|started| started.call.id == settled.call.id);
                if let Some(position) = ended {
                    self.started.remove(position);
                }
                self.start_what_may_run();
                settled
            }
            None => std::future::pending().await,
        }
    }

    /// Stops everything: what was pending is withdrawn, and every call gets an ending.
    pub(crate) fn interrupt(&mut self, by_signal: bool) -> Vec<Settled> {
        self.running = FuturesUnordered::new();
        let started = self
            .started
            .drain(..)
            .map(|started| (started.call, started.phase.get()));
        let waiting = self.waiting.drain(..).map(|call| (call, Phase::Undecided));
        started
            .chain(waiting)
            .map(|(call, phase)| Settled {
                call,
                hooks: HookTraces::default(),
                ending: Ending::Interrupted {
                    while_running: phase == Phase::Running && !by_signal,
                    asking: phase == Phase::Asking,
                },
            })
            .collect()
    }
}
