//! Result frames, and the synthetic replies that go before some of them.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::call::Call;
use super::run::Turn;
use crate::clock;
use crate::messages_api::FailureReport;
use crate::session::Session;
use crate::transcript::PendingDeferral;
use crate::usage::{Bill, Tokens};

/// How a turn is over.
#[derive(Debug, Clone)]
pub(crate) enum Finish {
    Completed,
    Deferred {
        call: Call,
        input: Value,
    },
    MaxTurns,
    /// A hook wanted the turn to end.
    StoppedByHook,
    Aborted {
        terminal_reason: &'static str,
        stop_reason: Value,
    },
    Failed(FailureReport),
}

/// When the first things of a turn happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    started: Instant,
    request: Option<Instant>,
    /// Of a streamed reply.
    first_event: Option<Instant>,
    /// Of any reply.
    first_words: Option<Instant>,
    first_frame: Option<Instant>,
}

impl Times {
    pub(crate) fn starting(started: Instant) -> Self {
        Self {
            started,
            request: None,
            first_event: None,
            first_words: None,
            first_frame: None,
        }
    }

    pub(crate) fn note_request(&mut self) {
        self.request.get_or_insert_with(Instant::now);
    }

    pub(crate) fn note_first_event(&mut self) {
        self.first_event.get_or_insert_with(Instant::now);
    }

    pub(crate) fn note_first_words(&mut self) {
        self.first_words.get_or_insert_with(Instant::now);
    }

    pub(crate) fn note_first_frame(&mut self) {
        self.first_frame.get_or_insert_with(Instant::now);
    }

    fn since_start(&self, moment: Option<Instant>) -> Option<u64> {
        moment.map(|moment| milliseconds(moment - self.started))
    }
}

/// The result of a turn, its members in the order of the real program's (observed on CLI 2.1.316).
pub(crate) fn result_frame(turn: &mut Turn, finish: Finish) -> Value {
    let session = std::rc::Rc::clone(&turn.session);
    let stop_reason = match &finish {
        Finish::Completed | Finish::MaxTurns | Finish::StoppedByHook => turn.stop_reason.clone(),
        Finish::Deferred { .. } => json!("tool_deferred"),
        Finish::Aborted { stop_reason, .. } => stop_reason.clone(),
        Finish::Failed(report) if report.refused_message_id.is_some() => json!("refusal"),
        Finish::Failed(_) => json!("stop_sequence"),
    };
    let terminal_reason = match &finish {
        Finish::Completed => "completed",
        Finish::Deferred { .. } => "tool_deferred",
        Finish::MaxTurns => "max_turns",
        Finish::StoppedByHook => "hook_stopped",
        Finish::Aborted {
            terminal_reason, ..
        } => terminal_reason,
        Finish::Failed(report) => report.terminal_reason,
    };
    let is_error = !matches!(
        finish,
        Finish::Completed | Finish::Deferred { .. } | Finish::StoppedByHook
    );
    let mut frame = Map::new();
    let api_time = session.ledger.borrow().api_time;
    frame.insert("duration_api_ms".into(), json!(milliseconds(api_time)));
    frame.insert("stop_reason".into(), stop_reason.clone());
    add_accounts(&mut frame, &session, turn.tokens, &turn.denials);
    frame.insert("terminal_reason".into(), json!(terminal_reason));
    add_statistics(&mut frame, turn.safety_stops);
    frame.insert("is_error".into(), json!(is_error));
    frame.insert("num_turns".into(), json!(turn.turns));
    add_outcome(&mut frame, turn, &finish, &stop_reason);
    let with_times = matches!(finish, Finish::Completed | Finish::StoppedByHook);
    if with_times {
        frame.insert(
            "ttft_ms".into(),
            json!(turn.times.since_start(turn.times.first_words)),
        );
    }
    if let Finish::Deferred { call, input } = &finish {
        let deferred = json!({"id": call.id, "name": call.name, "input": input});
        frame.insert("deferred_tool_use".into(), deferred);
    }
    frame.insert("type".into(), json!("result"));
    let duration = milliseconds(turn.times.started.elapsed());
    frame.insert("duration_ms".into(), json!(duration));
    frame.insert("uuid".into(), json!(Uuid::new_v4()));
    if with_times {
        let times = &turn.times;
        let moments = [
            ("ttft_stream_ms", times.first_event),
            (
                "time_to_request_ms",
                times.request.filter(|_| times.first_event.is_some()),
            ),
            ("first_content_frame_ms", times.first_frame),
        ];
        for (name, moment) in moments {
            if let Some(since) = times.since_start(moment) {
                frame.insert(name.into(), json!(since));
            }
        }
    }
    close(&session, frame, &turn.bill, is_error)
}

