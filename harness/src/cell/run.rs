//! The life of one cell, from its directories to its verdict.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use serde_json::{Value, json};

use super::context::{Bounds, CellContext};
use super::directories::CellDirectories;
use super::error::CellError;
use super::interpreter::{Interpreter, StepFailure, StepsEnd};
use super::messages_api::CellApi;
use super::process_tree;
use super::request::{CellReport, CellRequest, CheckReport, Verdict};
use super::runner::{RunnerProcess, RunnerSpawn};
use super::session::CellSession;
use super::taps::{self, TapServer};
use super::workers::Workers;
use crate::checks;
use crate::loopback::enforced_environment;
use crate::protocol::{Capability, CliCommand, Role};
use crate::scenario::CliKind;
use crate::tap::{SETTINGS_FILE, TapSettings};
use crate::trace::{Lane, Observation, Recorder};

/// The dummy key that every request of a cell must carry.
const API_KEY: &str = "sk-ant-dummy-key-of-a-cell";

/// What a run brought to light besides its trace.
enum Ended {
    Judged { failure: Option<StepFailure> },
    NotApplicable { missing: Vec<String> },
}

/// Runs one cell to its verdict. The process becomes a subreaper: it must run nothing else.
pub async fn run(request: CellRequest) -> CellReport {
    let started = Instant::now();
    let report = |verdict, checks, last_events, evidence| CellReport {
        verdict,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        checks,
        last_events,
        evidence,
    };
    let error = |error: CellError| Verdict::Error {
        message: error.to_string(),
    };
    let cell = match Cell::prepare(&request) {
        Ok(cell) => cell,
        Err(failed) => return report(error(failed), Vec::new(), Vec::new(), None),
    };
    let ended = cell.run(&request).await;
    // Also after an error on the way, nothing stays.
    process_tree::end_all_descendants(cell.context.bounds.end).await;
    let judged = match &ended {
        Ok(Ended::NotApplicable { missing }) => {
            return report(
                Verdict::NotApplicable {
                    missing: missing.clone(),
                },
                Vec::new(),
                Vec::new(),
                None,
            );
        }
        Ok(Ended::Judged { failure }) => checks::judge(
            &cell.context.plan,
            &cell.context.recorder.events(),
            failure.as_ref(),
        ),
        Err(_) => Vec::new(),
    };
    let failed = judged.iter().any(|check| !check.passed);
    let verdict = match ended {
        Err(failed) => error(failed),
        Ok(_) if failed => Verdict::Failed,
        Ok(_) => Verdict::Passed,
    };
    let evidence = cell.keep_evidence(&request, &verdict);
    let last_events = if verdict == Verdict::Passed {
        Vec::new()
    } else {
        cell.last_events(&judged)
    };
    report(
        verdict,
        judged.into_iter().map(CheckReport::from).collect(),
        last_events,
        evidence,
    )
}

struct Cell {
    directories: CellDirectories,
    context: Arc<CellContext>,
}

impl Cell {
    fn prepare(request: &CellRequest) -> Result<Self, CellError> {
        become_subreaper()?;
        let directories = CellDirectories::create().map_err(CellError::surroundings(
            "the cell's directories could not be made",
        ))?;
        let recorder = Recorder::to_file(&directories.log().join("trace.jsonl"))
            .map_err(CellError::surroundings("the trace could not be written"))?;
        let bounds = bounds(request);
        let mut plan = request.plan.clone();
        plan.agent.options.cwd = directories.work().to_string_lossy().into_owned();
        let context = CellContext::new(plan, Arc::new(recorder), bounds, directories.log());
        Ok(Self {
            directories,
            context: Arc::new(context),
        })
    }

    async fn run(&self, request: &CellRequest) -> Result<Ended, CellError> {
        let kind = if request.cli.real {
            CliKind::Real
        } else {
            CliKind::Fake
        };
        if !request.plan.can_run_on(kind) {
            let missing = vec!["a CLI of another kind".to_owned()];
            return Ok(Ended::NotApplicable { missing });
        }
        let api = Arc::new(
            CellApi::start(
                &self.context.barriers,
                request.plan.model.script().clone(),
                API_KEY,
            )
            .await?,
        );
        let (taps, tap_link) = self.serve_taps(request, &api)?;
        let spawn = self.runner_spawn(request, &tap_link);
        let (client, split) = self.start_client(&spawn).await?;
        let missing = missing_capabilities(&request.plan.requires, &client.identity.capabilities);
        if !missing.is_empty() {
            client.shut_down().await?;
            return Ok(Ended::NotApplicable { missing });
        }
        let ended = self
            .run_steps(request, &api, taps, spawn, client, split)
            .await;
        process_tree::end_all_descendants(self.context.bounds.end).await;
        self.record_ends(&api).await;
        ended
    }

