//! The scripted host's side of a conversation.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

use super::answers::{
    Answer, call_answer, hook_answer, initialize_request, nth, permission_answer, registered_hooks,
};
use super::process::{CliProcess, Happening};
use super::server::ToolServer;
use crate::drift::corpus::{Awaited, HookDocument, RunDocument, SignalName, Step, ToolDocument};
use crate::drift::trace::{Lane, RunTrace};

/// How the host tells that something did not come about in time.
pub(in crate::drift) const IN_VAIN: &str = "in vain waited for ";

/// Why the steps of a run came to an end before the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The CLI had nothing more to say.
    Ended,
    /// The bound was reached.
    Late,
}

/// A conversation with one process.
pub(super) struct Conversation<'a> {
    run: &'a RunDocument,
    process: CliProcess,
    happenings: UnboundedReceiver<Happening>,
    server: ToolServer<'a>,
    hooks: Vec<AskedHook<'a>>,
    permissions: Vec<Value>,
    hook_questions: Vec<Value>,
    calls: Vec<Value>,
    frames: Vec<Value>,
    requests: usize,
    /// Where the next search for an awaited thing begins.
    cursors: BTreeMap<String, usize>,
    stdout_ended: bool,
    sent: usize,
    bound: Duration,
    pub(super) trace: RunTrace,
}

