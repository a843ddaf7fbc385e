//! One Messages API for all cases, and the running of a case on a CLI in front of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mock_messages_api::{ApiEvent, Directive, JournalEntry, MockMessagesApi, Observer};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::arguments::command_line;
use super::corpus::{Case, CaseDocument, RunDocument, Transcripts};
use super::error::DriftError;
use super::host::{Happening, Spawn, converse};
use super::normalise::{Names, normalised};
use super::surroundings::{Surroundings, write_files};
use super::trace::{CaseTrace, Lane, RunTrace};
use super::transcripts::{TranscriptReader, write_mirrored};
use crate::cell::CliBinary;
use crate::loopback::enforced_environment;

/// The dummy key that every request must carry.
const API_KEY: &str = "sk-ant-dummy-key-of-a-case";

/// Who waits for the requests of which client.
type Waiters = Arc<Mutex<BTreeMap<(String, String), UnboundedSender<Happening>>>>;

/// Where cases are run.
pub(crate) struct Stage {
    api: MockMessagesApi,
    waiters: Waiters,
    timeout_scale: f64,
    /// Where the directories of the cases are made.
    directory: PathBuf,
}

/// A CLI with the version it tells of itself.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) cli: CliBinary,
    pub(crate) version: String,
}

impl Stage {
    pub(crate) async fn open(timeout_scale: f64, directory: &Path) -> io::Result<Self> {
        let waiters = Waiters::default();
        let observer = RequestObserver {
            waiters: Arc::clone(&waiters),
        };
        let api = MockMessagesApi::builder()
            .observer(Arc::new(observer))
            .api_key(API_KEY)
            .start()
            .await?;
        Ok(Self {
            api,
            waiters,
            timeout_scale,
            directory: directory.to_owned(),
        })
    }

    /// Runs a case and normalises what came of it. `session` is this run's own name at the Messages API.
    pub(crate) async fn run(
        &self,
        case: &Case,
        subject: &Subject,
        session: &str,
    ) -> Result<CaseTrace, DriftError> {
        let surroundings =
            Surroundings::create_in(&self.directory).map_err(DriftError::surroundings)?;
        let mut performance = Performance {
            stage: self,
            case,
            subject,
            session,
            surroundings,
            reader: TranscriptReader::default(),
            session_id: None,
        };
        let mut trace = CaseTrace::default();
        for number in 0..case.document.runs.len() {
            let run = performance.run(number, trace.runs.last()).await?;
            trace.runs.push(run);
        }
        let names = Names {
            literals: performance.surroundings.names(),
            api: self.api.base_url(session, ""),
            address: self.api.address().to_string(),
            date: chrono::Utc::now().date_naive().to_string(),
            version: subject.version.clone(),
        };
        self.api.unmount(session);
        Ok(normalised(&trace, &names))
    }

    fn bound(&self, subject: &Subject) -> Duration {
        Duration::from_secs_f64(if subject.cli.real { 60.0 } else { 20.0 } * self.timeout_scale)
    }
}

struct Performance<'a> {
    stage: &'a Stage,
    case: &'a Case,
    subject: &'a Subject,
    session: &'a str,
    surroundings: Surroundings,
    reader: TranscriptReader,
    /// Of the first process.
    session_id: Option<String>,
}

