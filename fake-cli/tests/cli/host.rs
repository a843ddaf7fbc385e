//! A host: starts the program, answers what it asks, and keeps what it said.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::api::Api;

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Directories in which one session's processes run, one after the other.
pub(crate) struct Place {
    root: tempfile::TempDir,
    base_url: String,
}

/// How one process is started, and how its host behaves.
pub(crate) struct Run {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) hooks: Value,
    pub(crate) initialize: bool,
    pub(crate) servers: bool,
    /// Servers that are named in `initialize` only.
    pub(crate) late_servers: Vec<&'static str>,
    hook: Box<dyn Fn(&Value) -> Answer>,
    permission: Box<dyn Fn(&Value) -> Answer>,
    tool: Box<dyn Fn(&Value) -> Answer>,
}

/// What a host does with a request.
pub(crate) enum Answer {
    Success(Value),
    Error(&'static str),
    /// Leaves the request unanswered and closes the program's stdin.
    CloseInput,
    /// Leaves the request unanswered and interrupts the turn.
    Interrupt,
    /// Answers with nothing to say, and interrupts the turn.
    InterruptTurn,
    /// Leaves the request unanswered and sends a signal.
    Signal(rustix::process::Signal),
    Nothing,
}

/// What a process did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) frames: Vec<Value>,
    /// The exit code, or 128 and the signal.
    pub(crate) code: i32,
    pub(crate) stderr: String,
}

/// A PreToolUse decision.
pub(crate) fn decide(decision: &str) -> Value {
    decide_because(decision, "because")
}

pub(crate) fn decide_because(decision: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }})
}

impl Place {
    pub(crate) fn new(api: &Api) -> Self {
        let root = tempfile::Builder::new().prefix("fake").tempdir().unwrap();
        for directory in ["home", "work"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        Self {
            root,
            base_url: api.base_url(),
        }
    }

    pub(crate) fn config(&self) -> std::path::PathBuf {
        self.root.path().join("home/.claude")
    }

    pub(crate) fn work(&self) -> std::path::PathBuf {
        self.root.path().join("work").canonicalize().unwrap()
    }

    /// The entries of every session, in order.
    pub(crate) fn transcript(&self) -> Vec<Value> {
        let projects = self.config().join("projects");
        let mut entries = Vec::new();
        for project in std::fs::read_dir(projects).into_iter().flatten().flatten() {
            for file in std::fs::read_dir(project.path()).unwrap().flatten() {
                let text = std::fs::read_to_string(file.path()).unwrap();
                entries.extend(text.lines().map(|line| serde_json::from_str(line).unwrap()));
            }
        }
        entries
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-claude"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.root.path().join("home"))
            .env("CLAUDE_CONFIG_DIR", self.config())
            .env("ANTHROPIC_BASE_URL", &self.base_url)
            .env("ANTHROPIC_API_KEY", "dummy")
            .env("CLAUDE_CODE_ENTRYPOINT", "sdk-py")
            .env("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .current_dir(self.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, run: Run) -> Outcome {
        let mut command = self.command();
        command.args([
            "--output-format",
            "stream-json",
            "--verbose",
            "--input-format",
            "stream-json",
            "--model",
            "claude-sonnet-5",
            "--setting-sources=",
        ]);
        if run.servers {
            let config = json!({"mcpServers": {"tools": {"type": "sdk", "name": "tools"}}});
            command.args(["--mcp-config", &config.to_string()]);
        }
        if !run.arguments.iter().any(|argument| argument == "--tools") {
            command.args(["--tools", "Bash,Read,Write,Edit,Glob,Grep"]);
        }
        command.args(&run.arguments);
        command.envs(run.environment.iter().cloned());
        let child = command.spawn().unwrap();
        let conversation = Conversation::new(child, run);
        tokio::time::timeout(PATIENCE, conversation.hold())
            .await
            .unwrap()
    }
}

impl Run {
    pub(crate) fn new() -> Self {
        Self {
            arguments: Vec::new(),
            environment: Vec::new(),
            prompts: Vec::new(),
            hooks: json!({"PreToolUse": [{"matcher": null, "hookCallbackIds": ["hook_0"]}]}),
            initialize: true,
            servers: true,
            late_servers: Vec::new(),
            hook: Box::new(|_| Answer::Success(json!({}))),
            permission: Box::new(|request| {
                let input = request["input"].clone();
                Answer::Success(json!({"behavior": "allow", "updatedInput": input}))
            }),
            tool: Box::new(|message| {
                let order = message["params"]["arguments"]["order_id"].as_str();
                let text = format!("refunded {}", order.unwrap_or("nothing"));
                Answer::Success(json!({"content": [{"type": "text", "text": text}]}))
            }),
        }
    }

    pub(crate) fn prompt(prompt: &str) -> Self {
        let mut run = Self::new();
        run.prompts.push(json!(prompt));
        run
    }

    /// The resume of a session, without a prompt.
    pub(crate) fn resume(outcome: &Outcome) -> Self {
        Self::new().with(&["--resume", &outcome.session_id(), "--await-initialize"])
    }

    pub(crate) fn with(mut self, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        self.arguments.extend(arguments);
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn hooks(mut self, hooks: Value) -> Self {
        self.hooks = hooks;
        self
    }

    pub(crate) fn hook(mut self, answer: impl Fn(&Value) -> Answer + 'static) -> Self {
        self.hook = Box::new(answer);
        self
    }

    /// Every hook decides the same.
    pub(crate) fn deciding(self, decision: &'static str) -> Self {
        self.hook(move |_| Answer::Success(decide(decision)))
    }

    pub(crate) fn permission(mut self, answer: impl Fn(&Value) -> Answer + 'static) -> Self {
        self.permission = Box::new(answer);
        self.with(&["--permission-prompt-tool", "stdio"])
    }

    pub(crate) fn tool(mut self, answer: impl Fn(&Value) -> Answer + 'static) -> Self {
        self.tool = Box::new(answer);
        self
    }
}

struct Conversation {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    run: Run,
    frames: Vec<Value>,
    expected_results: usize,
}

impl Conversation {
    fn new(mut child: Child, mut run: Run) -> Self {
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let expected_results = run.prompts.len().max(1);
        run.prompts.reverse();
        Self {
            child,
            stdin,
            stdout,
            run,
            frames: Vec::new(),
            expected_results,
        }
    }

    async fn hold(mut self) -> Outcome {
        if self.run.initialize {
            let hooks = self.run.hooks.clone();
            self.send(&json!({
                "type": "control_request",
                "request_id": "initialize",
                "request": {
                    "subtype": "initialize",
                    "hooks": hooks,
                    "sdkMcpServers": self.run.late_servers,
                },
            }))
            .await;
        } else {
            self.send_prompt().await;
        }
        while let Ok(Some(line)) = self.stdout.next_line().await {
            let Ok(frame) = serde_json::from_str::<Value>(&line) else {
                self.frames.push(json!({"type": "garbage", "line": line}));
                continue;
            };
            self.frames.push(frame.clone());
            self.react(&frame).await;
        }
        let status = self.child.wait().await.unwrap();
        let mut stderr = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut stderr).await.unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        Outcome {
            frames: self.frames,
            code: status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)),
            stderr,
        }
    }

