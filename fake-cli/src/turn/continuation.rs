//! A resumed session runs the call that its predecessor deferred, and goes on from there.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use serde_json::json;
use uuid::Uuid;

use super::call::{Call, Ending, HookTraces, Phase, Settled, run_call};
use super::context;
use super::result::{Finish, Standing, pending_result};
use super::run::Turn;
use super::settle;
use crate::control;
use crate::frames;
use crate::permissions::texts;
use crate::quirks::Quirk;
use crate::session::Session;
use crate::tools::{self, Tool};
use crate::transcript::PendingDeferral;

/// Runs the deferred call once start-up is done. The tool of a server that is not configured on the
/// command line does not exist yet, whatever `initialize` says (observed on CLI 2.1.316 with the
/// TypeScript SDK 0.3.332).
pub(crate) async fn resume_deferred_call(
    session: &Rc<Session>,
    deferral: PendingDeferral,
    configured: &[String],
) {
    let started = Instant::now();
    let command = Uuid::new_v4();
    let lifecycle = |state: &str| {
        let frame = frames::command_lifecycle(session, command, state);
        session.output.frame(&frame);
    };
    lifecycle("started");
    session.repeat_tools_used();
    context::note_continuation(session);
    session.ledger.borrow_mut().resuming = true;
    let missing = match tools::find(session, &deferral.tool) {
        None => true,
        Some(Tool::Mcp(tool)) => !configured.contains(&tool.server),
        Some(Tool::Builtin(_)) => false,
    };
    if missing || session.quirks.has(&Quirk::ToolDeferredUnavailable) {
        let result = pending_result(session, &deferral, started, Standing::Unavailable);
        session.output.frame(&result);
        lifecycle("cancelled");
        session.enter_state("idle");
        return;
    }
    let mut turn = Turn::new(session);
    let call = Call {
        id: deferral.tool_use_id.clone(),
        name: deferral.tool.clone(),
        input: deferral.input.clone(),
        assistant_uuid: deferral.assistant_uuid.clone(),
        prompt_id: None,
    };
    let settled = run_or_stop(session, call, &turn).await;
    if let Ending::Deferred { input } = &settled.ending {
        settle::show_hook_success(session, &settled.call, "PreToolUse");
        let loaded = session.transcript.read(<[serde_json::Value]>::len);
        let entry = settle::deferral_entry(session, &settled.call, input);
        let frame = frames::attachment(session, &entry["attachment"], &entry["uuid"]);
        session.output.frame(&frame);
        session.transcript.chain(entry);
        context::note_progress(session);
        context::note_mode(session);
        session.transcript.flush();
        let shown = PendingDeferral {
            input: input.clone(),
            ..deferral
        };
        session.output.frame(&pending_result(
            session,
            &shown,
            started,
            Standing::DeferredAgain { loaded },
        ));
        session.interrupts.end_turn();
        lifecycle("completed");
        session.enter_state("idle");
        return;
    }
    let (finish, state) = carry_on(&mut turn, settled, command).await;
    turn.end(finish).await;
    lifecycle(state);
    session.enter_state("idle");
}

/// Runs the call; an interrupt ends it with the words for a resumed call.
async fn run_or_stop(session: &Rc<Session>, call: Call, turn: &Turn) -> Settled {
    let phase = Rc::new(Cell::new(Phase::Undecided));
    let running = run_call(Rc::clone(session), call.clone(), Rc::clone(&phase));
    let settled = tokio::select! {
        biased;
        () = turn.interrupt.cancelled() => None,
        settled = running => Some(settled),
    };
    settled.unwrap_or_else(|| {
        control::answer_interrupts(session);
        let answered = session
            .hooks
            .borrow()
            .matching("PreToolUse", Some(&call.name))
            .len();
        let (answered, ending) = match phase.get() {
            Phase::Undecided | Phase::Asking => (0, Ending::Cancelled),
            Phase::Running => {
                let permission = json!({
                    "decision": "accept",
                    "source": "hook",
                    "reason_type": "hook",
                });
                let permission = Some(permission).filter(|_| answered > 0);
                (answered, Ending::CutOff { permission })
            }
        };
        Settled {
            call,
            hooks: HookTraces {
                answered,
                ..HookTraces::default()
            },
            ending,
        }
    })
}

/// The result is written, the model is told to continue.
async fn carry_on(turn: &mut Turn, settled: Settled, command: Uuid) -> (Finish, &'static str) {
    let session = Rc::clone(&turn.session);
    turn.settle_resumed(&settled);
    let index = {
        let mut ledger = session.ledger.borrow_mut();
        ledger.touched = true;
        ledger.prompts += 1;
        ledger.prompts
    };
    context::write_continuation(&session, turn.prompt_id, command, index);
    if turn.interrupt.is_cancelled() || turn.was_ended_by_host() {
        session.output.frame(&frames::system_init(&session));
        return (turn.interrupted_while_streaming(), "cancelled");
    }
    super::events::ask(
        &session,
        Some(turn.prompt_id),
        "UserPromptSubmit",
        None,
        json!({"prompt": texts::CONTINUE}),
        None,
    )
    .await;
    session.output.frame(&frames::system_init(&session));
    let finish = turn.run().await;
    let state = match finish {
        Finish::Aborted { .. } => "cancelled",
        _ => "completed",
    };
    (finish, state)
}