fn add_outcome(frame: &mut Map<String, Value>, turn: &Turn, finish: &Finish, stop: &Value) {
    match finish {
        Finish::Completed | Finish::StoppedByHook => {
            frame.insert("subtype".into(), json!("success"));
            frame.insert("api_error_status".into(), Value::Null);
            frame.insert("result".into(), json!(turn.last_text));
        }
        Finish::Deferred { .. } => {
            frame.insert("subtype".into(), json!("success"));
            frame.insert("result".into(), json!(""));
        }
        Finish::Failed(report) => {
            frame.insert("subtype".into(), json!("success"));
            frame.insert("api_error_status".into(), report.status.clone());
            if let Some(api_error) = report.api_error {
                frame.insert("api_error".into(), json!(api_error));
            }
            frame.insert("result".into(), json!(report.text));
        }
        Finish::MaxTurns => {
            let limit = turn.session.arguments.max_turns.unwrap_or_default();
            let error = format!("Reached maximum number of turns ({limit})");
            frame.insert("subtype".into(), json!("error_max_turns"));
            frame.insert("errors".into(), json!([error]));
        }
        Finish::Aborted { .. } => {
            let stop = stop.as_str().unwrap_or("null");
            let error = format!(
                "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}"
            );
            frame.insert("subtype".into(), json!("error_during_execution"));
            frame.insert("errors".into(), json!([error]));
        }
    }
}

/// Why a resumed call stays deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its hook deferred it again.
    DeferredAgain {
        /// How many entries the session had.
        loaded: usize,
    },
    /// The tool does not exist in this process.
    Unavailable,
}

/// Messages that a call which is deferred again adds to the loaded ones: the two attachments and the
/// words that would have continued (observed on CLI 2.1.316).
const ADDED_BY_DEFERRAL: usize = 3;

/// The result of a resumed call that stays deferred. Its count of turns is one of messages (observed
/// on CLI 2.1.316).
pub(crate) fn pending_result(
    session: &Session,
    deferral: &PendingDeferral,
    started: Instant,
    standing: Standing,
) -> Value {
    let (reason, turns, unavailable) = match standing {
        Standing::DeferredAgain { loaded } => ("tool_deferred", loaded + ADDED_BY_DEFERRAL, false),
        Standing::Unavailable => {
            let loaded = session.transcript.read(<[Value]>::len);
            ("tool_deferred_unavailable", loaded, true)
        }
    };
    let mut frame = Map::new();
    frame.insert("is_error".into(), json!(unavailable));
    frame.insert("duration_api_ms".into(), json!(0));
    frame.insert("num_turns".into(), json!(turns));
    frame.insert("stop_reason".into(), json!(reason));
    add_accounts(&mut frame, session, Tokens::default(), &[]);
    let saved = session.ledger.borrow().bill.saved_usage();
    frame.insert("modelUsage".into(), saved);
    if unavailable {
        frame.insert("terminal_reason".into(), json!(reason));
    }
    add_statistics(&mut frame, 0);
    frame.insert("subtype".into(), json!("success"));
    frame.insert("result".into(), json!(""));
    let deferred = json!({
        "id": deferral.tool_use_id,
        "name": deferral.tool,
        "input": deferral.input,
    });
    frame.insert("deferred_tool_use".into(), deferred);
    frame.insert("type".into(), json!("result"));
    frame.insert("duration_ms".into(), json!(milliseconds(started.elapsed())));
    frame.insert("uuid".into(), json!(Uuid::new_v4()));
    close(session, frame, &Bill::default(), unavailable)
}