    async fn send(&mut self, frame: &Value) {
        if let Some(stdin) = &mut self.stdin {
            // The program may be gone, which the test finds out by its exit code.
            let _ = stdin.write_all(format!("{frame}\n").as_bytes()).await;
        }
    }

    async fn send_prompt(&mut self) {
        if let Some(content) = self.run.prompts.pop() {
            self.send(&json!({
                "type": "user",
                "session_id": "default",
                "message": {"role": "user", "content": content},
                "parent_tool_use_id": null,
            }))
            .await;
        }
    }

    async fn react(&mut self, frame: &Value) {
        let is_initialize_answer = frame["response"]["request_id"] == "initialize";
        let is_result = frame["type"] == "result";
        if is_initialize_answer || is_result {
            self.send_prompt().await;
        }
        if is_result {
            self.expected_results = self.expected_results.saturating_sub(1);
        }
        let idle = frame["subtype"] == "session_state_changed" && frame["state"] == "idle";
        if idle && self.expected_results == 0 {
            self.stdin = None;
        }
        if frame["type"] == "control_request" {
            self.answer(frame).await;
        }
    }

    async fn interrupt(&mut self) {
        self.send(&json!({
            "type": "control_request",
            "request_id": "interrupt",
            "request": {"subtype": "interrupt"},
        }))
        .await;
    }

