//! The worker processes of a cell.

use std::sync::Arc;

use serde_json::{Value, json};

use super::context::CellContext;
use super::error::CellError;
use super::runner::{RunnerProcess, RunnerSpawn};
use crate::protocol::{AgentDefinition, Role};

/// The worker processes of a cell, oldest first.
pub(crate) struct Workers {
    context: Arc<CellContext>,
    spawn: RunnerSpawn,
    agent: AgentDefinition,
    running: Vec<Arc<RunnerProcess>>,
    launched: usize,
    /// Whether the one process of the runner is client and worker, and is shut down as the client.
    shared: bool,
}

impl Workers {
    pub(crate) fn new(
        context: Arc<CellContext>,
        spawn: RunnerSpawn,
        agent: AgentDefinition,
    ) -> Self {
        Self {
            context,
            spawn,
            agent,
            running: Vec::new(),
            launched: 0,
            shared: false,
        }
    }

    /// For a runner without the capability `split`: its one process is the worker as well.
    pub(crate) async fn adopt(&mut self, both: Arc<RunnerProcess>) -> Result<(), CellError> {
        self.launched += 1;
        self.shared = true;
        both.request::<Value>("worker/start", &json!({})).await?;
        self.running.push(both);
        Ok(())
    }

    /// Starts another worker and lets it work.
    pub(crate) async fn launch(&mut self) -> Result<(), CellError> {
        self.launched += 1;
        let name = format!("worker-{}", self.launched);
        let worker = RunnerProcess::start(&self.context, &self.spawn, Role::Worker, &name).await?;
        worker.request::<Value>("agent/define", &self.agent).await?;
        worker.request::<Value>("worker/start", &json!({})).await?;
        self.running.push(Arc::new(worker));
        Ok(())
    }

    /// Stops the newest worker as a deployment would.
    pub(crate) async fn stop_newest(&mut self) -> Result<(), CellError> {
        let Some(worker) = self.running.pop() else {
            return Ok(());
        };
        worker.request::<Value>("worker/stop", &json!({})).await?;
        if self.shared {
            Ok(())
        } else {
            worker.shut_down().await
        }
    }

    pub(crate) async fn stop_all(&mut self) -> Result<(), CellError> {
        while !self.running.is_empty() {
            self.stop_newest().await?;
        }
        Ok(())
    }

    pub(crate) async fn kill_newest(&mut self, also: Vec<i32>, alone: bool) {
        if let Some(worker) = self.running.pop() {
            worker.kill(also, alone).await;
        }
    }

    pub(crate) fn newest_name(&self) -> Option<String> {
        self.running.last().map(|worker| worker.name().to_owned())
    }

    pub(crate) fn newest_pid(&self) -> Option<i32> {
        self.running.last().map(|worker| worker.identity.pid)
    }
}
