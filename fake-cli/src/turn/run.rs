//! The loop of a turn: ask the model, run what it wants, ask again.

mod follow_up;
mod settling;

use std::rc::Rc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::announcement;
use super::call::Call;
use super::context;
use super::events;
use super::model_call::{Cut, StepEnd, call_model};
use super::queue::CallQueue;
use super::repair;
use super::result::{self, Finish, Times};
use super::settle::Report;
use super::synthetic_reply;
use crate::control;
use crate::frames;
use crate::messages_api::FailureReport;
use crate::permissions::texts;
use crate::quirks::Quirk;
use crate::session::{Prompt, Session};
use crate::transcript::user_entry;
use crate::usage::{Bill, Tokens};

/// A turn on its way.
pub(crate) struct Turn {
    pub(crate) session: Rc<Session>,
    /// The prompt that tool calls and hooks of this turn belong to.
    pub(crate) prompt_id: Uuid,
    /// The turn as hooks of the display know it.
    pub(crate) display_id: Uuid,
    pub(crate) interrupt: CancellationToken,
    pub(crate) calls: CallQueue,
    pub(crate) denials: Vec<Value>,
    pub(crate) deferred: Option<(Call, Value)>,
    pub(crate) turns: u64,
    pub(crate) tokens: Tokens,
    /// What the last reply used; the next request is told what that leaves.
    pub(crate) reply_tokens: Tokens,
    /// Tokens of the conversation when the turn began.
    context_before: u64,
    pub(crate) bill: Bill,
    pub(crate) times: Times,
    pub(crate) last_text: String,
    pub(crate) stop_reason: Value,
    pub(crate) safety_stops: u64,
    ended_by_host: bool,
    stopped_by_hook: bool,
    stop_blocked: bool,
    results_of_step: usize,
    /// The settled calls of the reply, as PostToolBatch shows them.
    batch: Vec<Value>,
    /// What was settled before the reply had ended; a reply's own entries come first.
    held: Option<Vec<Record>>,
    injections: Injections,
    steps: u64,
}

enum Record {
    Result(Report),
    Deferral(Value),
}

/// How often the program has put words of its own into the turn.
#[derive(Debug, Default)]
struct Injections {
    empty: u64,
    malformed: u64,
    too_long: u64,
    refused: u64,
    cut: u64,
}

/// Runs one turn over the prompts that wait once the servers are connected.
pub(crate) async fn run_prompts(session: &Rc<Session>) {
    let mut turn = Turn::new(session);
    session.enter_state("running");
    session.mcp.settled().await;
    let prompts = session.prompts.take();
    let replayed = prompts.clone();
    let content = merge(prompts);
    let prompt_text = text_of(&content);
    let empty = content.as_array().is_some_and(Vec::is_empty);
    session.repeat_tools_used();
    repair::repair_dangling_calls(session);
    for _ in &replayed {
        context::queue_operation(session, "dequeue", None);
    }
    let answers = events::ask(
        session,
        Some(turn.prompt_id),
        "UserPromptSubmit",
        None,
        json!({"prompt": prompt_text}),
        None,
    )
    .await;
    session.ledger.borrow_mut().touched = true;
    if let Some(reason) = answers.iter().find_map(|answer| answer.block.as_deref()) {
        session.output.frame(&frames::system_init(session));
        result::refuse_prompt(session, &prompt_text, reason);
        session.interrupts.end_turn();
        session.enter_state("idle");
        return;
    }
    let turn_index = {
        let mut ledger = session.ledger.borrow_mut();
        ledger.prompts += 1;
        if !empty {
            ledger.last_prompt = Some(prompt_text.replace('\n', " "));
        }
        ledger.prompts
    };
    if !empty {
        // A host that is shown its prompts again knows them by their own ids.
        let uuid = match replayed.last() {
            Some(prompt) if session.arguments.replay_user_messages => prompt.uuid,
            _ => Uuid::new_v4(),
        };
        context::write_prompt(session, turn.prompt_id, uuid, &content, turn_index);
    }
    let contexts: Vec<String> = answers
        .into_iter()
        .filter_map(|answer| answer.additional_context)
        .collect();
    announcement::announce(session, &contexts);
    session.output.frame(&frames::system_init(session));
    if session.arguments.replay_user_messages {
        for prompt in &replayed {
            session
                .output
                .frame(&frames::replayed_prompt(session, prompt));
        }
    }
    let finish = turn.run().await;
    turn.end(finish).await;
    session.enter_state("idle");
}

impl Turn {
    pub(crate) fn new(session: &Rc<Session>) -> Self {
        Self {
            session: Rc::clone(session),
            prompt_id: Uuid::new_v4(),
            display_id: Uuid::new_v4(),
            interrupt: session.interrupts.begin_turn(),
            calls: CallQueue::new(session),
            denials: Vec::new(),
            deferred: None,
            turns: 1,
            tokens: Tokens::default(),
            reply_tokens: Tokens::default(),
            context_before: session.ledger.borrow().context_tokens,
            bill: Bill::default(),
            times: Times::starting(Instant::now()),
            last_text: String::new(),
            stop_reason: Value::Null,
            safety_stops: 0,
            ended_by_host: false,
            stopped_by_hook: false,
            stop_blocked: false,
            results_of_step: 0,
            batch: Vec::new(),
            held: None,
            injections: Injections::default(),
            steps: 0,
        }
    }

