//! Drives the CLI through one segment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::definition::ClaudeAgent;
use crate::agent::options::ClaudeAgentOptions;
use crate::agent::sabotage::Sabotage;
use crate::cli::arguments::cli_arguments;
use crate::cli::environment::{cli_environment, worker_environment};
use crate::cli::frame::{self, ControlResponse, Frame, ResultFrame, SpokenFrame};
use crate::cli::process::{CliProcess, Launch, ProcessError};
use crate::mcp::bridge::McpBridge;
use crate::segment::answer::Answerer;
use crate::segment::calls::SegmentCalls;
use crate::segment::conversation::SegmentStart;
use crate::segment::delta::DeltaReader;
use crate::segment::gate::Gate;
use crate::segment::hooks::Hooks;
use crate::segment::mirror::{Mirror, MirrorGap};
use crate::segment::pending::PendingAnswers;
use crate::segment::transcript::RebuiltConfiguration;
use crate::session::event::{SegmentEnd, SessionEvent};
use crate::session::snapshot::Usage;

/// Receives the live events of an attempt.
pub(crate) type Publish = Arc<dyn Fn(SessionEvent) + Send + Sync>;

/// The id of the `initialize` request.
const INITIALIZE: &str = "initialize";

/// How long the CLI may go on writing after its result.
const LINGER: Duration = Duration::from_secs(5);

/// What one segment needs.
pub(crate) struct SegmentRequest {
    pub(crate) agent: ClaudeAgent,
    pub(crate) options: ClaudeAgentOptions,
    pub(crate) start: Arc<SegmentStart>,
    /// Ids of this turn's calls that have a final record.
    pub(crate) recorded: BTreeSet<String>,
    pub(crate) publish: Publish,
    /// Where the rebuilt configuration directory goes.
    pub(crate) scratch_directory: PathBuf,
    /// Ends the segment early, with its CLI.
    pub(crate) cancelled: CancellationToken,
}

/// A segment did not end properly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SegmentError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("rebuild the CLI's configuration directory: {0}")]
    Rebuild(std::io::Error),
    #[error("find the working directory: {0}")]
    WorkingDirectory(std::io::Error),
    #[error("initialize the CLI: {0}")]
    Initialize(String),
    #[error("run the segment: the CLI {how} without a result{}", described(.stderr))]
    NoResult { how: String, stderr: String },
    #[error("run the segment: the CLI reported {subtype}: {text}")]
    Reported { subtype: String, text: String },
    #[error(
        "run the segment: Claude Code has a tool named {0} like a custom tool; rename the custom tool"
    )]
    NameCollision(String),
    #[error("run the segment: the CLI deferred {named}, not the call that was to leave the turn")]
    OtherDeferral { named: String },
    #[error("run the segment: the CLI ended the turn although call {0} was to leave it")]
    LostDeferral(String),
    #[error("resume the suspended call: the CLI ended without taking it up")]
    NotResumed,
    #[error("run the segment within {} s; raise the agent's run_model_timeout", .0.as_secs())]
    TimedOut(Duration),
    #[error("run the segment: it was cancelled")]
    Cancelled,
    #[error("store the transcript: {0}")]
    Mirror(#[from] MirrorGap),
}

fn described(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!("; its last words were: {stderr}")
    }
}

fn how_it_ended(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("ended ({status})"),
        None => "closed its output, did not end, and was killed".to_owned(),
    }
}

/// Runs one segment to its end. Dropping the future kills the CLI.
pub(crate) async fn run_segment(request: SegmentRequest) -> Result<SegmentEnd, SegmentError> {
    let working_directory = working_directory(&request.options)?;
    let mut environment = cli_environment(worker_environment(), &request.options.env);
    // Lives as long as the CLI may read it.
    let rebuilt = rebuild(&request, &working_directory, &environment)?;
    if let Some(rebuilt) = &rebuilt {
        let path = rebuilt.path().to_string_lossy().into_owned();
        environment.insert("CLAUDE_CONFIG_DIR".to_owned(), path);
    }
    let launch = Launch {
        program: request.agent.cli().clone(),
        arguments: cli_arguments(
            &request.options,
            request.start.claude_session_id(),
            !request.agent.is_sabotaged(Sabotage::SkipAwaitInitialize),
        ),
        environment,
        working_directory,
    };
    let process = CliProcess::start(&launch).await?;
    let mut driver = SegmentDriver::new(&request, process);
    let timeout = request.agent.run_model_timeout();
    let ended = tokio::select! {
        ended = driver.drive(&request.start) => ended,
        () = request.cancelled.cancelled() => Err(SegmentError::Cancelled),
        () = tokio::time::sleep(timeout) => Err(SegmentError::TimedOut(timeout)),
    };
    driver.process.kill().await;
    ended
}

