//! The rules: what an event makes of a session.

use crate::agent::policy::ToolKind;
use crate::agent::sabotage::Sabotage;
use crate::session::event::{
    AttemptResult, Circumstances, Effect, Event, Resolution, SegmentEnd, SessionEvent, StepLogEntry,
};
use crate::session::message::{Message, transcript_messages};
use crate::session::note::turn_failure_note;
use crate::session::record::{
    DEFAULT_REJECTION, DeferredCall, ToolCallOutcome, ToolCallRecord, did_not_run_text,
    outcome_unknown_text,
};
use crate::session::state::{SessionState, Suspension, Turn};
use crate::session::step::{Attempt, Step, StepExecution, StepOutcome};

/// The event does not fit the state; nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

type Effects = Vec<Effect>;

impl SessionState {
    /// Applies an event.
    ///
    /// # Errors
    ///
    /// [`Refused`] leaves the state as it was: a blank message, a resolution of something that
    /// does not wait, a result nobody asked for.
    pub(crate) fn apply(
        &mut self,
        event: Event,
        circumstances: &Circumstances,
    ) -> Result<Effects, Refused> {
        let before = self.clone();
        let mut effects = Effects::new();
        let applied = self.apply_in_place(event, circumstances, &mut effects);
        match applied {
            Ok(()) => Ok(effects),
            Err(refused) => {
                *self = before;
                Err(refused)
            }
        }
    }

    fn apply_in_place(
        &mut self,
        event: Event,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        match event {
            Event::MessageSent { text } => self.accept_message(text, circumstances, effects),
            Event::InterruptResolved {
                interrupt_id,
                resolution,
            } => self.resolve(&interrupt_id, resolution, effects),
            Event::TurnCancelled => self.cancel(circumstances, effects),
            Event::AttemptStarted => self.start_attempt(circumstances, effects),
            Event::HandlerEntered => self.enter_handler(),
            Event::AttemptEnded(result) => self.end_attempt(result, circumstances, effects),
            Event::AttemptInterrupted => self.interrupt_attempt(circumstances, effects),
            Event::AttemptReleased => self.release_attempt(),
        }
    }

    fn accept_message(
        &mut self,
        text: String,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        if text.trim().is_empty() {
            return Err(Refused);
        }
        self.queue.push_back(text);
        if self.turn.is_none() {
            self.start_next_turn(circumstances, effects);
        }
        Ok(())
    }

    fn start_next_turn(&mut self, circumstances: &Circumstances, effects: &mut Effects) {
        let Some(text) = self.queue.pop_front() else {
            return;
        };
        if circumstances.is_sabotaged(Sabotage::LoseQueuedMessage) && self.turns_started > 0 {
            return;
        }
        self.turns_started += 1;
        let id = format!("turn-{}", self.turns_started);
        effects.push(Effect::Publish(SessionEvent::TurnStarted {}));
        effects.push(Effect::AppendMessage(Message::user(text)));
        self.turn = Some(Turn {
            current: StepExecution {
                id: format!("{id}-step-1"),
                step: Step::RunModel,
                attempt: Attempt::FIRST,
            },
            id,
            steps_started: 1,
            suspension: None,
            records: Vec::new(),
        });
    }

    fn resolve(
        &mut self,
        interrupt_id: &str,
        resolution: Resolution,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        let turn = self.turn.as_mut().ok_or(Refused)?;
        let (_, call) = turn
            .pending_approval()
            .filter(|(pending, _)| *pending == interrupt_id)
            .ok_or(Refused)?;
        let call = call.clone();
        turn.log(StepOutcome::Succeeded, effects);
        effects.push(Effect::Publish(SessionEvent::InterruptClosed {
            interrupt_id: interrupt_id.to_owned(),
        }));
        match resolution {
            Resolution::Approved => turn.proceed(Step::Call(call)),
            Resolution::Rejected { message } => turn.record(
                call,
                ToolCallOutcome::Rejected,
                message.unwrap_or_else(|| DEFAULT_REJECTION.to_owned()),
            ),
        }
        Ok(())
    }

    fn cancel(
        &mut self,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        let turn = self.turn.as_mut().ok_or(Refused)?;
        turn.log(StepOutcome::Interrupted, effects);
        if let Some((interrupt_id, _)) = turn.pending_approval() {
            effects.push(Effect::Publish(SessionEvent::InterruptClosed {
                interrupt_id: interrupt_id.to_owned(),
            }));
        }
        if let Some(call) = turn.call_in_handler() {
            let call = call.clone();
            let output = outcome_unknown_text(&call.tool);
            turn.publish_finished(&call, ToolCallOutcome::OutcomeUnknown, effects);
            turn.record(call, ToolCallOutcome::OutcomeUnknown, output);
        }
        self.fail_turn("the turn was cancelled".to_owned(), circumstances, effects);
        Ok(())
    }

