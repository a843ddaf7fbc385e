//! What the adapter adds to the CLI: the same frames through both, in turns, in one run.
//!
//! ```text
//! mock-messages-api --script any.yaml     # with: - {user: {contains: ""}, reply: [{text: Done.}]}
//! ANTHROPIC_BASE_URL=… ANTHROPIC_API_KEY=dummy CLAUDE_CLI=… \
//!     cargo run --release -p adapter --example segment_benchmark -- [runs] [messages]
//! ```
//!
//! With a number of messages the session has that many before its segment starts.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use adapter::{
    ClaudeAgent, ClaudeAgentOptions, EmbeddedEngine, OptionsContext, SessionClient, SessionStatus,
    Worker,
};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

/// Notes how the adapter starts the CLI and what it says, then is the CLI.
const RECORDER: &str = r#"#!/bin/sh
env -0 > "$0.environment"
printf '%s\0' "$@" > "$0.arguments"
rm -rf "$0.configuration"
cp -r "$CLAUDE_CONFIG_DIR" "$0.configuration"
tee "$0.frames" | CLI "$@"
"#;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().map_or(Ok(20), |it| it.parse())?;
    let messages: usize = arguments.next().map_or(Ok(0), |it| it.parse())?;
    let cli = PathBuf::from(std::env::var_os("CLAUDE_CLI").ok_or("CLAUDE_CLI names the CLI")?);
    let directory = tempfile::tempdir()?;
    let bench = Bench::new(directory.path(), messages).await?;
    let recorder = directory.path().join("recorder");
    std::fs::write(
        &recorder,
        RECORDER.replace("CLI \"", &format!("'{}' \"", cli.display())),
    )?;
    std::fs::set_permissions(&recorder, std::fs::Permissions::from_mode(0o700))?;
    bench.through_adapter(&recorder, "recorded").await?;
    let recorded = Recorded::read(&cli, &recorder)?;
    let (mut adapter, mut bare) = (Vec::new(), Vec::new());
    for run in 0..runs {
        adapter.push(bench.through_adapter(&cli, &format!("run-{run}")).await?);
        bare.push(recorded.run()?);
    }
    println!("runs {runs}, messages before {messages}");
    for (name, times) in [("adapter", &mut adapter), ("bare CLI", &mut bare)] {
        times.sort();
        let milliseconds = |index: usize| times[index].as_secs_f64() * 1000.0;
        println!(
            "{name:9} median {:8.1} ms, fastest {:8.1} ms, slowest {:8.1} ms",
            milliseconds(runs / 2),
            milliseconds(0),
            milliseconds(runs - 1)
        );
    }
    Ok(())
}

struct Bench {
    directory: PathBuf,
    engine: EmbeddedEngine,
    client: SessionClient,
    messages: usize,
}

impl Bench {
    async fn new(directory: &Path, messages: usize) -> Result<Self, Failure> {
        for name in ["home", "configuration"] {
            std::fs::create_dir(directory.join(name))?;
        }
        let engine = EmbeddedEngine::open(directory.join("state"))?;
        Ok(Self {
            directory: directory.to_owned(),
            client: SessionClient::new(&engine),
            engine,
            messages,
        })
    }

    /// One segment, from the message to the end of the turn.
    async fn through_adapter(&self, cli: &Path, session: &str) -> Result<Duration, Failure> {
        self.client.import(self.session(session)?).await?;
        let path = |name: &str| self.directory.join(name).to_string_lossy().into_owned();
        let options = ClaudeAgentOptions {
            tools: Some(Vec::new()),
            setting_sources: Some(Vec::new()),
            cwd: Some(self.directory.join("home")),
            env: BTreeMap::from([
                ("HOME".to_owned(), path("home")),
                ("CLAUDE_CONFIG_DIR".to_owned(), path("configuration")),
            ]),
            ..ClaudeAgentOptions::default()
        };
        let agent = ClaudeAgent::builder(move |_: OptionsContext| Ok(options.clone()))
            .cli(cli)
            .build()?;
        let worker = Worker::builder(&self.engine, &agent).start();
        let mut changes = self.client.changes().await?;
        let started = Instant::now();
        self.client.send(session, "Say done.".to_owned()).await?;
        loop {
            let change = changes.recv().await?;
            let is_own = change.session_id == session;
            if is_own && self.client.snapshot(session).await?.status == SessionStatus::Idle {
                break;
            }
        }
        let took = started.elapsed();
        worker.stop().await?;
        match self.client.snapshot(session).await?.last_turn_error {
            Some(error) => Err(error.into()),
            None => Ok(took),
        }
    }

