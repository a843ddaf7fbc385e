//! Hand-out, hand-back and commit of attempts, each in one transaction guarded by an epoch.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{OptionalExtension as _, Transaction};

use crate::engine::contract::{EngineError, LiveEvent, PlannedAttempt, Work, WorkerContext};
use crate::engine::embedded::engine::now;
use crate::engine::embedded::liveness::{bury, dead_workers, is_dead};
use crate::engine::embedded::rows::{SessionRow, SessionRows};
use crate::segment::conversation::SegmentStart;
use crate::session::event::{Circumstances, Event, SessionEvent};
use crate::session::state::{SessionState, Turn};
use crate::session::step::Step;

/// How long a worker may give no sign before it counts as stopped, in milliseconds.
pub(crate) const LEASE: u64 = 20_000;

/// An attempt that a worker has.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) epoch: u64,
    pub(crate) attempt: PlannedAttempt,
}

/// An attempt that was handed out and not planned yet.
#[derive(Clone, Debug)]
pub(crate) struct HandOut {
    session_id: String,
    epoch: u64,
}

/// What the rules need to know when this worker applies an event to a session.
pub(crate) fn circumstances(context: &WorkerContext, flow_type: &str) -> Circumstances {
    Circumstances {
        now: now(),
        retry: context.performer.retry(flow_type),
        sabotage: context.performer.sabotage(flow_type),
    }
}

/// The worker's flow types, as the database takes a list.
fn flow_types(context: &WorkerContext) -> String {
    serde_json::json!(context.performer.flow_types()).to_string()
}

/// Gives the worker the next due attempt that it can perform, if there is one.
pub(crate) fn hand_out(
    transaction: &Transaction<'_>,
    worker: &str,
    context: &WorkerContext,
) -> Result<Option<(HandOut, Vec<LiveEvent>)>, EngineError> {
    let due: Option<String> = transaction
        .prepare_cached(
            "SELECT session_id FROM session WHERE due_at <= ?1 AND owner IS NULL
             AND flow_type IN (SELECT value FROM json_each(?2))
             AND session_id NOT IN (SELECT session_id FROM set_aside)
             ORDER BY due_at LIMIT 1",
        )?
        .query_row((now(), flow_types(context)), |row| row.get(0))
        .optional()?;
    let Some(session_id) = due else {
        return Ok(None);
    };
    let rows = SessionRows::new(transaction, &session_id);
    let mut row = rows.load()?;
    let circumstances = circumstances(context, &row.flow_type);
    let Ok(effects) = row.state.apply(Event::AttemptStarted, &circumstances) else {
        return Err(EngineError::Corrupt {
            session_id,
            reason: "an attempt is due that cannot start".to_owned(),
        });
    };
    row.owner = Some(worker.to_owned());
    row.epoch += 1;
    let events = rows.write(effects)?;
    rows.save(&row)?;
    let events = place(&session_id, Some(&row.state), events);
    let epoch = row.epoch;
    Ok(Some((HandOut { session_id, epoch }, events)))
}

/// Loads what the attempt needs; `None` when it was revoked in the meantime.
///
/// A long transcript takes its time, which is why this is no part of the hand-out: that is a
/// write, and all writers wait for each other.
pub(crate) fn claim(
    transaction: &Transaction<'_>,
    HandOut { session_id, epoch }: &HandOut,
) -> Result<Option<Claim>, EngineError> {
    let rows = SessionRows::new(transaction, session_id);
    let row = rows.load()?;
    if row.epoch != *epoch {
        return Ok(None);
    }
    let epoch = row.epoch;
    let attempt = plan(&rows, session_id, row)?;
    Ok(Some(Claim { epoch, attempt }))
}

/// When the next attempt that nobody has and the worker can perform may start.
pub(crate) fn next_due(
    transaction: &Transaction<'_>,
    context: &WorkerContext,
) -> Result<Option<u64>, EngineError> {
    Ok(transaction
        .prepare_cached(
            "SELECT min(due_at) FROM session WHERE due_at IS NOT NULL AND owner IS NULL
             AND flow_type IN (SELECT value FROM json_each(?1))
             AND session_id NOT IN (SELECT session_id FROM set_aside)",
        )?
        .query_row([flow_types(context)], |row| row.get(0))?)
}

