//! What one process knows about its session.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::arguments::Arguments;
use crate::clock;
use crate::control::Host;
use crate::environment::Environment;
use crate::hooks::HookRegistry;
use crate::mcp::McpServers;
use crate::messages_api::Model;
use crate::output::Output;
use crate::permissions::{PermissionMode, Rules};
use crate::quirks::{Quirk, Quirks};
use crate::transcript::{EntryStamp, LoadedSession, RequestRecords, Transcript};
use crate::usage::Bill;

/// A message of the user.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) uuid: Uuid,
    /// A string or content blocks.
    pub(crate) content: Value,
}

/// Costs and counts that outlive a turn.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) bill: Bill,
    pub(crate) api_time: Duration,
    pub(crate) tool_time: Duration,
    pub(crate) results: u64,
    pub(crate) prompts: u64,
    pub(crate) last_result_was_error: bool,
    pub(crate) tools_used: Vec<String>,
    /// Whether the list of an earlier process is still to be repeated in this one.
    pub(crate) tools_used_again: bool,
    pub(crate) last_prompt: Option<String>,
    pub(crate) started_at_ms: u64,
    /// Of the last reply and everything before it.
    pub(crate) context_tokens: u64,
    /// Whether the session began as another one.
    pub(crate) forked: bool,
    /// Whether a resumed call is under way: prompts that came with it are not counted as waiting.
    pub(crate) resuming: bool,
    /// Whether stderr has said that the program does not know the model.
    pub(crate) unknown_model_told: bool,
    pub(crate) lines_added: usize,
    pub(crate) lines_removed: usize,
    /// Whether this process has something to save beside the conversation.
    pub(crate) touched: bool,
    /// Whether this session has noted its progress before.
    pub(crate) progress_noted: bool,
    /// Whether the file says in which mode the session is.
    pub(crate) mode_noted: bool,
}

/// Which session a process serves.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) id: Uuid,
    /// The transcript's file.
    pub(crate) path: std::path::PathBuf,
    pub(crate) resumed: bool,
}

/// The session as this process sees it. Everything runs on one thread.
pub(crate) struct Session {
    pub(crate) arguments: Arguments,
    pub(crate) environment: Environment,
    pub(crate) quirks: Quirks,
    pub(crate) id: Uuid,
    /// Whether an earlier process began the session.
    pub(crate) resumed: bool,
    pub(crate) output: Rc<Output>,
    pub(crate) host: Rc<Host>,
    pub(crate) transcript: Transcript,
    pub(crate) stamp: EntryStamp,
    pub(crate) mcp: Rc<McpServers>,
    pub(crate) hooks: RefCell<HookRegistry>,
    pub(crate) rules: RefCell<Rules>,
    pub(crate) mode: Cell<PermissionMode>,
    pub(crate) model: RefCell<Model>,
    pub(crate) system_prompt: RefCell<Vec<String>>,
    pub(crate) prompts: PromptQueue,
    pub(crate) interrupts: Interrupts,
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) requests: RequestRecords,
    /// Prompts whose notes have to wait.
    pub(crate) early_prompts: RefCell<Option<Vec<Option<String>>>>,
    /// Files whose current content the model has seen.
    pub(crate) seen_files: RefCell<std::collections::HashSet<std::path::PathBuf>>,
    pub(crate) initialized: watch::Sender<bool>,
    /// `initialize` requests that wait for the end of start-up, and whether they had hooks.
    pub(crate) unanswered_initializes: RefCell<Vec<(Value, bool)>>,
    started: Cell<bool>,
    state: Cell<&'static str>,
    http: std::cell::OnceCell<reqwest::Client>,
    process_started: std::time::Instant,
}

