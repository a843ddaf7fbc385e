//! Random histories of a session keep its promises.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use crate::agent::policy::ToolKind;
use crate::session::event::{
    AttemptResult, Circumstances, Effect, Event, Resolution, SegmentEnd, SessionEvent,
};
use crate::session::message::MessageRole;
use crate::session::record::{DeferredCall, ToolCallOutcome};
use crate::session::snapshot::{SessionStatus, Usage};
use crate::session::state::SessionState;
use crate::session::step::{RetryPolicy, Step};

/// One thing that the world does, fitting or not.
#[derive(Clone, Debug)]
enum Move {
    Send(&'static str),
    Resolve {
        right_interrupt: bool,
        approve: bool,
    },
    Cancel,
    Start,
    EnterHandler,
    EndSegment(Option<CallShape>),
    EndTool {
        succeeded: bool,
    },
    Resumed,
    Fail,
    Interrupt,
    Release,
    Wait,
}

#[derive(Clone, Copy, Debug)]
struct CallShape {
    kind: ToolKind,
    needs_approval: bool,
    single_attempt: bool,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let shape =
        (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(cli, approval, single)| {
            CallShape {
                kind: if cli { ToolKind::Cli } else { ToolKind::Custom },
                needs_approval: approval || cli,
                single_attempt: single,
            }
        });
    let one = prop_oneof![
        2 => prop_oneof![Just("first"), Just("second"), Just(" \u{a0}")].prop_map(Move::Send),
        3 => (prop::bool::weighted(0.8), any::<bool>())
            .prop_map(|(right_interrupt, approve)| Move::Resolve { right_interrupt, approve }),
        1 => Just(Move::Cancel),
        8 => Just(Move::Start),
        4 => Just(Move::EnterHandler),
        4 => prop::option::weighted(0.7, shape).prop_map(Move::EndSegment),
        3 => any::<bool>().prop_map(|succeeded| Move::EndTool { succeeded }),
        3 => Just(Move::Resumed),
        1 => Just(Move::Fail),
        2 => Just(Move::Interrupt),
        1 => Just(Move::Release),
        2 => Just(Move::Wait),
    ];
    prop::collection::vec(one, 1..120)
}

/// A session and what an onlooker remembers of it.
struct History {
    state: SessionState,
    now: u64,
    calls: usize,
    accepted: Vec<String>,
    begun: Vec<String>,
    approved: BTreeSet<String>,
    rejected: BTreeSet<String>,
    entered: BTreeMap<String, usize>,
    finals: BTreeMap<String, usize>,
    turns: (usize, usize),
}

impl History {
    fn new() -> Self {
        Self {
            state: SessionState::new(Uuid::nil()),
            now: 1,
            calls: 0,
            accepted: Vec::new(),
            begun: Vec::new(),
            approved: BTreeSet::new(),
            rejected: BTreeSet::new(),
            entered: BTreeMap::new(),
            finals: BTreeMap::new(),
            turns: (0, 0),
        }
    }

    fn current_call(&self) -> Option<DeferredCall> {
        match &self.state.turn.as_ref()?.current.step {
            Step::Call(call) | Step::AwaitToolApproval(call) => Some(call.clone()),
            Step::RunModel | Step::ResumeTurn => None,
        }
    }

    fn event(&mut self, one: &Move) -> Option<Event> {
        Some(match one {
            Move::Send(text) => Event::MessageSent {
                text: (*text).to_owned(),
            },
            Move::Resolve {
                right_interrupt,
                approve,
            } => Event::InterruptResolved {
                interrupt_id: match self.state.turn.as_ref() {
                    Some(turn) if *right_interrupt => turn.current.id.clone(),
                    _ => "turn-0-step-0".to_owned(),
                },
                resolution: if *approve {
                    Resolution::Approved
                } else {
                    Resolution::Rejected { message: None }
                },
            },
            Move::Cancel => Event::TurnCancelled,
            Move::Start => Event::AttemptStarted,
            Move::EnterHandler => Event::HandlerEntered,
            Move::EndSegment(shape) => {
                let deferred = shape.map(|shape| self.new_call(shape));
                Event::AttemptEnded(AttemptResult::Segment(SegmentEnd {
                    claude_session_id: "claude".to_owned(),
                    turn_entries: Vec::new(),
                    usage: Usage::default(),
                    deferred,
                }))
            }
            Move::EndTool { succeeded } => Event::AttemptEnded(AttemptResult::ToolEnded {
                outcome: if *succeeded {
                    ToolCallOutcome::Succeeded
                } else {
                    ToolCallOutcome::Failed
                },
                output: "output".to_owned(),
            }),
            Move::Resumed => Event::AttemptEnded(AttemptResult::Resumed),
            Move::Fail => Event::AttemptEnded(AttemptResult::Failed {
                error: "failed".to_owned(),
            }),
            Move::Interrupt => Event::AttemptInterrupted,
            Move::Release => Event::AttemptReleased,
            Move::Wait => {
                self.now += 10_000;
                return None;
            }
        })
    }