/// Applies an event of the worker that has the attempt.
pub(crate) fn apply_claimed(
    transaction: &Transaction<'_>,
    claim: &Claim,
    event: Event,
    circumstances: &Circumstances,
) -> Result<Vec<LiveEvent>, EngineError> {
    let session_id = &claim.attempt.session_id;
    let rows = SessionRows::new(transaction, session_id);
    if rows.epoch()? != Some(claim.epoch) {
        return Err(EngineError::LeaseLost(session_id.clone()));
    }
    let mut row = rows.load()?;
    let keeps_attempt = event == Event::HandlerEntered;
    let before = row.state.clone();
    let effects = row
        .state
        .apply(event, circumstances)
        .map_err(|_| EngineError::LeaseLost(session_id.clone()))?;
    if !keeps_attempt {
        row.owner = None;
    }
    let events = rows.write(effects)?;
    rows.save(&row)?;
    Ok(place(session_id, Some(&before), events))
}

/// Whether the worker still has the attempt.
pub(crate) fn is_held(transaction: &Transaction<'_>, claim: &Claim) -> Result<bool, EngineError> {
    let rows = SessionRows::new(transaction, &claim.attempt.session_id);
    Ok(rows.epoch()? == Some(claim.epoch))
}

/// A worker that has attempts and cannot end them.
#[derive(Clone, Debug)]
pub(crate) struct LostWorker {
    name: String,
    died: bool,
}

/// Workers that died or stopped and have attempts that this one can end.
pub(crate) fn lost_workers(
    transaction: &Transaction<'_>,
    state_directory: &Path,
    own_name: &str,
    context: &WorkerContext,
) -> Result<Vec<LostWorker>, EngineError> {
    let mut lost = Vec::new();
    for name in owners(transaction, context)? {
        let died = is_dead(state_directory, &name);
        if name != own_name && (died || is_silent(transaction, &name)?) {
            lost.push(LostWorker { name, died });
        }
    }
    Ok(lost)
}

/// Ends the attempts of a lost worker that this one can end.
pub(crate) fn take_over(
    transaction: &Transaction<'_>,
    state_directory: &Path,
    lost: &LostWorker,
    context: &WorkerContext,
) -> Result<Vec<LiveEvent>, EngineError> {
    // It may have given a sign of life since it was looked at.
    if !lost.died && !is_silent(transaction, &lost.name)? {
        return Ok(Vec::new());
    }
    let mut events = Vec::new();
    for session_id in sessions_of(transaction, &lost.name, &flow_types(context))? {
        events.extend(end_lost_attempt(transaction, &session_id, context)?);
    }
    if !has_sessions(transaction, &lost.name)? {
        sign_off(transaction, &lost.name)?;
        if lost.died {
            bury(state_directory, &lost.name);
        }
    }
    Ok(events)
}

/// Removes what dead workers left that had no attempts.
pub(crate) fn forget_dead(
    transaction: &Transaction<'_>,
    state_directory: &Path,
) -> Result<(), EngineError> {
    for worker in dead_workers(state_directory)? {
        if !has_sessions(transaction, &worker)? {
            sign_off(transaction, &worker)?;
            bury(state_directory, &worker);
        }
    }
    Ok(())
}

fn end_lost_attempt(
    transaction: &Transaction<'_>,
    session_id: &str,
    context: &WorkerContext,
) -> Result<Vec<LiveEvent>, EngineError> {
    let rows = SessionRows::new(transaction, session_id);
    let mut row = rows.load()?;
    row.owner = None;
    row.epoch += 1;
    let before = row.state.clone();
    let circumstances = circumstances(context, &row.flow_type);
    let effects = row
        .state
        .apply(Event::AttemptInterrupted, &circumstances)
        .unwrap_or_default();
    let events = rows.write(effects)?;
    rows.save(&row)?;
    Ok(place(session_id, Some(&before), events))
}

fn owners(
    transaction: &Transaction<'_>,
    context: &WorkerContext,
) -> Result<Vec<String>, EngineError> {
    let mut statement = transaction.prepare_cached(
        "SELECT DISTINCT owner FROM session WHERE owner IS NOT NULL
         AND flow_type IN (SELECT value FROM json_each(?1))",
    )?;
    let owners = statement.query_map([flow_types(context)], |row| row.get(0))?;
    Ok(owners.collect::<rusqlite::Result<_>>()?)
}

fn sessions_of(
    transaction: &Transaction<'_>,
    owner: &str,
    flow_types: &str,
) -> Result<Vec<String>, EngineError> {
    let mut statement = transaction.prepare_cached(
        "SELECT session_id FROM session WHERE owner = ?1
         AND flow_type IN (SELECT value FROM json_each(?2))",
    )?;
    let sessions = statement.query_map([owner, flow_types], |row| row.get(0))?;
    Ok(sessions.collect::<rusqlite::Result<_>>()?)
}

fn has_sessions(transaction: &Transaction<'_>, owner: &str) -> Result<bool, EngineError> {
    Ok(transaction
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM session WHERE owner = ?1)")?
        .query_row([owner], |row| row.get(0))?)
}