impl Session {
    pub(crate) fn new(
        arguments: Arguments,
        environment: Environment,
        quirks: Quirks,
        identity: Identity,
        output: Rc<Output>,
    ) -> Self {
        let Identity { id, path, resumed } = identity;
        let stamp = EntryStamp {
            session_id: id,
            entrypoint: environment.entrypoint().to_owned(),
            working_directory: environment.working_directory.to_string_lossy().into_owned(),
            version: arguments
                .imitate
                .clone()
                .unwrap_or_else(|| crate::IMITATED_VERSION.to_owned()),
        };
        let mirror = arguments.session_mirror.then(|| Rc::clone(&output));
        let rules = Rules::new(&arguments.allowed_tools, &arguments.disallowed_tools);
        Self {
            transcript: Transcript::new(
                path,
                !arguments.no_session_persistence,
                mirror,
                quirks.has(&Quirk::MirrorLoss),
            ),
            host: Rc::new(Host::new(Rc::clone(&output))),
            mcp: Rc::new(McpServers::new()),
            hooks: RefCell::default(),
            rules: RefCell::new(rules),
            mode: Cell::new(arguments.permission_mode),
            model: RefCell::new(Model::named(arguments.model.as_deref())),
            system_prompt: RefCell::new(prompt_parts(
                arguments.system_prompt.as_deref(),
                arguments.append_system_prompt.as_deref(),
            )),
            prompts: PromptQueue::default(),
            requests: RequestRecords::default(),
            early_prompts: RefCell::default(),
            seen_files: RefCell::default(),
            interrupts: Interrupts::default(),
            ledger: RefCell::new(Ledger {
                started_at_ms: clock::epoch_milliseconds(),
                ..Ledger::default()
            }),
            initialized: watch::channel(false).0,
            unanswered_initializes: RefCell::default(),
            started: Cell::new(false),
            state: Cell::new("idle"),
            http: std::cell::OnceCell::new(),
            process_started: std::time::Instant::now(),
            arguments,
            environment,
            quirks,
            id,
            resumed,
            output,
            stamp,
        }
    }

    /// Takes over what an earlier process left.
    pub(crate) fn adopt(&self, loaded: LoadedSession) {
        let mut ledger = self.ledger.borrow_mut();
        if let Some(saved) = &loaded.cost_state {
            ledger.bill.restore(&saved["modelUsage"]);
            let milliseconds = saved["totalAPIDuration"].as_u64().unwrap_or(0);
            ledger.api_time = Duration::from_millis(milliseconds);
            if let Some(started) = saved["startTime"].as_u64() {
                ledger.started_at_ms = started;
            }
        }
        ledger.prompts = loaded.prompts;
        if !loaded.tools_used.is_empty() {
            ledger.tools_used_again = true;
        }
        ledger.progress_noted = self.resumed && !loaded.is_fork;
        ledger.mode_noted = loaded.mode_noted;
        ledger.tools_used = loaded.tools_used;
        ledger.last_prompt = loaded.last_prompt;
        self.requests.adopt(loaded.recorded);
        ledger.forked = loaded.is_fork;
        if loaded.is_fork {
            self.transcript.inherit(loaded.entries);
        } else {
            self.transcript.adopt(loaded.entries);
        }
    }

    /// The HTTP client; made on first use, since many sessions never ask the model.
    pub(crate) fn http(&self) -> &reqwest::Client {
        self.http.get_or_init(|| {
            // Loopback peers must never be reached through a proxy, whatever the environment says.
            let builder = reqwest::Client::builder().no_proxy().tcp_nodelay(true);
            builder.build().unwrap_or_default()
        })
    }

    /// Tells the host that the session's state changed, if it wants to know. It is not idle while
    /// prompts wait, and not any more once a signal ends the process (observed on CLI 2.1.316).
    pub(crate) fn enter_state(&self, state: &'static str) {
        let ending = state == "idle" && (self.prompts.len() > 0 || self.interrupts.is_signalled());
        if ending || self.state.get() == state {
            return;
        }
        self.state.set(state);
        if !self.environment.host_reads_session_state() {
            return;
        }
        self.output.frame(&json!({
            "type": "system",
            "subtype": "session_state_changed",
            "state": state,
            "sdk_host_only": true,
            "uuid": Uuid::new_v4(),
            "session_id": self.id,
        }));
    }

    /// Start-up is done.
    pub(crate) fn start(&self) {
        self.started.set(true);
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started.get()
    }