    async fn answer(&mut self, frame: &Value) {
        let request = &frame["request"];
        let message = &request["message"];
        let answer = match request["subtype"].as_str() {
            Some("hook_callback") => (self.run.hook)(request),
            Some("can_use_tool") => (self.run.permission)(request),
            Some("mcp_message") => match message["method"].as_str() {
                Some("initialize") => Answer::Success(json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "tools", "version": "1"},
                })),
                Some("tools/list") => Answer::Success(json!({"tools": tools()})),
                Some("tools/call") => (self.run.tool)(message),
                _ => Answer::Success(json!({})),
            },
            other => panic!("the program asked for {other:?}"),
        };
        let request_id = frame["request_id"].clone();
        let response = match answer {
            Answer::Success(value) if request["subtype"] == "mcp_message" => json!({
                "subtype": "success",
                "request_id": request_id,
                "response": {"mcp_response": {
                    "jsonrpc": "2.0",
                    "id": message["id"],
                    "result": value,
                }},
            }),
            Answer::Success(value) => json!({
                "subtype": "success",
                "request_id": request_id,
                "response": value,
            }),
            Answer::Error(error) => json!({
                "subtype": "error",
                "request_id": request_id,
                "error": error,
            }),
            Answer::CloseInput => {
                self.stdin = None;
                return;
            }
            Answer::Interrupt => {
                self.interrupt().await;
                return;
            }
            Answer::InterruptTurn => {
                self.interrupt().await;
                json!({"subtype": "success", "request_id": request_id, "response": {}})
            }
            Answer::Signal(signal) => {
                let id = i32::try_from(self.child.id().unwrap()).unwrap();
                let process = rustix::process::Pid::from_raw(id).unwrap();
                rustix::process::kill_process(process, signal).unwrap();
                return;
            }
            Answer::Nothing => return,
        };
        self.send(&json!({"type": "control_response", "response": response}))
            .await;
    }
}

fn tools() -> Value {
    let schema = json!({"type": "object", "properties": {"order_id": {"type": "string"}}});
    json!([
        {"name": "create_refund", "description": "Refund", "inputSchema": schema},
        {"name": "lookup", "description": "Look up", "inputSchema": schema,
            "annotations": {"readOnlyHint": true}},
    ])
}

impl Outcome {
    pub(crate) fn session_id(&self) -> String {
        let frame = self
            .frames
            .iter()
            .find(|frame| frame["session_id"].is_string());
        frame.unwrap()["session_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn results(&self) -> Vec<&Value> {
        self.of_type("result")
    }

    /// The only result.
    pub(crate) fn result(&self) -> &Value {
        let results = self.results();
        assert_eq!(results.len(), 1, "{:#?}\n{}", self.frames, self.stderr);
        results[0]
    }

    pub(crate) fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.frames
            .iter()
            .filter(|frame| frame["type"] == *kind)
            .collect()
    }

    /// Control requests of a subtype.
    pub(crate) fn asked(&self, subtype: &str) -> Vec<&Value> {
        self.of_type("control_request")
            .into_iter()
            .map(|frame| &frame["request"])
            .filter(|request| request["subtype"] == *subtype)
            .collect()
    }

    /// The arguments of every tool call that reached the host.
    pub(crate) fn tool_calls(&self) -> Vec<&Value> {
        self.asked("mcp_message")
            .into_iter()
            .filter(|request| request["message"]["method"] == "tools/call")
            .map(|request| &request["message"]["params"]["arguments"])
            .collect()
    }

    /// The `tool_result` blocks that were shown.
    pub(crate) fn tool_results(&self) -> Vec<&Value> {
        self.of_type("user")
            .into_iter()
            .map(|frame| &frame["message"]["content"][0])
            .filter(|block| block["type"] == "tool_result")
            .collect()
    }

    /// The content of the only `tool_result`.
    pub(crate) fn tool_result_text(&self) -> &str {
        let results = self.tool_results();
        assert_eq!(results.len(), 1, "{:#?}\n{}", self.frames, self.stderr);
        results[0]["content"].as_str().unwrap()
    }

    /// Frames as short names, to compare their order.
    pub(crate) fn order(&self) -> Vec<String> {
        self.frames.iter().filter_map(short_name).collect()
    }
}

fn short_name(frame: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(match frame["type"].as_str()? {
        "control_request" => match frame["request"]["subtype"].as_str()? {
            "mcp_message" => text(&frame["request"]["message"]["method"]),
            other => other.to_owned(),
        },
        "control_response" => format!("response {}", text(&frame["response"]["request_id"])),
        "system" if frame["subtype"] == "session_state_changed" => text(&frame["state"]),
        "system" => text(&frame["subtype"]),
        "command_lifecycle" => format!("lifecycle {}", text(&frame["state"])),
        "attachment" => text(&frame["attachment"]["type"]),
        other => other.to_owned(),
    })
}
