//! The engine's promises to its workers, with Steps that need no CLI.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::agent::policy::ToolKind;
use crate::agent::sabotage::Sabotage;
use crate::engine::contract::{
    AttemptScope, Command, Engine as _, EngineError, PlannedAttempt, StepPerformer, Work,
    WorkerContext,
};
use crate::engine::embedded::claim::{Claim, LEASE, apply_claimed, claim, hand_out, sign_of_life};
use crate::engine::embedded::engine::{EmbeddedEngine, now};
use crate::engine::embedded::liveness::WorkerLock;
use crate::engine::embedded::set_aside;
use crate::session::event::{AttemptResult, Circumstances, Event, SegmentEnd};
use crate::session::record::{DeferredCall, ToolCallOutcome};
use crate::session::snapshot::{SessionStatus, Snapshot, Usage};
use crate::session::step::{RetryPolicy, StepOutcome};

const FLOW_TYPE: &str = "Quick";

/// Performs every Step at once: a turn's first segment defers a write, the next one ends the turn.
#[derive(Default)]
struct QuickPerformer {
    /// What the write does instead of ending well.
    write: Write,
    written: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Write {
    #[default]
    Ends,
    SaysMuch,
    Panics,
}

#[async_trait]
impl StepPerformer for QuickPerformer {
    async fn perform(
        &self,
        attempt: &PlannedAttempt,
        scope: &dyn AttemptScope,
    ) -> Option<AttemptResult> {
        match &attempt.work {
            Work::RunModel { recorded, .. } => {
                Some(segment_end(recorded.is_empty().then(deferred_write)))
            }
            Work::Call {
                idempotency_key, ..
            } => {
                scope.enter_handler().await.expect("the lease is held");
                self.written
                    .lock()
                    .expect("no holder panics")
                    .push(idempotency_key.clone());
                assert!(self.write != Write::Panics, "the write panics as it should");
                let words = if self.write == Write::SaysMuch {
                    65_536
                } else {
                    1
                };
                Some(AttemptResult::ToolEnded {
                    outcome: ToolCallOutcome::Succeeded,
                    output: "written ".repeat(words),
                })
            }
            Work::ResumeTurn => Some(AttemptResult::Resumed),
        }
    }

    fn flow_types(&self) -> Vec<String> {
        vec![FLOW_TYPE.to_owned()]
    }

    fn retry(&self, _flow_type: &str) -> RetryPolicy {
        RetryPolicy::default()
    }

    fn sabotage(&self, _flow_type: &str) -> Option<Sabotage> {
        None
    }
}

fn segment_end(deferred: Option<DeferredCall>) -> AttemptResult {
    AttemptResult::Segment(SegmentEnd {
        claude_session_id: "claude".into(),
        turn_entries: vec![json!({
            "type": "assistant",
            "uuid": "entry",
            "message": {"id": "message", "content": [{"type": "text", "text": "Done."}]},
        })],
        usage: Usage::default(),
        deferred,
    })
}

fn deferred_write() -> DeferredCall {
    DeferredCall {
        tool_use_id: "toolu_1".into(),
        tool: "publish".into(),
        arguments: json!({}),
        kind: ToolKind::Custom,
        needs_approval: false,
        single_attempt: true,
    }
}

struct Fixture {
    directory: TempDir,
    engine: EmbeddedEngine,
}

impl Fixture {
    async fn with_session() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let engine = EmbeddedEngine::open(directory.path()).expect("the directory is empty");
        let message = Some("publish".to_owned());
        let started = engine.start_session(FLOW_TYPE, "session", message).await;
        started.expect("the session is new");
        Self { directory, engine }
    }

    /// Lets one worker finish what is due.
    async fn finish(&self, performer: QuickPerformer) -> (Snapshot, Vec<String>) {
        let performer = Arc::new(performer);
        let context = context(Arc::clone(&performer));
        let stop = context.stop.clone();
        let engine = self.engine.clone();
        let working = tokio::spawn(async move { engine.work(context).await });
        let mut changes = self.engine.changes().await.expect("the directory exists");
        let snapshot = loop {
            let snapshot = self.engine.snapshot("session").await;
            let snapshot = snapshot.expect("the session exists");
            if snapshot.status == SessionStatus::Idle {
                break snapshot;
            }
            changes.recv().await.expect("the engine lives");
        };
        stop.cancel();
        let worked = working.await.expect("the worker does not panic");
        worked.expect("the worker ends well");
        let written = performer.written.lock().expect("no holder panics").clone();
        (snapshot, written)
    }
}