fn working_directory(options: &ClaudeAgentOptions) -> Result<PathBuf, SegmentError> {
    match &options.cwd {
        Some(directory) => Ok(directory.clone()),
        None => std::env::current_dir().map_err(SegmentError::WorkingDirectory),
    }
}

fn rebuild(
    request: &SegmentRequest,
    working_directory: &Path,
    environment: &std::collections::BTreeMap<String, String>,
) -> Result<Option<RebuiltConfiguration>, SegmentError> {
    let Some(claude_session_id) = request.start.claude_session_id() else {
        return Ok(None);
    };
    let configured = environment
        .get("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(environment.get("HOME")?).join(".claude")));
    RebuiltConfiguration::build(
        claude_session_id,
        &request.start,
        &request.scratch_directory,
        working_directory,
        configured.as_deref(),
    )
    .map(Some)
    .map_err(SegmentError::Rebuild)
}

struct SegmentDriver {
    agent: ClaudeAgent,
    process: CliProcess,
    gate: Arc<Mutex<Gate>>,
    answerer: Answerer,
    hooks: Hooks,
    answers: PendingAnswers,
    mirror: Mirror,
    deltas: DeltaReader,
    publish: Publish,
    model_calls: BTreeSet<String>,
    result: Option<ResultFrame>,
}

impl SegmentDriver {
    fn new(request: &SegmentRequest, process: CliProcess) -> Self {
        let record = match request.start.as_ref() {
            SegmentStart::Prompt { .. } => None,
            SegmentStart::Resume { record, .. } => Some(record.clone()),
        };
        let agent = request.agent.clone();
        let gate = Arc::new(Mutex::new(Gate::new(
            agent.clone(),
            record,
            request.recorded.clone(),
        )));
        let calls = Arc::new(SegmentCalls {
            agent: agent.clone(),
            gate: Arc::clone(&gate),
            publish: Arc::clone(&request.publish),
        });
        let hooks = Hooks::new(request.options.hooks.clone());
        Self {
            process,
            answerer: Answerer::new(
                agent.clone(),
                Arc::clone(&gate),
                hooks.clone(),
                McpBridge::start(agent.tools(), calls),
            ),
            agent,
            gate,
            hooks,
            answers: PendingAnswers::default(),
            mirror: Mirror::default(),
            deltas: DeltaReader::default(),
            publish: Arc::clone(&request.publish),
            model_calls: BTreeSet::new(),
            result: None,
        }
    }

    async fn drive(&mut self, start: &SegmentStart) -> Result<SegmentEnd, SegmentError> {
        let initialize = frame::initialize(INITIALIZE, &self.hooks.registration());
        self.process.write(&initialize).await?;
        let mut lingers_until: Option<Instant> = None;
        loop {
            let deadline = lingers_until.unwrap_or_else(far_future);
            tokio::select! {
                frame = self.process.next_frame() => match frame? {
                    Some(frame) => self.take(frame, start).await?,
                    None => break,
                },
                Some(answer) = self.answers.next() => self.answer(&answer).await,
                () = tokio::time::sleep_until(deadline), if lingers_until.is_some() => break,
            }
            if self.result.is_some() && lingers_until.is_none() {
                self.process.close_stdin();
                lingers_until = Some(Instant::now() + LINGER);
            }
        }
        self.answers.end();
        let status = self.process.finish().await;
        match self.result.take() {
            Some(result) => self.end(result, start),
            None => Err(SegmentError::NoResult {
                how: how_it_ended(status),
                stderr: self.process.stderr_tail().await,
            }),
        }
    }

    async fn take(&mut self, frame: Frame, start: &SegmentStart) -> Result<(), SegmentError> {
        match frame {
            Frame::ControlResponse { response } => self.initialized(response, start).await?,
            Frame::ControlRequest {
                request_id,
                request,
            } => {
                if let Some(answer) = self.answerer.answer(request_id.clone(), request) {
                    self.answers.add(request_id, answer);
                }
            }
            Frame::Assistant(spoken) => {
                self.count_model_call(&spoken);
                self.mirror.expect(&spoken);
            }
            Frame::User(spoken) => self.mirror.expect(&spoken),
            Frame::TranscriptMirror(lines) => self.mirror.collect(lines),
            Frame::StreamEvent {
                event,
                parent_tool_use_id: None,
            } => {
                if let Some(delta) = self.deltas.read(&event) {
                    self.publish_delta(delta);
                }
            }
            Frame::Result(result) if self.result.is_none() => self.result = Some(result),
            Frame::Result(_) => tracing::warn!("skipped a second result of the CLI"),
            Frame::ControlCancelRequest { request_id } => {
                self.answers.withdraw(&request_id);
            }
            Frame::StreamEvent { .. } | Frame::Unknown => {}
        }
        Ok(())
    }

    fn publish_delta(&self, delta: SessionEvent) {
        if let (SessionEvent::TextDelta { message_id, .. }, true) =
            (&delta, self.agent.is_sabotaged(Sabotage::InventDelta))
        {
            (self.publish)(SessionEvent::TextDelta {
                text: "(invented)".to_owned(),
                message_id: message_id.clone(),
            });
        }
        (self.publish)(delta);
    }

    async fn initialized(
        &mut self,
        response: ControlResponse,
        start: &SegmentStart,
    ) -> Result<(), SegmentError> {
        match (response, start) {
            (ControlResponse::Error { request_id, error }, _) if request_id == INITIALIZE => {
                Err(SegmentError::Initialize(error))
            }
            (ControlResponse::Success { request_id }, SegmentStart::Prompt { texts, .. })
                if request_id == INITIALIZE =>
            {
                self.process.write(&frame::user_prompt(texts)).await?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A CLI that is gone shows at the end of its output, with its last words.
    async fn answer(&mut self, answer: &Value) {
        if let Err(error) = self.process.write(answer).await {
            tracing::debug!(%error, "the CLI did not take an answer");
        }
    }

    fn count_model_call(&mut self, spoken: &SpokenFrame) {
        let is_synthetic = spoken.message["model"] == "<synthetic>";
        if let (false, Some(id)) = (is_synthetic, spoken.message["id"].as_str()) {
            self.model_calls.insert(id.to_owned());
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: ResultFrame, start: &SegmentStart) -> Result<SegmentEnd, SegmentError> {
        if let Some(tool) = self.gate().collision() {
            return Err(SegmentError::NameCollision(tool.to_owned()));
        }
        if result.is_error || result.subtype != "success" {
            return Err(reported(result));
        }
        if !self.gate().resumption_is_complete() {
            return Err(SegmentError::NotResumed);
        }
        let deferred = self.deferred(&result)?;
        let session = &result.session_id;
        let deferred_id = deferred.as_ref().map(|call| call.tool_use_id.as_str());
        if let Some(gap) = self
            .mirror
            .gap(session, |id| start.has_entry(id), deferred_id)
        {
            return Err(gap.into());
        }
        let mut turn_entries = start.turn_entries().to_vec();
        turn_entries.extend_from_slice(self.mirror.entries(session));
        if self.agent.is_sabotaged(Sabotage::DuplicateTranscriptEntry) {
            let repeated = turn_entries.iter().rfind(|entry| entry["uuid"].is_string());
            turn_entries.extend(repeated.cloned());
        }
        Ok(SegmentEnd {
            turn_entries,
            usage: self.usage(&result),
            deferred,
            claude_session_id: result.session_id,
        })
    }

    fn deferred(
        &self,
        result: &ResultFrame,
    ) -> Result<Option<crate::session::record::DeferredCall>, SegmentError> {
        let gate = self.gate();
        let named = result
            .deferred_tool_use
            .as_ref()
            .filter(|_| result.stop_reason.as_deref() == Some("tool_deferred"));
        match (named, gate.deferred()) {
            (Some(named), Some(expected)) if named.id == expected => gate
                .deferred_call(&named.id, &named.name, named.input.clone())
                .map(Some)
                .ok_or_else(|| SegmentError::OtherDeferral {
                    named: named.id.clone(),
                }),
            (Some(named), _) => Err(SegmentError::OtherDeferral {
                named: named.id.clone(),
            }),
            (None, Some(expected)) => Err(SegmentError::LostDeferral(expected.to_owned())),
            (None, None) => Ok(None),
        }
    }

    fn usage(&self, result: &ResultFrame) -> Usage {
        let usage = result.usage;
        Usage {
            input_tokens: usage.input_tokens
                + usage.cache_creation_input_tokens
                + usage.cache_read_input_tokens,
            cached_input_tokens: usage.cache_read_input_tokens,
            output_tokens: usage.output_tokens,
            model_calls: self.model_calls.len() as u64,
        }
    }
}

fn reported(result: ResultFrame) -> SegmentError {
    let text = match result.result {
        Some(text) if !text.is_empty() => text,
        _ if !result.errors.is_empty() => result.errors.join("; "),
        _ => result
            .stop_reason
            .unwrap_or_else(|| "no reason was given".to_owned()),
    };
    SegmentError::Reported {
        subtype: result.subtype,
        text,
    }
}

/// A deadline that is never reached.
fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(365 * 24 * 60 * 60)
}