    async fn start_client(
        &self,
        spawn: &RunnerSpawn,
    ) -> Result<(Arc<RunnerProcess>, bool), CellError> {
        let client = RunnerProcess::start(&self.context, spawn, Role::Client, "client").await?;
        if client.identity.capabilities.contains(&Capability::Split) {
            return Ok((Arc::new(client), true));
        }
        client.shut_down().await?;
        let both = RunnerProcess::start(&self.context, spawn, Role::Both, "worker-1").await?;
        Ok((Arc::new(both), false))
    }

    async fn run_steps(
        &self,
        request: &CellRequest,
        api: &Arc<CellApi>,
        taps: Arc<TapServer>,
        spawn: RunnerSpawn,
        client: Arc<RunnerProcess>,
        split: bool,
    ) -> Result<Ended, CellError> {
        let agent = self.context.plan.agent.clone();
        client.request::<Value>("agent/define", &agent).await?;
        let session = Arc::new(CellSession::new(
            Arc::clone(&self.context),
            Arc::clone(&client),
        ));
        let watching = tokio::spawn(Arc::clone(&session).watch());
        let mut workers = Workers::new(Arc::clone(&self.context), spawn, agent);
        if split {
            workers.launch().await?;
        } else {
            workers.adopt(Arc::clone(&client)).await?;
        }
        let mut interpreter = Interpreter::new(
            Arc::clone(&self.context),
            Arc::clone(api),
            taps,
            Arc::clone(&session),
            workers,
        );
        let failure = match interpreter.run(&request.plan.steps).await {
            Ok(()) => None,
            Err(StepsEnd::Failure(failure)) => Some(failure),
            Err(StepsEnd::Error(error)) => return Err(error),
        };
        watching.abort();
        // The session as it is when everything was done; later it is only read.
        session.refresh().await?;
        self.shut_down(&mut interpreter, &client, failure.is_some())
            .await?;
        Ok(Ended::Judged { failure })
    }

    /// Ends everything in order. After a step that did not come about the adapter may be stuck: then
    /// it is not asked politely, and nothing is concluded from what it leaves behind.
    async fn shut_down(
        &self,
        interpreter: &mut Interpreter,
        client: &RunnerProcess,
        stuck: bool,
    ) -> Result<(), CellError> {
        if stuck {
            return Ok(());
        }
        interpreter.workers.stop_all().await?;
        client.shut_down().await?;
        self.record_leftovers().await;
        Ok(())
    }

    /// Processes that outlived an orderly shutdown. One that is on its way out gets the time to go.
    async fn record_leftovers(&self) {
        for process in process_tree::remaining_descendants(self.context.bounds.end).await {
            self.context.recorder.record(
                Observation::new(Lane::Harness, "leftover_process")
                    .field("command", process.command())
                    .field("pid", process.pid.to_string()),
            );
        }
    }

    async fn record_ends(&self, api: &CellApi) {
        api.record_journal(&self.context.recorder).await;
        for path in self.directories.written_outside() {
            let path = path.to_string_lossy().into_owned();
            self.context
                .recorder
                .record(Observation::new(Lane::Harness, "written_outside").field("path", path));
        }
    }