    /// Runs until the turn is over.
    pub(crate) async fn run(&mut self) -> Finish {
        loop {
            if self.interrupt.is_cancelled() {
                return self.interrupted_while_streaming();
            }
            self.results_of_step = 0;
            self.steps += 1;
            self.held = Some(Vec::new());
            let end = call_model(self).await;
            self.release_held();
            match end {
                StepEnd::Failed(report) => {
                    self.stop_calls();
                    return self.fail(&report);
                }
                StepEnd::Interrupted if self.calls.is_empty() && self.results_of_step == 0 => {
                    return self.interrupted_while_streaming();
                }
                StepEnd::Interrupted => return self.interrupted_in_tools(),
                StepEnd::Reply { cut, visible } => {
                    if let Some(finish) = self.after_reply(cut, visible).await {
                        return finish;
                    }
                }
            }
        }
    }

    /// What follows a reply; `None` when the model is asked again.
    async fn after_reply(&mut self, cut: Option<Cut>, visible: bool) -> Option<Finish> {
        while !self.calls.is_empty() {
            tokio::select! {
                biased;
                () = self.interrupt.cancelled() => return Some(self.interrupted_in_tools()),
                settled = self.calls.next_settled() => self.settle(&settled),
            }
        }
        if cut.is_none() && !self.was_stopped_short() {
            announcement::snapshot_prompt(&self.session);
        }
        if self.ended_by_host {
            return Some(self.aborted_tools());
        }
        if self.deferred.is_some()
            && self.session.quirks.has(&Quirk::ExtraModelCallAfterDefer)
            && self.steps == 1
        {
            return None;
        }
        if let Some((call, input)) = self.deferred.take() {
            return Some(Finish::Deferred { call, input });
        }
        if self.results_of_step > 0 {
            self.batch_hooks().await;
            if self.stopped_by_hook {
                self.last_text.clear();
                return Some(Finish::StoppedByHook);
            }
            let used = self
                .reply_tokens
                .total()
                .saturating_sub(self.context_before);
            let limit = self.session.arguments.max_turns;
            if let Some(limit) = limit.filter(|limit| self.steps >= *limit) {
                announcement::remind_of_tokens(&self.session, used);
                context::note_limit(&self.session, limit, self.turns);
                return Some(Finish::MaxTurns);
            }
            context::absorb_queued_prompts(&self.session);
            announcement::remind_of_tokens(&self.session, used);
            context::note_progress(&self.session);
            return None;
        }
        let finish = self.after_words(cut, visible)?;
        if matches!(finish, Finish::Completed) && self.stop_hooks_object().await {
            return None;
        }
        Some(finish)
    }

    /// Whether the reply ended before the model was done.
    fn was_stopped_short(&self) -> bool {
        let stopped_short = ["max_tokens", "model_context_window_exceeded", "refusal"];
        self.stop_reason
            .as_str()
            .is_some_and(|reason| stopped_short.contains(&reason))
    }

    fn interrupted_in_tools(&mut self) -> Finish {
        self.stop_calls();
        self.release_held();
        announcement::snapshot_prompt(&self.session);
        self.aborted_tools()
    }

    fn aborted_tools(&mut self) -> Finish {
        self.say_interrupted(texts::INTERRUPTED_FOR_TOOL_USE);
        Finish::Aborted {
            terminal_reason: "aborted_tools",
            stop_reason: self.stop_reason.clone(),
        }
    }

    pub(crate) fn interrupted_while_streaming(&mut self) -> Finish {
        control::answer_interrupts(&self.session);
        self.say_interrupted(texts::INTERRUPTED);
        Finish::Aborted {
            terminal_reason: "aborted_streaming",
            stop_reason: Value::Null,
        }
    }

    fn say_interrupted(&mut self, text: &str) {
        self.turns += 1;
        let uuid = Uuid::new_v4();
        let content = json!([{"type": "text", "text": text}]);
        self.session.output.frame(&json!({
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": null,
            "session_id": self.session.id,
            "uuid": uuid,
            "timestamp": crate::clock::timestamp(),
        }));
        let stamp = &self.session.stamp;
        let entry = user_entry(
            stamp,
            Some(self.prompt_id),
            &content,
            uuid,
            false,
            json!({}),
        );
        self.session.transcript.chain(entry);
    }

    /// The turn is lost: the user is told by a synthetic reply.
    fn fail(&mut self, report: &FailureReport) -> Finish {
        synthetic_reply::show_synthetic_reply(&self.session, report);
        Finish::Failed(report.clone())
    }

    /// Closes the turn with its result.
    pub(crate) async fn end(mut self, finish: Finish) {
        context::note_progress(&self.session);
        context::note_mode(&self.session);
        self.session.transcript.flush();
        if self.session.quirks.has(&Quirk::StallBeforeResult) {
            self.session.host.input_closed().cancelled().await;
        }
        let frame = result::result_frame(&mut self, finish);
        self.session.output.frame(&frame);
        control::answer_interrupts(&self.session);
        self.session.interrupts.end_turn();
    }
}

impl Record {
    fn write(self, session: &Session) {
        match self {
            Self::Result(report) => report.write(session),
            Self::Deferral(entry) => session.transcript.chain(entry),
        }
    }
}

/// Prompts that wait together become one message (observed on CLI 2.1.316).
fn merge(prompts: Vec<Prompt>) -> Value {
    let all_text = prompts.iter().all(|prompt| prompt.content.is_string());
    if all_text {
        let texts: Vec<&str> = prompts
            .iter()
            .filter_map(|prompt| prompt.content.as_str())
            .collect();
        return json!(texts.join("\n"));
    }
    let blocks = prompts.into_iter().flat_map(|prompt| match prompt.content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks,
        _ => Vec::new(),
    });
    Value::Array(blocks.collect())
}

/// The words of a message.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block["text"].as_str())
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