/// A prompt that a hook refused: nothing of it reaches the model (observed on CLI 2.1.316).
pub(crate) fn refuse_prompt(session: &Session, prompt: &str, reason: &str) {
    let text = format!(
        "UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: {prompt}"
    );
    let uuid = Uuid::new_v4();
    session.output.frame(&json!({
        "type": "system",
        "subtype": "informational",
        "content": text,
        "level": "warning",
        "prevent_continuation": true,
        "prompt_submit_outcome": {
            "kind": "blocked_by_hook",
            "prompt_kept": false,
            "reason": reason,
        },
        "uuid": uuid,
        "session_id": session.id,
    }));
    session.transcript.note(json!({
        "parentUuid": session.transcript.leaf(),
        "isSidechain": false,
        "type": "system",
        "subtype": "informational",
        "content": text,
        "isMeta": false,
        "timestamp": clock::timestamp(),
        "uuid": uuid,
        "level": "warning",
        "preventContinuation": true,
        "sessionId": session.id,
    }));
    session.transcript.flush();
    let mut frame = Map::new();
    frame.insert("is_error".into(), json!(false));
    frame.insert("duration_api_ms".into(), json!(0));
    frame.insert("num_turns".into(), json!(0));
    frame.insert("stop_reason".into(), Value::Null);
    add_accounts(&mut frame, session, Tokens::default(), &[]);
    add_statistics(&mut frame, 0);
    frame.insert("subtype".into(), json!("success"));
    frame.insert("result".into(), json!(text));
    frame.insert("type".into(), json!("result"));
    frame.insert("duration_ms".into(), json!(0));
    frame.insert("uuid".into(), json!(Uuid::new_v4()));
    let frame = close(session, frame, &Bill::default(), false);
    session.output.frame(&frame);
}

/// A session that cannot begin: one result, and the same words on stderr.
pub(crate) fn fail_session(session_id: &str, error: &str) -> Value {
    json!({
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": true,
        "num_turns": 0,
        "stop_reason": null,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": Tokens::default().usage(),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": Uuid::new_v4(),
        "errors": [error],
        "result_index": 0,
    })
}

fn add_accounts(
    frame: &mut Map<String, Value>,
    session: &Session,
    tokens: Tokens,
    denials: &[Value],
) {
    let ledger = session.ledger.borrow();
    let cost = ledger.bill.total_cost();
    let cost = if cost == 0.0 { json!(0) } else { json!(cost) };
    frame.insert("session_id".into(), json!(session.id));
    frame.insert("total_cost_usd".into(), cost);
    frame.insert("usage".into(), tokens.usage());
    frame.insert("modelUsage".into(), ledger.bill.model_usage());
    frame.insert("permission_denials".into(), json!(denials));
}

fn add_statistics(frame: &mut Map<String, Value>, safety_stops: u64) {
    frame.insert("fast_mode_state".into(), json!("off"));
    frame.insert(
        "fast_mode_disabled_reason".into(),
        json!("sdk_opt_in_required"),
    );
    let subagents = json!({
        "spawned": 0,
        "requested": {"background": 0, "foreground": 0, "unset": 0},
        "started_in_background": 0,
        "max_depth": 0,
        "spawned_by_subagents": 0,
        "completed": 0,
        "failed": 0,
        "killed": {"parent": 0, "user": 0, "system": 0},
        "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
        "by_type": {},
    });
    frame.insert("subagent_stats".into(), subagents);
    frame.insert("safety_stops".into(), json!(safety_stops));
}

fn close(session: &Session, mut frame: Map<String, Value>, bill: &Bill, is_error: bool) -> Value {
    let mut ledger = session.ledger.borrow_mut();
    let resuming = std::mem::take(&mut ledger.resuming);
    let queued = if resuming { 0 } else { session.prompts.len() };
    frame.insert("queued_turn_count".into(), json!(queued));
    frame.insert("result_index".into(), json!(ledger.results));
    frame.insert("model_usage_since_last_result".into(), bill.model_usage());
    ledger.results += 1;
    ledger.last_result_was_error = is_error;
    Value::Object(frame)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