    pub(crate) fn state(&self) -> &'static str {
        self.state.get()
    }

    pub(crate) fn transcript_path(&self) -> String {
        self.transcript.path().to_string_lossy().into_owned()
    }

    /// Remembers that a tool was used; the list is an entry of its own.
    pub(crate) fn note_tool_use(&self, tool: &str) {
        let mut ledger = self.ledger.borrow_mut();
        if ledger.tools_used.iter().any(|used| used == tool) {
            return;
        }
        ledger.tools_used.push(tool.to_owned());
        let entry = json!({
            "type": "tools-used",
            "tools": ledger.tools_used,
            "sessionId": self.id,
        });
        self.transcript.note(entry);
    }

    /// A resumed session repeats, before it goes on, which tools it has used (observed on CLI
    /// 2.1.316).
    pub(crate) fn repeat_tools_used(&self) {
        let mut ledger = self.ledger.borrow_mut();
        if std::mem::take(&mut ledger.tools_used_again) {
            let entry = json!({
                "type": "tools-used",
                "tools": ledger.tools_used,
                "sessionId": self.id,
            });
            self.transcript.note(entry);
        }
    }

    /// What the end of a process adds to the transcript.
    pub(crate) fn save_costs(&self) {
        let ledger = self.ledger.borrow();
        if !ledger.touched && !self.resumed {
            return;
        }
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.transcript.note(json!({
            "type": "cost-state",
            "sessionId": self.id,
            "totalCostUSD": ledger.bill.total_cost(),
            "totalAPIDuration": milliseconds(ledger.api_time),
            "totalAPIDurationWithoutRetries": milliseconds(ledger.api_time),
            "totalToolDuration": milliseconds(ledger.tool_time),
            "totalLinesAdded": ledger.lines_added,
            "totalLinesRemoved": ledger.lines_removed,
            "totalDuration": milliseconds(self.process_started.elapsed()),
            "startTime": ledger.started_at_ms,
            "modelUsage": ledger.bill.saved(),
            "hasUnknownModelCost": ledger.bill.has_unknown_cost(),
        }));
    }
}

/// The application's own system prompt and what it adds to one, as far as it says so.
fn prompt_parts(own: Option<&str>, appended: Option<&str>) -> Vec<String> {
    let parts = [own, appended].into_iter().flatten();
    parts.map(str::to_owned).collect()
}

/// Prompts that wait for a turn.
#[derive(Debug, Default)]
pub(crate) struct PromptQueue {
    waiting: RefCell<VecDeque<Prompt>>,
    changed: Notify,
    closed: CancellationToken,
}

impl PromptQueue {
    pub(crate) fn push(&self, prompt: Prompt) {
        self.waiting.borrow_mut().push_back(prompt);
        self.changed.notify_one();
    }

    /// No further prompt will come.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// How many prompts wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Everything that waits now.
    pub(crate) fn take(&self) -> Vec<Prompt> {
        self.waiting.borrow_mut().drain(..).collect()
    }

    /// Waits for a prompt; `false` once the queue is empty and closed.
    pub(crate) async fn wait(&self) -> bool {
        loop {
            if self.len() > 0 {
                return true;
            }
            if self.closed.is_cancelled() {
                return false;
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = self.closed.cancelled() => {}
            }
        }
    }
}

/// The running turn, seen by whoever may interrupt it.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    running: RefCell<Option<CancellationToken>>,
    unanswered: RefCell<Vec<Value>>,
    by_signal: Cell<bool>,
    ended: Notify,
}

impl Interrupts {
    /// A turn begins: the token fires when it is interrupted.
    pub(crate) fn begin_turn(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.running.borrow_mut() = Some(token.clone());
        token
    }

    pub(crate) fn end_turn(&self) {
        *self.running.borrow_mut() = None;
        self.ended.notify_waiters();
    }

    /// Interrupts the running turn for a request of the host; `false` when none runs.
    pub(crate) fn request(&self, request_id: &Value) -> bool {
        let running = self.running.borrow();
        if let Some(token) = running.as_ref() {
            self.unanswered.borrow_mut().push(request_id.clone());
            token.cancel();
        }
        running.is_some()
    }

    /// The requests that may be answered, once what was pending has been withdrawn.
    pub(crate) fn take_unanswered(&self) -> Vec<Value> {
        self.unanswered.take()
    }

    /// Interrupts the running turn for a signal.
    pub(crate) fn signal(&self) {
        self.by_signal.set(true);
        if let Some(token) = self.running.borrow().as_ref() {
            token.cancel();
        }
    }

    /// Whether the process is about to end because of a signal.
    pub(crate) fn is_signalled(&self) -> bool {
        self.by_signal.get()
    }

    /// Waits until no turn runs.
    pub(crate) async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            if self.running.borrow().is_none() {
                return;
            }
            ended.await;
        }
    }
}