fn is_silent(transaction: &Transaction<'_>, worker: &str) -> Result<bool, EngineError> {
    let seen: Option<u64> = transaction
        .prepare_cached("SELECT seen_at FROM worker WHERE worker = ?1")?
        .query_row([worker], |row| row.get(0))
        .optional()?;
    Ok(seen.is_none_or(|seen| seen.saturating_add(LEASE) < now()))
}

/// Puts the worker's sign of life on record.
pub(crate) fn sign_of_life(
    transaction: &Transaction<'_>,
    worker: &str,
    now: u64,
) -> Result<(), EngineError> {
    transaction
        .prepare_cached(
            "INSERT INTO worker (worker, seen_at) VALUES (?1, ?2)
             ON CONFLICT (worker) DO UPDATE SET seen_at = ?2",
        )?
        .execute((worker, now))?;
    Ok(())
}

/// Removes the worker from the record.
pub(crate) fn sign_off(transaction: &Transaction<'_>, worker: &str) -> Result<(), EngineError> {
    transaction
        .prepare_cached("DELETE FROM worker WHERE worker = ?1")?
        .execute([worker])?;
    Ok(())
}

fn plan(
    rows: &SessionRows<'_>,
    session_id: &str,
    row: SessionRow,
) -> Result<PlannedAttempt, EngineError> {
    let state = row.state;
    let corrupt = |reason: &str| EngineError::Corrupt {
        session_id: session_id.to_owned(),
        reason: reason.to_owned(),
    };
    let turn = state
        .turn
        .as_ref()
        .ok_or_else(|| corrupt("an attempt started outside a turn"))?;
    let work = match &turn.current.step {
        Step::RunModel => Work::RunModel {
            start: segment_start(rows, turn)?
                .map(Arc::new)
                .ok_or_else(|| corrupt("a suspended call has no record"))?,
            recorded: turn
                .records
                .iter()
                .map(|record| record.call.tool_use_id.clone())
                .collect(),
        },
        Step::Call(call) => Work::Call {
            call: call.clone(),
            idempotency_key: turn.idempotency_key(state.key),
        },
        Step::ResumeTurn => Work::ResumeTurn,
        Step::AwaitToolApproval(_) => return Err(corrupt("an approval has no attempt")),
    };
    Ok(PlannedAttempt {
        session_id: session_id.to_owned(),
        flow_type: row.flow_type,
        turn_id: turn.id.clone(),
        step_execution_id: turn.current.id.clone(),
        attempt: turn.current.attempt.number(),
        step_type: turn.current.step.step_type(),
        work,
    })
}

fn segment_start(rows: &SessionRows<'_>, turn: &Turn) -> Result<Option<SegmentStart>, EngineError> {
    let transcript = rows.transcript()?;
    let Some(suspension) = &turn.suspension else {
        return Ok(Some(SegmentStart::Prompt {
            texts: rows.unseen_prompts()?,
            transcript,
        }));
    };
    let turn_entries = rows.suspended_entries()?;
    Ok(turn.record_to_deliver().map(|record| SegmentStart::Resume {
        claude_session_id: suspension.claude_session_id.clone(),
        transcript,
        turn_entries,
        record: record.clone(),
    }))
}

/// Says of live events which attempt they belong to.
pub(crate) fn place(
    session_id: &str,
    state: Option<&SessionState>,
    events: Vec<SessionEvent>,
) -> Vec<LiveEvent> {
    let turn = state.and_then(|state| state.turn.as_ref());
    events
        .into_iter()
        .map(|event| LiveEvent {
            session_id: session_id.to_owned(),
            turn_id: turn.map(|turn| turn.id.clone()).unwrap_or_default(),
            step_execution_id: turn.map(|turn| turn.current.id.clone()).unwrap_or_default(),
            attempt: turn.map_or(0, |turn| turn.current.attempt.number()),
            event,
        })
        .collect()
}

/// A new or changed session row with its events placed.
pub(crate) fn apply_command(
    rows: &SessionRows<'_>,
    session_id: &str,
    row: &mut SessionRow,
    event: Event,
    circumstances: &Circumstances,
) -> Result<Option<Vec<LiveEvent>>, EngineError> {
    let revokes = event == Event::TurnCancelled;
    let before = row.state.clone();
    let Ok(effects) = row.state.apply(event, circumstances) else {
        return Ok(None);
    };
    if revokes {
        row.owner = None;
        row.epoch += 1;
    }
    let placed = if before.turn.is_some() {
        &before
    } else {
        &row.state
    };
    let placed = placed.clone();
    let events = rows.write(effects)?;
    rows.save(row)?;
    Ok(Some(place(session_id, Some(&placed), events)))
}