    fn start_attempt(
        &mut self,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        if self.due_at().is_none_or(|due| due > circumstances.now) {
            return Err(Refused);
        }
        let turn = self.turn.as_mut().ok_or(Refused)?;
        let number = turn.current.attempt.number();
        turn.current.attempt = Attempt::HandedOut {
            number,
            handler_entered: false,
        };
        if let (Step::Call(call), 1) = (&turn.current.step, number) {
            effects.push(Effect::Publish(SessionEvent::ToolCallStarted {
                tool_call_id: call.tool_use_id.clone(),
                tool: call.tool.clone(),
            }));
        }
        Ok(())
    }

    fn enter_handler(&mut self) -> Result<(), Refused> {
        let turn = self.turn.as_mut().ok_or(Refused)?;
        match (&turn.current.step, &mut turn.current.attempt) {
            (
                Step::Call(_),
                Attempt::HandedOut {
                    handler_entered: entered @ false,
                    ..
                },
            ) => {
                *entered = true;
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    fn release_attempt(&mut self) -> Result<(), Refused> {
        let turn = self.turn.as_mut().ok_or(Refused)?;
        match turn.current.attempt {
            Attempt::HandedOut {
                number,
                handler_entered: false,
            } => {
                turn.current.attempt = Attempt::Due {
                    number,
                    not_before: 0,
                };
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    fn end_attempt(
        &mut self,
        result: AttemptResult,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        let turn = self.turn.as_mut().ok_or(Refused)?;
        let Attempt::HandedOut { number, .. } = turn.current.attempt else {
            return Err(Refused);
        };
        match (turn.current.step.clone(), result) {
            (Step::RunModel, AttemptResult::Segment(end)) => {
                turn.log(StepOutcome::Succeeded, effects);
                self.end_segment(end, circumstances, effects);
            }
            (Step::Call(call), AttemptResult::ToolEnded { outcome, output }) => {
                turn.log(StepOutcome::Succeeded, effects);
                turn.publish_finished(&call, outcome, effects);
                turn.record(call, outcome, output);
            }
            (Step::ResumeTurn, AttemptResult::Resumed) => {
                turn.log(StepOutcome::Succeeded, effects);
                turn.proceed(Step::RunModel);
            }
            (step, AttemptResult::Failed { error }) => {
                turn.log(StepOutcome::Failed, effects);
                self.retry_or_give_up(step, number, error, circumstances, effects);
            }
            _ => return Err(Refused),
        }
        Ok(())
    }

    fn end_segment(
        &mut self,
        end: SegmentEnd,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) {
        self.usage += end.usage;
        let Some(turn) = self.turn.as_mut() else {
            return;
        };
        match end.deferred {
            Some(call) => {
                let stored = turn.suspension.as_ref().map_or(0, |known| known.entries);
                turn.suspension = Some(Suspension {
                    claude_session_id: end.claude_session_id,
                    tool_use_id: call.tool_use_id.clone(),
                    entries: end.turn_entries.len(),
                });
                let fresh = end.turn_entries.into_iter().skip(stored).collect();
                effects.push(Effect::AppendSuspendedEntries(fresh));
                turn.leave(call, effects);
            }
            None => {
                for message in transcript_messages(&end.claude_session_id, end.turn_entries) {
                    effects.push(Effect::AppendMessage(message));
                }
                self.last_turn_error = None;
                self.end_turn(circumstances, effects);
            }
        }
    }

    fn interrupt_attempt(
        &mut self,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) -> Result<(), Refused> {
        let turn = self.turn.as_mut().ok_or(Refused)?;
        let Attempt::HandedOut {
            number,
            handler_entered,
        } = turn.current.attempt
        else {
            return Err(Refused);
        };
        turn.log(StepOutcome::Interrupted, effects);
        let step = turn.current.step.clone();
        let repeats = circumstances.is_sabotaged(Sabotage::RepeatAfterCrash);
        match step {
            Step::Call(call)
                if call.single_attempt && call.kind == ToolKind::Custom && !repeats =>
            {
                let (outcome, output) = if handler_entered {
                    (
                        ToolCallOutcome::OutcomeUnknown,
                        outcome_unknown_text(&call.tool),
                    )
                } else {
                    (ToolCallOutcome::Failed, did_not_run_text(&call.tool))
                };
                turn.publish_finished(&call, outcome, effects);
                turn.record(call, outcome, output);
            }
            // These Steps run nothing that could have taken effect.
            Step::ResumeTurn
            | Step::Call(DeferredCall {
                kind: ToolKind::Cli,
                ..
            }) => {
                turn.current.attempt = Attempt::Due {
                    number: number + 1,
                    not_before: 0,
                };
            }
            Step::RunModel | Step::Call(_) | Step::AwaitToolApproval(_) => {
                let error = "the worker was lost during the attempt".to_owned();
                self.retry_or_give_up(step, number, error, circumstances, effects);
            }
        }
        Ok(())
    }

    fn retry_or_give_up(
        &mut self,
        step: Step,
        number: u32,
        error: String,
        circumstances: &Circumstances,
        effects: &mut Effects,
    ) {
        let Some(turn) = self.turn.as_mut() else {
            return;
        };
        let repeats = circumstances.is_sabotaged(Sabotage::RepeatAfterCrash);
        let single = matches!(&step, Step::Call(call) if call.single_attempt && !repeats);
        if let (false, Some(rest)) = (single, circumstances.retry.backoff_after(number)) {
            turn.current.attempt = Attempt::Due {
                number: number + 1,
                not_before: circumstances.now.saturating_add(rest),
            };
            return;
        }
        match step {
            Step::Call(call) => {
                let output = outcome_unknown_text(&call.tool);
                turn.publish_finished(&call, ToolCallOutcome::OutcomeUnknown, effects);
                turn.record(call, ToolCallOutcome::OutcomeUnknown, output);
            }
            Step::RunModel | Step::AwaitToolApproval(_) | Step::ResumeTurn => {
                self.fail_turn(error, circumstances, effects);
            }
        }
    }

    fn fail_turn(&mut self, error: String, circumstances: &Circumstances, effects: &mut Effects) {
        let note = self
            .turn
            .as_ref()
            .and_then(|turn| turn_failure_note(&turn.records));
        if let Some(note) = note {
            effects.push(Effect::AppendMessage(Message::user(note)));
        }
        self.last_turn_error = Some(error);
        self.end_turn(circumstances, effects);
    }

    fn end_turn(&mut self, circumstances: &Circumstances, effects: &mut Effects) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        effects.extend(turn.records.into_iter().map(Effect::ArchiveRecord));
        effects.push(Effect::ClearSuspendedEntries);
        effects.push(Effect::Publish(SessionEvent::TurnFinished {}));
        self.start_next_turn(circumstances, effects);
    }
}

impl Turn {
    fn proceed(&mut self, step: Step) {
        self.steps_started += 1;
        self.current = StepExecution {
            id: format!("{}-step-{}", self.id, self.steps_started),
            step,
            attempt: Attempt::FIRST,
        };
    }

    fn leave(&mut self, call: DeferredCall, effects: &mut Effects) {
        if call.needs_approval {
            self.proceed(Step::AwaitToolApproval(call));
            effects.push(Effect::Publish(SessionEvent::InterruptOpened {
                interrupt_id: self.current.id.clone(),
            }));
        } else {
            self.proceed(Step::Call(call));
        }
    }

    fn record(&mut self, call: DeferredCall, outcome: ToolCallOutcome, output: String) {
        self.records.push(ToolCallRecord {
            call,
            outcome,
            output,
        });
        self.proceed(Step::ResumeTurn);
    }

    /// The call that may have taken effect, because its handler was entered in this attempt or an
    /// earlier one.
    fn call_in_handler(&self) -> Option<&DeferredCall> {
        let entered = match self.current.attempt {
            Attempt::Due { number, .. } => number > 1,
            Attempt::HandedOut {
                number,
                handler_entered,
            } => handler_entered || number > 1,
        };
        match &self.current.step {
            Step::Call(call) if entered && call.kind == ToolKind::Custom => Some(call),
            _ => None,
        }
    }

    fn log(&self, outcome: StepOutcome, effects: &mut Effects) {
        effects.push(Effect::LogStep(StepLogEntry {
            step_execution_id: self.current.id.clone(),
            step_type: self.current.step.step_type(),
            attempt: self.current.attempt.number(),
            outcome,
        }));
    }

    fn publish_finished(
        &self,
        call: &DeferredCall,
        outcome: ToolCallOutcome,
        effects: &mut Effects,
    ) {
        effects.push(Effect::Publish(SessionEvent::ToolCallFinished {
            tool_call_id: call.tool_use_id.clone(),
            tool: call.tool.clone(),
            outcome,
        }));
    }
}