struct AskedHook<'a> {
    document: &'a HookDocument,
    asked: usize,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        run: &'a RunDocument,
        tools: &'a BTreeMap<String, ToolDocument>,
        process: CliProcess,
        happenings: UnboundedReceiver<Happening>,
        bound: Duration,
    ) -> Self {
        Self {
            run,
            process,
            happenings,
            server: ToolServer::new(tools, &run.server),
            hooks: registered_hooks(run)
                .into_iter()
                .map(|document| AskedHook { document, asked: 0 })
                .collect(),
            permissions: Vec::new(),
            hook_questions: Vec::new(),
            calls: Vec::new(),
            frames: Vec::new(),
            requests: 0,
            cursors: BTreeMap::new(),
            stdout_ended: false,
            sent: 0,
            bound,
            trace: RunTrace::default(),
        }
    }

    /// Does the steps, closes stdin, and reads to the end.
    pub(super) async fn hold(mut self, steps: &[Step]) -> RunTrace {
        let mut outcome = "completed".to_owned();
        for step in steps {
            if let Err(stop) = self.perform(step).await {
                outcome = match stop {
                    Stop::Ended => format!("the CLI ended before {}", described(step)),
                    Stop::Late => format!("{IN_VAIN}{}", described(step)),
                };
                break;
            }
        }
        self.process.close_stdin();
        let deadline = Instant::now() + self.bound;
        while !self.stdout_ended && self.next(deadline).await.is_ok() {}
        let pid = self.process.pid();
        let end = self.process.end(self.bound).await;
        let stderr = String::from_utf8_lossy(&end.stderr);
        self.trace.push(
            Lane::Process,
            json!({"end": end.status, "steps": outcome, "stderr": stderr, "pid": pid}),
        );
        self.trace
    }

    async fn perform(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Initialize => {
                let request = initialize_request(self.run);
                self.request(request).await;
            }
            Step::User(text) => self.user(json!(text)).await,
            Step::Content(blocks) => self.user(json!(blocks)).await,
            Step::Line(line) => self.process.write(line).await,
            Step::Control(request) => self.request(request.clone().into()).await,
            Step::Interrupt => self.request(json!({"subtype": "interrupt"})).await,
            Step::Await(awaited) => return self.wait_for(awaited).await,
            Step::AnswerHook(reply) => {
                if let Some(question) = self.hook_questions.get(reply.nth.wrapping_sub(1)) {
                    let event = question["request"]["input"]["hook_event_name"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                    let id = question["request_id"].clone();
                    self.reply(hook_answer(&reply.answer, &event), &id).await;
                }
            }
            Step::AnswerPermission(reply) => {
                if let Some(question) = self.permissions.get(reply.nth.wrapping_sub(1)).cloned() {
                    let answer = permission_answer(&reply.answer, &question["request"]["input"]);
                    self.reply(answer, &question["request_id"]).await;
                }
            }
            Step::AnswerCall(reply) => {
                if let Some(call) = self.calls.get(reply.nth.wrapping_sub(1)).cloned() {
                    let answer = call_answer(&reply.answer, &call["request"]["message"]["id"]);
                    self.reply(answer, &call["request_id"]).await;
                }
            }
            Step::Close => self.process.close_stdin(),
            Step::Signal(name) => self.process.signal(match name {
                SignalName::Interrupt => Signal::SIGINT,
                SignalName::Terminate => Signal::SIGTERM,
                SignalName::Kill => Signal::SIGKILL,
            }),
        }
        Ok(())
    }

    async fn wait_for(&mut self, awaited: &Awaited) -> Result<(), Stop> {
        let deadline = Instant::now() + self.bound;
        let place = match awaited {
            Awaited::Response => format!("response {}", self.sent),
            other => serde_json::to_string(other).unwrap_or_default(),
        };
        loop {
            let from = self.cursors.get(&place).copied().unwrap_or_default();
            if let Some(after) = self.found(awaited, from) {
                self.cursors.insert(place, after);
                return Ok(());
            }
            self.next(deadline).await?;
        }
    }

    /// Where the search goes on, when the awaited thing is there from `from` on.
    fn found(&self, awaited: &Awaited, from: usize) -> Option<usize> {
        match awaited {
            Awaited::Request => (self.requests > from).then_some(from + 1),
            Awaited::Exit => self.stdout_ended.then_some(0),
            other => {
                let place = self.frames[from..]
                    .iter()
                    .position(|frame| self.is_meant(other, frame))?;
                Some(from + place + 1)
            }
        }
    }

    fn is_meant(&self, awaited: &Awaited, frame: &Value) -> bool {
        let pattern = match awaited {
            Awaited::Response => {
                json!({"type": "control_response", "response": {"request_id": host_id(self.sent)}})
            }
            Awaited::Result => json!({"type": "result"}),
            Awaited::Idle => {
                json!({"type": "system", "subtype": "session_state_changed", "state": "idle"})
            }
            Awaited::Hook => {
                json!({"type": "control_request", "request": {"subtype": "hook_callback"}})
            }
            Awaited::Permission => {
                json!({"type": "control_request", "request": {"subtype": "can_use_tool"}})
            }
            Awaited::Call => {
                json!({"type": "control_request", "request": {"subtype": "mcp_message", "message": {"method": "tools/call"}}})
            }
            Awaited::Frame(fields) => fields.clone().into(),
            Awaited::Request | Awaited::Exit => return false,
        };
        holds(frame, &pattern)
    }

    async fn next(&mut self, deadline: Instant) -> Result<(), Stop> {
        if self.stdout_ended {
            return Err(Stop::Ended);
        }
        match timeout_at(deadline, self.happenings.recv()).await {
            Ok(Some(Happening::Line(line))) => self.take(&line).await,
            Ok(Some(Happening::Request)) => self.requests += 1,
            Ok(Some(Happening::StdoutEnded) | None) => self.stdout_ended = true,
            Err(_) => return Err(Stop::Late),
        }
        Ok(())
    }

    async fn take(&mut self, line: &str) {
        let frame: Value = serde_json::from_str(line).unwrap_or_else(|_| json!({"line": line}));
        self.record(&frame);
        self.frames.push(frame.clone());
        if frame["type"] == "control_request" {
            let answer = self.answer(&frame);
            self.reply(answer, &frame["request_id"]).await;
        }
    }

    fn record(&mut self, frame: &Value) {
        match frame["type"].as_str().unwrap_or_default() {
            "transcript_mirror" => {
                let file = json!({"type": "file", "path": frame["filePath"]});
                let mirrored = self.trace.lane(Lane::Mirror);
                if mirrored.iter().rev().find(|entry| entry["type"] == "file") != Some(&file) {
                    self.trace.push(Lane::Mirror, file);
                }
                for entry in frame["entries"].as_array().into_iter().flatten() {
                    self.trace.push(Lane::Mirror, entry.clone());
                }
            }
            "control_request" | "control_response" | "control_cancel_request" => {
                self.trace.push(Lane::Control, frame.clone());
            }
            "stream_event" => self.trace.push(Lane::Stream, frame.clone()),
            _ => self.trace.push(Lane::Stdout, frame.clone()),
        }
    }

    fn answer(&mut self, frame: &Value) -> Answer {
        let request = &frame["request"];
        match request["subtype"].as_str().unwrap_or_default() {
            "hook_callback" => {
                self.hook_questions.push(frame.clone());
                self.answer_hook(request)
            }
            "can_use_tool" => {
                self.permissions.push(frame.clone());
                let answers = self.run.can_use_tool.as_deref().unwrap_or_default();
                match nth(answers, self.permissions.len() - 1) {
                    Some(answer) => permission_answer(answer, &request["input"]),
                    None => Answer::Error("nobody answers permission questions".to_owned()),
                }
            }
            "mcp_message" => {
                if request["message"]["method"] == "tools/call" {
                    self.calls.push(frame.clone());
                }
                self.server.answer(&request["message"])
            }
            _ => Answer::Success(json!({})),
        }
    }

    fn answer_hook(&mut self, request: &Value) -> Answer {
        let number = request["callback_id"]
            .as_str()
            .and_then(|id| id.strip_prefix("hook_")?.parse::<usize>().ok());
        let event = request["input"]["hook_event_name"]
            .as_str()
            .unwrap_or_default();
        let Some(hook) = number.and_then(|number| self.hooks.get_mut(number)) else {
            return Answer::Error("there is no such hook".to_owned());
        };
        let answer = nth(&hook.document.answers, hook.asked)
            .map_or(Answer::Silence, |answer| hook_answer(answer, event));
        hook.asked += 1;
        answer
    }

    async fn reply(&mut self, answer: Answer, request_id: &Value) {
        if let Some(line) = answer.line(request_id) {
            self.process.write(&line.to_string()).await;
        }
    }

    async fn request(&mut self, request: Value) {
        self.sent += 1;
        let line = json!({"type": "control_request", "request_id": host_id(self.sent), "request": request});
        self.process.write(&line.to_string()).await;
    }

    async fn user(&mut self, content: Value) {
        let line = json!({
            "type": "user",
            "session_id": "default",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": null,
        });
        self.process.write(&line.to_string()).await;
    }
}

fn host_id(number: usize) -> String {
    format!("req_{number}_host")
}

/// Whether `value` has everything that `pattern` says.
fn holds(value: &Value, pattern: &Value) -> bool {
    match (value, pattern) {
        (Value::Object(fields), Value::Object(wanted)) => holds_fields(fields, wanted),
        (Value::Array(items), Value::Array(wanted)) => wanted
            .iter()
            .all(|wanted| items.iter().any(|item| holds(item, wanted))),
        _ => value == pattern,
    }
}

fn holds_fields(fields: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted
        .iter()
        .all(|(name, wanted)| fields.get(name).is_some_and(|field| holds(field, wanted)))
}

fn described(step: &Step) -> String {
    match step {
        Step::Await(awaited) => serde_json::to_string(awaited)
            .unwrap_or_default()
            .trim_matches('"')
            .to_owned(),
        other => format!("{other:?}"),
    }
}
