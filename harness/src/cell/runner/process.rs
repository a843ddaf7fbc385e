//! One process of a runner: how it is started, asked, stopped and killed.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot, watch};

use super::super::context::CellContext;
use super::super::error::CellError;
use super::super::request::RunnerCommand;
use super::incoming::Refusal;
use super::pipe::{self, Order};
use crate::protocol::{CliCommand, InitializeParams, InitializeResult, PROTOCOL_VERSION, Role};

/// What is needed to start any process of the runner.
#[derive(Debug, Clone)]
pub(crate) struct RunnerSpawn {
    pub(crate) command: RunnerCommand,
    /// The cell's environment: nothing else is inherited.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) state_dir: String,
    pub(crate) cli: CliCommand,
}

/// A running process of the runner.
#[derive(Debug)]
pub(crate) struct RunnerProcess {
    name: String,
    context: Arc<CellContext>,
    orders: mpsc::UnboundedSender<Order>,
    ended: watch::Receiver<bool>,
    pub(crate) identity: InitializeResult,
}

impl RunnerProcess {
    /// Starts a process in `role` and initializes it.
    ///
    /// # Errors
    /// When it cannot be started, does not answer in time, or does not speak the protocol.
    pub(crate) async fn start(
        context: &Arc<CellContext>,
        spawn: &RunnerSpawn,
        role: Role,
        name: &str,
    ) -> Result<Self, CellError> {
        let started = start_child(context, spawn, name)?;
        let child_pid = started
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .unwrap_or_default();
        context.add_runner(child_pid, name);
        let (orders, ended) = pipe::open(Arc::clone(context), name.to_owned(), started);
        let connection = Connection {
            name,
            context,
            orders: &orders,
        };
        let params = InitializeParams {
            protocol_version: PROTOCOL_VERSION,
            role,
            state_dir: spawn.state_dir.clone(),
            cli: spawn.cli.clone(),
            worker_id: name.to_owned(),
        };
        let identity: InitializeResult = connection
            .request("initialize", &params, context.bounds.start)
            .await?;
        if identity.protocol_version != PROTOCOL_VERSION {
            let what = format!(
                "it speaks version {}, the harness version {PROTOCOL_VERSION}",
                identity.protocol_version
            );
            return Err(CellError::Protocol {
                name: name.to_owned(),
                what,
                stderr: String::new(),
            });
        }
        context.add_runner(identity.pid, name);
        Ok(Self {
            name: name.to_owned(),
            context: Arc::clone(context),
            orders,
            ended,
            identity,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Asks the runner something.
    ///
    /// # Errors
    /// A refusal, silence, or the end of the process.
    pub(crate) async fn request<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, CellError> {
        let connection = Connection {
            name: &self.name,
            context: &self.context,
            orders: &self.orders,
        };
        connection
            .request(method, params, self.context.bounds.step)
            .await
    }

    /// Asks for `shutdown` and waits for exit code 0.
    ///
    /// # Errors
    /// When it refuses, or does not end in time.
    pub(crate) async fn shut_down(&self) -> Result<(), CellError> {
        let _ = self.orders.send(Order::ExpectEnd);
        let _: Value = self.request("shutdown", &json!({})).await?;
        let mut ended = self.ended.clone();
        let end = self.context.bounds.end;
        match tokio::time::timeout(end, ended.wait_for(|ended| *ended)).await {
            Ok(_) => Ok(()),
            Err(_) => Err(CellError::NoAnswer {
                name: self.name.clone(),
                method: "shutdown with its exit".to_owned(),
                bound: end,
                stderr: stderr_tail(&self.context.log, &self.name),
            }),
        }
    }

    /// Kills the process, with `also` and all descendants, or alone.
    pub(crate) async fn kill(&self, also: Vec<i32>, alone: bool) {
        let (done, killed) = oneshot::channel();
        let alone = alone.then_some(self.identity.pid);
        let _ = self.orders.send(Order::Kill { also, alone, done });
        // The pipe's task answers, or is gone because the process is.
        let _ = killed.await;
    }
}

struct Connection<'a> {
    name: &'a str,
    context: &'a CellContext,
    orders: &'a mpsc::UnboundedSender<Order>,
}

impl Connection<'_> {
    async fn request<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        bound: Duration,
    ) -> Result<R, CellError> {
        let params =
            serde_json::to_value(params).map_err(|error| self.violation(error.to_string()))?;
        let (sender, answer) = oneshot::channel();
        let _ = self.orders.send(Order::Ask {
            method: method.to_owned(),
            params,
            answer: sender,
        });
        let answered = self
            .context
            .unless_failed(tokio::time::timeout(bound, answer))
            .await?;
        let answered = answered.map_err(|_| CellError::NoAnswer {
            name: self.name.to_owned(),
            method: method.to_owned(),
            bound,
            stderr: stderr_tail(&self.context.log, self.name),
        })?;
        let value = answered
            .map_err(|_| self.ended())?
            .map_err(|refusal| self.refused(method, &refusal))?;
        serde_json::from_value(value).map_err(|error| {
            self.violation(format!(
                "its answer to {method} has the wrong form: {error}"
            ))
        })
    }

    fn ended(&self) -> CellError {
        let stderr = stderr_tail(&self.context.log, self.name);
        CellError::RunnerEnded {
            name: self.name.to_owned(),
            status: "its pipe is closed".to_owned(),
            stderr,
        }
    }

    fn refused(&self, method: &str, refusal: &Refusal) -> CellError {
        let kind = refusal
            .data
            .get("kind")
            .and_then(Value::as_str)
            .map_or_else(String::new, |kind| format!(" ({kind})"));
        CellError::Refused {
            name: self.name.to_owned(),
            method: method.to_owned(),
            message: format!("{}{kind}", refusal.message),
        }
    }

    fn violation(&self, what: String) -> CellError {
        CellError::Protocol {
            name: self.name.to_owned(),
            what,
            stderr: stderr_tail(&self.context.log, self.name),
        }
    }
}

fn start_child(
    context: &CellContext,
    spawn: &RunnerSpawn,
    name: &str,
) -> Result<tokio::process::Child, CellError> {
    let refuse = |reason: String| CellError::RunnerStart {
        name: name.to_owned(),
        command: spawn.command.command.join(" "),
        reason,
    };
    let Some((program, arguments)) = spawn.command.command.split_first() else {
        return Err(refuse("the command is empty".to_owned()));
    };
    let stderr =
        File::create(stderr_path(&context.log, name)).map_err(|error| refuse(error.to_string()))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(spawn.environment.iter().cloned())
        .envs(&spawn.command.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .process_group(0)
        .kill_on_drop(true);
    command.spawn().map_err(|error| refuse(error.to_string()))
}

fn stderr_path(log: &Path, name: &str) -> std::path::PathBuf {
    log.join(format!("{name}.stderr"))
}

/// The last lines a process wrote to stderr, as the end of a sentence.
pub(super) fn stderr_tail(log: &Path, name: &str) -> String {
    const LINES: usize = 5;
    let text = std::fs::read(stderr_path(log, name)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return "; it wrote nothing to stderr".to_owned();
    }
    format!(
        "; the end of its stderr:\n  {}",
        lines[lines.len().saturating_sub(LINES)..].join("\n  ")
    )
}