fn context(performer: Arc<QuickPerformer>) -> WorkerContext {
    let (events, _) = broadcast::channel(16);
    WorkerContext {
        performer,
        observer: None,
        events,
        concurrency: 2,
        serving: watch::Sender::new(false),
        stop: CancellationToken::new(),
    }
}

fn quick_context() -> WorkerContext {
    context(Arc::new(QuickPerformer::default()))
}

fn circumstances() -> Circumstances {
    Circumstances {
        now: now(),
        retry: RetryPolicy::default(),
        sabotage: None,
    }
}

fn claim_next(
    transaction: &rusqlite::Transaction<'_>,
    worker: &str,
) -> Result<Option<Claim>, EngineError> {
    match hand_out(transaction, worker, &quick_context())? {
        Some((handed_out, _)) => claim(transaction, &handed_out),
        None => Ok(None),
    }
}

#[tokio::test]
async fn a_cancel_before_an_attempt_is_planned_revokes_it() {
    let fixture = Fixture::with_session().await;
    let shared = fixture.engine.shared();
    let handed_out = shared
        .write(|transaction| hand_out(transaction, "worker", &quick_context()))
        .await;
    let (handed_out, _) = handed_out
        .expect("the database works")
        .expect("a segment is due");
    let cancelled = fixture.engine.submit("session", Command::Cancel).await;
    assert!(cancelled.expect("the session exists"));
    let claimed = shared
        .read(move |transaction| claim(transaction, &handed_out))
        .await;
    assert!(claimed.expect("the database works").is_none());
}

#[tokio::test]
async fn a_turn_runs_from_its_message_to_its_end() {
    let fixture = Fixture::with_session().await;
    let (snapshot, written) = fixture.finish(QuickPerformer::default()).await;
    assert_eq!(snapshot.last_turn_error, None);
    assert_eq!(written.len(), 1);
    assert_eq!(snapshot.tool_calls[0].outcome, ToolCallOutcome::Succeeded);
    assert_eq!(
        snapshot.messages.last().map(|it| it.text.as_str()),
        Some("Done.")
    );
}

#[tokio::test]
async fn a_panic_of_a_handler_leaves_an_unknown_outcome() {
    let fixture = Fixture::with_session().await;
    let performer = QuickPerformer {
        write: Write::Panics,
        ..QuickPerformer::default()
    };
    let (snapshot, written) = fixture.finish(performer).await;
    assert_eq!(snapshot.last_turn_error, None);
    assert_eq!(written.len(), 1);
    assert_eq!(
        snapshot.tool_calls[0].outcome,
        ToolCallOutcome::OutcomeUnknown
    );
}

#[tokio::test]
async fn a_silent_worker_loses_its_attempt_and_its_late_commit_is_refused() {
    let fixture = Fixture::with_session().await;
    let shared = fixture.engine.shared();
    // Its lock is held: the worker lives, but has given no sign for longer than a lease.
    let silent = WorkerLock::take(fixture.directory.path()).expect("the directory exists");
    let name = silent.name().to_owned();
    let taken = shared
        .write(move |transaction| {
            sign_of_life(transaction, &name, now() - LEASE - 1)?;
            claim_next(transaction, &name)
        })
        .await;
    let taken = taken
        .expect("the database works")
        .expect("a segment is due");

    let (snapshot, _) = fixture.finish(QuickPerformer::default()).await;
    assert_eq!(snapshot.steps[0].outcome, StepOutcome::Interrupted);
    assert_eq!(snapshot.steps[1].attempt, 2);

    let late = shared
        .write(move |transaction| {
            let event = Event::AttemptEnded(segment_end(None));
            apply_claimed(transaction, &taken, event, &circumstances())
        })
        .await;
    assert!(matches!(late, Err(EngineError::LeaseLost(_))), "{late:?}");
    let after = fixture.engine.snapshot("session").await;
    assert_eq!(after.expect("the session exists"), snapshot);
}