    fn serve_taps(
        &self,
        request: &CellRequest,
        api: &Arc<CellApi>,
    ) -> Result<(Arc<TapServer>, std::path::PathBuf), CellError> {
        let binaries = self.directories.binaries();
        let socket = self.directories.root().join("bin").join("tap.socket");
        let link = binaries.join("claude");
        let failed = CellError::surroundings("the link to cli-tap could not be made");
        symlink(&request.tap, &link).map_err(&failed)?;
        let settings = TapSettings {
            socket: socket.to_string_lossy().into_owned(),
            reported_variables: self.cli_environment().into_keys().collect(),
        };
        let text = serde_json::to_string(&settings).unwrap_or_default();
        std::fs::write(binaries.join(SETTINGS_FILE), text).map_err(&failed)?;
        let listener = taps::listen(&socket)?;
        let server = TapServer::new(
            Arc::clone(&self.context),
            Arc::clone(api),
            request.cli.path.clone(),
            enforced_environment(),
            self.cell_environment(),
        );
        tokio::spawn(Arc::clone(&server).serve(listener));
        Ok((server, link))
    }

    fn runner_spawn(&self, request: &CellRequest, link: &Path) -> RunnerSpawn {
        let path = std::env::var("PATH").unwrap_or_default();
        let environment = self
            .cell_environment()
            .into_iter()
            .chain([("PATH".to_owned(), path)]);
        RunnerSpawn {
            command: request.runner.clone(),
            environment: environment.collect(),
            state_dir: self.directories.state().to_string_lossy().into_owned(),
            cli: CliCommand {
                path: link.to_string_lossy().into_owned(),
                env: self.cli_environment(),
            },
        }
    }

    /// Where everything in the cell lives.
    fn cell_environment(&self) -> BTreeMap<String, String> {
        let path = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
        BTreeMap::from([
            ("HOME".to_owned(), path(self.directories.home())),
            ("TMPDIR".to_owned(), path(self.directories.temporary())),
            (
                "CLAUDE_CONFIG_DIR".to_owned(),
                path(self.directories.config()),
            ),
            ("XDG_CACHE_HOME".to_owned(), path(self.directories.cache())),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ])
    }

    /// What the application hands to its CLI.
    fn cli_environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.cell_environment();
        environment.extend(enforced_environment());
        environment.insert("ANTHROPIC_API_KEY".to_owned(), API_KEY.to_owned());
        environment
    }

    fn keep_evidence(
        &self,
        request: &CellRequest,
        verdict: &Verdict,
    ) -> Option<std::path::PathBuf> {
        let wanted =
            request.keep || !matches!(verdict, Verdict::Passed | Verdict::NotApplicable { .. });
        if !wanted {
            return None;
        }
        self.directories
            .keep(&request.evidence)
            .ok()
            .map(|()| request.evidence.clone())
    }

    /// The last events of adapter, CLI and API before the first finding, or of all when it has no place.
    fn last_events(&self, judged: &[checks::Judgement]) -> Vec<String> {
        let place = judged
            .iter()
            .find(|check| !check.passed)
            .and_then(|check| check.at_seq);
        crate::trace::last_events(&self.context.recorder.events(), place)
    }
}

fn bounds(request: &CellRequest) -> Bounds {
    let seconds = |seconds: f64| Duration::from_secs_f64(seconds * request.timeout_scale);
    let step = if request.cli.real { 60.0 } else { 10.0 };
    Bounds {
        step: request.plan.step_timeout.map_or_else(
            || seconds(step),
            |bound| bound.mul_f64(request.timeout_scale),
        ),
        start: seconds(30.0),
        end: seconds(if request.cli.real { 20.0 } else { 5.0 }),
    }
}

fn missing_capabilities(required: &[Capability], offered: &[Capability]) -> Vec<String> {
    required
        .iter()
        .filter(|needed| !offered.contains(needed))
        .map(|needed| needed.wire_name())
        .collect()
}

/// From now on, what the processes below this one leave behind comes to this one.
pub(crate) fn become_subreaper() -> Result<(), CellError> {
    prctl::set_child_subreaper(true).map_err(|error| CellError::Surroundings {
        what: "the process could not become a subreaper",
        reason: error.to_string(),
    })
}

/// A cell's whole life for the process that runs only it: the request comes on stdin, the report goes
/// to stdout.
///
/// # Errors
/// When stdin holds no request.
pub async fn run_from_stdin() -> Result<(), CellError> {
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(CellError::surroundings("stdin could not be read"))?;
    let request: CellRequest =
        serde_json::from_str(&text).map_err(|error| CellError::Surroundings {
            what: "stdin holds no cell request",
            reason: error.to_string(),
        })?;
    let report = run(request).await;
    println!("{}", json!(report));
    Ok(())
}