    /// A session that has said much already.
    fn session(&self, id: &str) -> Result<adapter::ExportedSession, Failure> {
        let claude_session = uuid::Uuid::new_v4().to_string();
        let mut parent = Value::Null;
        let mut messages = Vec::new();
        for number in 0..self.messages / 2 {
            let text = format!("This is message {number} of a long conversation. ").repeat(4);
            let [asked, said] = [(); 2].map(|()| uuid::Uuid::new_v4().to_string());
            let entry = |kind: &str, uuid: &str, parent: &Value, message: Value| {
                json!({
                    "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false,
                    "sessionId": claude_session, "userType": "external", "version": "2.1.316",
                    "cwd": self.directory.join("home"), "timestamp": "2026-01-01T00:00:00.000Z",
                    "message": message,
                })
            };
            let entries = [
                entry(
                    "user",
                    &asked,
                    &parent,
                    json!({"role": "user", "content": text}),
                ),
                entry(
                    "assistant",
                    &said,
                    &json!(asked),
                    json!({
                        "id": format!("msg_{number}"), "type": "message", "role": "assistant",
                        "model": "claude-sonnet-5", "content": [{"type": "text", "text": text}],
                        "stop_reason": "end_turn", "stop_sequence": null,
                        "usage": {"input_tokens": 1, "output_tokens": 1},
                    }),
                ),
            ];
            parent = json!(said);
            messages.push(json!({
                "role": "user", "text": text, "sequence": messages.len() + 1,
                "framework_item": {"kind": "user_prompt", "text": text},
            }));
            messages.push(json!({
                "role": "assistant", "text": text, "sequence": messages.len() + 1,
                "framework_item": {"kind": "claude_transcript", "session_id": claude_session,
                                   "entries": entries},
            }));
        }
        Ok(serde_json::from_value(json!({
            "version": 1, "session_id": id, "session_key": uuid::Uuid::new_v4(),
            "messages": messages, "queue": [], "turns_started": self.messages / 2, "turn": null,
            "pending_interrupts": [], "tool_calls": [], "steps": [], "last_turn_error": null,
            "usage": {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0,
                      "model_calls": 0},
        }))?)
    }
}

/// How the adapter started the CLI, and what it wrote.
struct Recorded {
    cli: PathBuf,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    frames: Vec<Value>,
}

impl Recorded {
    fn read(cli: &Path, recorder: &Path) -> Result<Self, Failure> {
        let file = |name: &str| recorder.with_extension(name);
        let listed = |name: &str| -> Result<Vec<String>, Failure> {
            let text = std::fs::read_to_string(file(name))?;
            Ok(text.split_terminator('\0').map(str::to_owned).collect())
        };
        let mut environment: BTreeMap<String, String> = listed("environment")?
            .iter()
            .filter_map(|it| it.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let configuration = file("configuration").to_string_lossy().into_owned();
        environment.insert("CLAUDE_CONFIG_DIR".to_owned(), configuration);
        let frames = std::fs::read_to_string(file("frames"))?;
        Ok(Self {
            cli: cli.to_owned(),
            arguments: listed("arguments")?,
            frames: frames
                .lines()
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()?,
            environment,
        })
    }

    /// The same frames, each when the adapter would write it.
    fn run(&self) -> Result<Duration, Failure> {
        let of_type = |kind: &'static str| self.frames.iter().filter(move |it| it["type"] == kind);
        let mut answers = of_type("control_response").cloned();
        let started = Instant::now();
        let mut process = Command::new(&self.cli)
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment)
            .current_dir(&self.environment["HOME"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = process.stdin.take();
        for frame in of_type("control_request") {
            write(&mut stdin, frame)?;
        }
        for line in BufReader::new(process.stdout.take().ok_or("read the CLI")?).lines() {
            let frame: Value = serde_json::from_str(&line?)?;
            match frame["type"].as_str() {
                Some("control_response") => {
                    for frame in of_type("user") {
                        write(&mut stdin, frame)?;
                    }
                }
                Some("control_request") => {
                    let mut answer = answers.next().ok_or("answer the CLI: it asks more")?;
                    answer["response"]["request_id"] = frame["request_id"].clone();
                    let message = &frame["request"]["message"]["id"];
                    if let Some(id) = answer.pointer_mut("/response/response/mcp_response/id") {
                        *id = message.clone();
                    }
                    write(&mut stdin, &answer)?;
                }
                Some("result") => stdin = None,
                _ => {}
            }
        }
        process.wait()?;
        Ok(started.elapsed())
    }
}

fn write(stdin: &mut Option<std::process::ChildStdin>, frame: &Value) -> std::io::Result<()> {
    match stdin {
        Some(stdin) => writeln!(stdin, "{frame}"),
        None => Ok(()),
    }
}