impl Performance<'_> {
    async fn run(
        &mut self,
        number: usize,
        before: Option<&RunTrace>,
    ) -> Result<RunTrace, DriftError> {
        let document = self.document()?;
        let run = &document.runs[number];
        let client = format!("run-{}", number + 1);
        if number == 0 {
            self.stage.api.mount(self.session, document.model.clone());
        }
        self.prepare(run, before)
            .map_err(DriftError::surroundings)?;
        let (sender, receiver) = unbounded_channel();
        let key = (self.session.to_owned(), client.clone());
        self.stage.waiters().insert(key.clone(), sender.clone());
        let spawn = self.spawn(run, &client);
        let bound = self.stage.bound(self.subject);
        let outcome = converse(&spawn, run, &document.tools, (sender, receiver), bound).await;
        self.stage.waiters().remove(&key);
        let mut trace = outcome.map_err(|source| DriftError::Start {
            cli: self.subject.cli.path.clone(),
            source,
        })?;
        for entry in self.stage.api.journal(self.session) {
            if entry.client.as_deref() == Some(client.as_str()) {
                trace.push(
                    Lane::Http,
                    request_entry(&entry, &format!("/{}/{client}", self.session)),
                );
            }
        }
        for entry in self.reader.fresh_entries(&self.surroundings.config()) {
            trace.push(Lane::Transcript, entry);
        }
        if self.session_id.is_none() {
            let frames = trace.lane(Lane::Stdout);
            self.session_id = frames
                .iter()
                .find_map(|frame| Some(frame["session_id"].as_str()?.to_owned()));
        }
        Ok(trace)
    }

    fn document(&self) -> Result<CaseDocument, DriftError> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let (cwd, outside) = (
            text(self.surroundings.work()),
            text(self.surroundings.outside()),
        );
        let mut values = vec![("cwd", cwd.as_str()), ("outside", outside.as_str())];
        if let Some(id) = &self.session_id {
            values.push(("session", id));
        }
        self.case
            .with_values(&values)
            .map_err(|source| DriftError::Case {
                case: self.case.id.to_string(),
                source,
            })
    }

    fn prepare(&mut self, run: &RunDocument, before: Option<&RunTrace>) -> io::Result<()> {
        let old = self.surroundings.config();
        let mirrored = before.map(|run| run.lane(Lane::Mirror)).unwrap_or_default();
        match run.transcripts {
            Transcripts::Kept => {}
            Transcripts::None => self.surroundings.new_config()?,
            Transcripts::Mirrored | Transcripts::MirroredWithoutDeferrals => {
                self.surroundings.new_config()?;
                let all = run.transcripts == Transcripts::Mirrored;
                let keep =
                    |entry: &Value| all || entry["attachment"]["type"] != "hook_deferred_tool";
                write_mirrored(mirrored, &old, &self.surroundings.config(), keep)?;
                self.reader.skip(&self.surroundings.config());
            }
        }
        let work = self.surroundings.work();
        if let Some(directory) = &run.directory {
            std::fs::create_dir_all(work.join(directory))?;
        }
        write_files(&work, &run.files)?;
        write_files(&self.surroundings.outside(), &run.files_outside)
    }

    fn spawn(&self, run: &RunDocument, client: &str) -> Spawn {
        let mut environment = self.environment(client);
        for (name, value) in &run.environment {
            match value {
                Some(value) => environment.insert(name.clone(), value.clone()),
                None => environment.remove(name),
            };
        }
        let work = self.surroundings.work();
        Spawn {
            executable: self.subject.cli.path.clone(),
            arguments: command_line(run, self.session_id.as_deref())
                .into_iter()
                .map(OsString::from)
                .collect(),
            environment: environment.into_iter().collect(),
            directory: run
                .directory
                .as_ref()
                .map_or_else(|| work.clone(), |directory| work.join(directory)),
        }
    }

    /// The environment as the Python SDK hands it on, kept on loopback.
    fn environment(&self, client: &str) -> BTreeMap<String, String> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut environment = enforced_environment();
        environment.extend(
            [
                ("PATH", std::env::var("PATH").unwrap_or_default()),
                ("HOME", text(self.surroundings.home())),
                ("CLAUDE_CONFIG_DIR", text(self.surroundings.config())),
                ("XDG_CACHE_HOME", text(self.surroundings.cache())),
                ("TMPDIR", text(self.surroundings.temporary())),
                ("SHELL", "/bin/bash".to_owned()),
                ("LANG", "C.UTF-8".to_owned()),
                ("TZ", "UTC".to_owned()),
                ("ANTHROPIC_API_KEY", API_KEY.to_owned()),
                (
                    "ANTHROPIC_BASE_URL",
                    self.stage.api.base_url(self.session, client),
                ),
                ("CLAUDE_CODE_ENTRYPOINT", "sdk-py".to_owned()),
                ("CLAUDE_AGENT_SDK_VERSION", "0.2.176".to_owned()),
                ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        environment
    }
}

impl Stage {
    fn waiters(
        &self,
    ) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), UnboundedSender<Happening>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request as it would be without the prefix that tells the processes of all cases apart.
fn request_entry(entry: &JournalEntry, prefix: &str) -> Value {
    let path = entry.path.strip_prefix(prefix).unwrap_or(&entry.path);
    json!({"method": entry.method, "path": path, "headers": entry.headers, "body": entry.body})
}

struct RequestObserver {
    waiters: Waiters,
}

#[async_trait]
impl Observer for RequestObserver {
    async fn observe(&self, event: ApiEvent) -> Directive {
        if let ApiEvent::RequestArrived { request, .. } = event {
            let key = (request.session, request.client.unwrap_or_default());
            if let Some(waiter) = self
                .waiters
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&key)
            {
                let _ = waiter.send(Happening::Request);
            }
        }
        Directive::Continue
    }
}