#[tokio::test]
async fn what_a_dead_worker_without_attempts_left_is_removed() {
    let fixture = Fixture::with_session().await;
    let workers = fixture.directory.path().join("workers");
    let left = || {
        std::fs::read_dir(&workers)
            .expect("the engine made it")
            .count()
    };
    // As the kernel leaves it: the lock is free, nothing is tidied up.
    std::fs::write(workers.join("dead.lock"), "").expect("the directory can be written");
    std::fs::create_dir(workers.join("dead")).expect("the directory can be written");
    let living = WorkerLock::take(fixture.directory.path()).expect("the directory exists");
    assert_eq!(left(), 4);
    fixture.finish(QuickPerformer::default()).await;
    assert_eq!(left(), 2, "only what the living worker has");
    drop(living);
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn a_commit_after_a_cancel_is_refused() {
    let fixture = Fixture::with_session().await;
    let shared = fixture.engine.shared();
    let worker = WorkerLock::take(fixture.directory.path()).expect("the directory exists");
    let name = worker.name().to_owned();
    let taken = shared
        .write(move |transaction| claim_next(transaction, &name))
        .await;
    let taken = taken
        .expect("the database works")
        .expect("a segment is due");
    let cancelled = fixture.engine.submit("session", Command::Cancel).await;
    assert!(cancelled.expect("the session exists"));
    let late = shared
        .write(move |transaction| {
            let event = Event::AttemptEnded(segment_end(None));
            apply_claimed(transaction, &taken, event, &circumstances())
        })
        .await;
    assert!(matches!(late, Err(EngineError::LeaseLost(_))), "{late:?}");
    let after = fixture.engine.snapshot("session").await;
    let after = after.expect("the session exists");
    assert_eq!(after.status, SessionStatus::Idle);
    assert_eq!(after.messages.len(), 1);
}

#[tokio::test]
async fn a_result_that_finds_no_room_ends_the_worker_and_is_not_made_twice() {
    let fixture = Fixture::with_session().await;
    let performer = Arc::new(QuickPerformer {
        write: Write::SaysMuch,
        ..QuickPerformer::default()
    });
    // Room for all that is small.
    limit_pages(&fixture, Some(64)).await;
    let worked = fixture.engine.work(context(Arc::clone(&performer))).await;
    let error = worked.expect_err("the result does not fit");
    assert!(error.to_string().contains("disk is full"), "{error}");
    assert_eq!(performer.written.lock().expect("no holder panics").len(), 1);

    limit_pages(&fixture, Some(1_000_000)).await;
    let (snapshot, written) = fixture.finish(QuickPerformer::default()).await;
    assert_eq!(snapshot.last_turn_error, None);
    assert_eq!(written.len(), 0, "nobody knows what the write did");
    let outcome = snapshot.tool_calls[0].outcome;
    assert_eq!(outcome, ToolCallOutcome::OutcomeUnknown);
}

/// Spoils what is stored of a session, as a failing disk would.
fn spoil(fixture: &Fixture, sql: &str) {
    let path = fixture.directory.path().join("session.db");
    let connection = rusqlite::Connection::open(path).expect("the file exists");
    let spoilt = connection
        .execute(sql, [])
        .expect("the rows can be written");
    assert_eq!(spoilt, 1);
}

async fn start_other(fixture: &Fixture) {
    let message = Some("publish".to_owned());
    let started = fixture.engine.start_session(FLOW_TYPE, "other", message);
    started.await.expect("the session is new");
}

/// Lets a worker work until the other session is through and the spoilt one is set aside.
async fn others_go_on(fixture: &Fixture) {
    let context = quick_context();
    let stop = context.stop.clone();
    let engine = fixture.engine.clone();
    let working = tokio::spawn(async move { engine.work(context).await });
    let mut changes = fixture
        .engine
        .changes()
        .await
        .expect("the directory exists");
    loop {
        let other = fixture.engine.snapshot("other").await;
        let is_idle = other.expect("the session exists").status == SessionStatus::Idle;
        if is_idle && is_set_aside(fixture).await {
            break;
        }
        changes.recv().await.expect("the engine lives");
    }
    stop.cancel();
    let worked = working.await.expect("the worker does not panic");
    worked.expect("one spoilt session ends no worker");
}

async fn is_set_aside(fixture: &Fixture) -> bool {
    let reason = fixture
        .engine
        .shared()
        .read(|transaction| set_aside::reason(transaction, "session"))
        .await;
    reason.expect("the database works").is_some()
}

#[tokio::test]
async fn a_session_with_unreadable_state_is_set_aside_and_repaired() {
    let fixture = Fixture::with_session().await;
    start_other(&fixture).await;
    spoil(
        &fixture,
        "UPDATE session SET state = 'X' || state WHERE session_id = 'session'",
    );
    others_go_on(&fixture).await;
    let error = fixture.engine.snapshot("session").await;
    let error = error.expect_err("it cannot be read");
    assert!(matches!(error, EngineError::Corrupt { .. }), "{error}");
    let again = fixture.engine.take_up_again("session").await;
    assert!(
        matches!(again, Err(EngineError::Corrupt { .. })),
        "{again:?}"
    );

    spoil(
        &fixture,
        "UPDATE session SET state = substr(state, 2) WHERE session_id = 'session'",
    );
    let again = fixture.engine.take_up_again("session").await;
    assert!(again.expect("it can be read"));
    let (snapshot, written) = fixture.finish(QuickPerformer::default()).await;
    assert_eq!(snapshot.set_aside, None);
    assert_eq!(snapshot.last_turn_error, None);
    assert_eq!(written.len(), 1);
}

#[tokio::test]
async fn a_session_with_an_unreadable_message_says_so_and_keeps_the_others() {
    let fixture = Fixture::with_session().await;
    start_other(&fixture).await;
    spoil(
        &fixture,
        "UPDATE message SET framework_item = '{' || framework_item
         WHERE session_id = 'session' AND sequence = 1",
    );
    others_go_on(&fixture).await;
    let snapshot = fixture.engine.snapshot("session").await;
    let snapshot = snapshot.expect("its state can be read");
    assert!(snapshot.set_aside.is_some());
    assert_eq!(snapshot.messages[0].text, "publish");

    spoil(
        &fixture,
        "UPDATE message SET framework_item = substr(framework_item, 2)
         WHERE session_id = 'session' AND sequence = 1",
    );
    let again = fixture.engine.take_up_again("session").await;
    assert!(again.expect("it can be read"));
    let again = fixture.engine.take_up_again("session").await;
    assert!(!again.expect("it can be read"), "it was taken up before");
    let (snapshot, written) = fixture.finish(QuickPerformer::default()).await;
    assert_eq!(snapshot.last_turn_error, None);
    assert_eq!(written.len(), 1);
}

/// Leaves the engine's file no room, or all the room there is.
async fn limit_pages(fixture: &Fixture, limit: Option<u32>) {
    let limited = fixture
        .engine
        .shared()
        .read(move |transaction| {
            let pages: u32 = transaction.query_row("PRAGMA page_count", [], |row| row.get(0))?;
            let limit = limit.unwrap_or(pages);
            transaction.query_row(&format!("PRAGMA max_page_count = {limit}"), [], |_| Ok(()))?;
            Ok(())
        })
        .await;
    limited.expect("the database works");
}

#[tokio::test]
async fn a_full_disk_refuses_messages_and_loses_nothing() {
    let fixture = Fixture::with_session().await;
    let before = fixture.engine.snapshot("session").await;
    limit_pages(&fixture, None).await;
    let text = "a long message. ".repeat(4096);
    let sent = fixture
        .engine
        .submit("session", Command::Send { text: text.clone() })
        .await;
    let error = sent.expect_err("there is no room");
    assert!(error.to_string().contains("disk is full"), "{error}");
    let after = fixture.engine.snapshot("session").await;
    assert_eq!(after.expect("it exists"), before.expect("it exists"));

    limit_pages(&fixture, Some(1_000_000)).await;
    let sent = fixture
        .engine
        .submit("session", Command::Send { text })
        .await;
    assert!(sent.expect("there is room again"));
    let (snapshot, _) = fixture.finish(QuickPerformer::default()).await;
    assert_eq!(snapshot.last_turn_error, None);
    assert_eq!(snapshot.messages[0].text, "publish");
}