    fn new_call(&mut self, shape: CallShape) -> DeferredCall {
        self.calls += 1;
        DeferredCall {
            tool_use_id: format!("toolu_{}", self.calls),
            tool: "publish".to_owned(),
            arguments: json!({}),
            kind: shape.kind,
            needs_approval: shape.needs_approval,
            single_attempt: shape.single_attempt,
        }
    }

    fn play(&mut self, one: &Move) {
        let Some(event) = self.event(one) else { return };
        let before = self.state.clone();
        let call = self.current_call();
        let circumstances = Circumstances {
            now: self.now,
            retry: RetryPolicy::default(),
            sabotage: None,
        };
        match self.state.apply(event.clone(), &circumstances) {
            Ok(effects) => self.remember(event, call, effects),
            Err(_) => assert_eq!(self.state, before, "a refused event changes nothing"),
        }
        self.check();
    }

    fn remember(&mut self, event: Event, call: Option<DeferredCall>, effects: Vec<Effect>) {
        match (event, call) {
            (Event::MessageSent { text }, _) => self.accepted.push(text),
            (Event::InterruptResolved { resolution, .. }, Some(call)) => {
                let answers = if resolution == Resolution::Approved {
                    &mut self.approved
                } else {
                    &mut self.rejected
                };
                assert!(answers.insert(call.tool_use_id), "an answer counts once");
            }
            (Event::HandlerEntered, Some(call)) => {
                assert!(
                    !call.needs_approval || self.approved.contains(&call.tool_use_id),
                    "nothing runs before its approval"
                );
                assert!(!self.rejected.contains(&call.tool_use_id));
                let entered = self.entered.entry(call.tool_use_id).or_default();
                *entered += 1;
                assert!(
                    !call.single_attempt || call.kind == ToolKind::Cli || *entered == 1,
                    "a single-attempt call is attempted once"
                );
            }
            _ => {}
        }
        for effect in effects {
            self.remember_effect(effect);
        }
    }

    fn remember_effect(&mut self, effect: Effect) {
        match effect {
            Effect::AppendMessage(message)
                if message.role == MessageRole::User && !message.text.starts_with("[Dex]") =>
            {
                self.begun.push(message.text);
            }
            Effect::ArchiveRecord(record) => {
                *self.finals.entry(record.call.tool_use_id).or_default() += 1;
            }
            Effect::Publish(SessionEvent::TurnStarted {}) => self.turns.0 += 1,
            Effect::Publish(SessionEvent::TurnFinished {}) => self.turns.1 += 1,
            _ => {}
        }
    }

    fn check(&self) {
        let mut kept = self.begun.clone();
        kept.extend(self.state.queue.iter().cloned());
        assert_eq!(kept, self.accepted, "no accepted message is lost or moved");
        assert!(self.finals.values().all(|records| *records == 1));
        let running = usize::from(self.state.turn.is_some());
        assert_eq!(self.turns.0, self.turns.1 + running, "turns end once");
        assert_eq!(self.state.status() == SessionStatus::Idle, running == 0);
        let stored = serde_json::to_string(&self.state).expect("a state is plain data");
        let loaded: SessionState = serde_json::from_str(&stored).expect("it was just written");
        assert_eq!(loaded, self.state);
    }

    /// Lets everything go well from here.
    fn settle(&mut self) {
        for _ in 0..200 {
            let one = match self.state.turn.as_ref().map(|turn| &turn.current) {
                None => return,
                Some(current) if self.state.due_at().is_some() => {
                    let _ = current;
                    self.now += 10_000;
                    Move::Start
                }
                Some(current) => match &current.step {
                    Step::RunModel => Move::EndSegment(None),
                    Step::AwaitToolApproval(_) => Move::Resolve {
                        right_interrupt: true,
                        approve: true,
                    },
                    Step::Call(_) => Move::EndTool { succeeded: true },
                    Step::ResumeTurn => Move::Resumed,
                },
            };
            self.play(&one);
        }
        panic!("the session is stuck: {:?}", self.state);
    }
}

proptest! {
    // covers: appr-repeat, appr-reject, appr-approve-once
    #[test]
    fn a_session_keeps_its_promises_and_always_settles(moves in moves()) {
        let mut history = History::new();
        for one in &moves {
            history.play(one);
        }
        history.settle();
        prop_assert!(history.state.queue.is_empty());
        prop_assert_eq!(&history.begun, &history.accepted);
    }
}
