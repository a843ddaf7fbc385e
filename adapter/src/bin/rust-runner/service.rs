//! The protocol's methods, each one call of the adapter's public interface.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use adapter::{
    ClaudeAgent, EmbeddedEngine, EngineError, GatePoint, LiveEvent, Resolution, Sabotage,
    SessionClient, StepGate, StepObserver, Worker,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::definition::{AgentForm, CliForm, define};
use crate::peer::{Peer, RpcError};

/// What `initialize` set up.
struct Setup {
    engine: EmbeddedEngine,
    client: SessionClient,
    cli: CliForm,
}

/// Answers the other side's requests.
pub(crate) struct Service {
    peer: Arc<Peer>,
    sabotage: Option<Sabotage>,
    setup: OnceLock<Setup>,
    agent: OnceLock<ClaudeAgent>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Deserialize)]
struct Initialize {
    role: String,
    state_dir: PathBuf,
    cli: CliForm,
}

#[derive(Deserialize)]
struct Session {
    session_id: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Resolve {
    session_id: String,
    interrupt_id: String,
    approved: bool,
    rejection_message: Option<String>,
}

impl Service {
    pub(crate) fn new(peer: Arc<Peer>, sabotage: Option<Sabotage>) -> Self {
        Self {
            peer,
            sabotage,
            setup: OnceLock::new(),
            agent: OnceLock::new(),
            worker: Mutex::new(None),
        }
    }

    pub(crate) async fn handle(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        match method {
            "initialize" => self.initialize(read(params)?).await,
            "agent/define" => self.define(read(params)?),
            "worker/start" => self.start_worker().await,
            "worker/stop" | "shutdown" => self.stop_worker().await,
            "session/start" => {
                let Session {
                    session_id,
                    message,
                    ..
                } = read(params)?;
                self.client()?
                    .start(&session_id, message)
                    .await
                    .map_err(engine_error)?;
                Ok(json!({}))
            }
            "session/send" => {
                let Session {
                    session_id, text, ..
                } = read(params)?;
                accepted(self.client()?.send(&session_id, text).await)
            }
            "session/resolve" => self.resolve(read(params)?).await,
            "session/cancel" => {
                let Session { session_id, .. } = read(params)?;
                accepted(self.client()?.cancel(&session_id).await)
            }
            "session/snapshot" => {
                let Session { session_id, .. } = read(params)?;
                let snapshot = self.client()?.snapshot(&session_id).await;
                Ok(json!(snapshot.map_err(engine_error)?))
            }
            _ => Err(RpcError {
                code: -32601,
                message: format!("there is no method {method}"),
                kind: "unsupported",
            }),
        }
    }

    async fn initialize(&self, request: Initialize) -> Result<Value, RpcError> {
        let engine = EmbeddedEngine::open(&request.state_dir).map_err(engine_error)?;
        let client = SessionClient::new(&engine);
        if request.role != "worker" {
            let changes = client.changes().await.map_err(engine_error)?;
            tokio::spawn(forward(
                changes,
                Arc::clone(&self.peer),
                "session/changed",
                |change| json!({"session_id": change.session_id, "revision": change.revision}),
            ));
        }
        let setup = Setup {
            engine,
            client,
            cli: request.cli,
        };
        self.setup
            .set(setup)
            .map_err(|_| RpcError::new("invalid_request", "initialize came twice"))?;
        let version = env!("CARGO_PKG_VERSION");
        Ok(json!({
            "protocol_version": 1,
            "pid": std::process::id(),
            "runner": {"name": "rust", "version": version, "language": "rust"},
            "adapter": {"name": "adapter", "version": version, "sdk": null, "sdk_version": null},
            "capabilities": [
                "durable", "approvals", "split", "gates", "events", "options_factory",
                "connectors", "multi_worker", "cancel",
            ],
        }))
    }

    fn define(&self, form: AgentForm) -> Result<Value, RpcError> {
        let agent = define(form, &self.setup()?.cli, &self.peer, self.sabotage)
            .map_err(|error| RpcError::new("invalid_options", format!("failed to {error}")))?;
        self.agent
            .set(agent)
            .map_err(|_| RpcError::new("invalid_request", "agent/define came twice"))?;
        Ok(json!({}))
    }

    async fn start_worker(&self) -> Result<Value, RpcError> {
        let agent = self
            .agent
            .get()
            .ok_or_else(|| RpcError::new("invalid_request", "agent/define has to come first"))?;
        let worker = Worker::builder(&self.setup()?.engine, agent)
            .observer(RemoteObserver(Arc::clone(&self.peer)))
            .start();
        tokio::spawn(forward(
            worker.events(),
            Arc::clone(&self.peer),
            "event",
            live_event,
        ));
        *self.worker.lock().await = Some(worker);
        Ok(json!({}))
    }

    async fn stop_worker(&self) -> Result<Value, RpcError> {
        if let Some(worker) = self.worker.lock().await.take() {
            worker.stop().await.map_err(engine_error)?;
        }
        Ok(json!({}))
    }

    async fn resolve(&self, request: Resolve) -> Result<Value, RpcError> {
        let resolution = if request.approved {
            Resolution::Approved
        } else {
            Resolution::Rejected {
                message: request.rejection_message,
            }
        };
        let client = self.client()?;
        accepted(
            client
                .resolve(&request.session_id, &request.interrupt_id, resolution)
                .await,
        )
    }

    fn setup(&self) -> Result<&Setup, RpcError> {
        self.setup
            .get()
            .ok_or_else(|| RpcError::new("invalid_request", "initialize has to come first"))
    }

    fn client(&self) -> Result<&SessionClient, RpcError> {
        Ok(&self.setup()?.client)
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| RpcError::new("invalid_request", error))
}

fn accepted(accepted: Result<bool, EngineError>) -> Result<Value, RpcError> {
    Ok(json!({"accepted": accepted.map_err(engine_error)?}))
}

fn engine_error(error: EngineError) -> RpcError {
    let kind = match error {
        EngineError::UnknownSession(_) => "unknown_session",
        EngineError::SessionExists(_) => "session_exists",
        EngineError::BlankMessage(_) => "invalid_request",
        _ => "internal",
    };
    RpcError::new(kind, format!("failed to {error}"))
}

/// Sends everything that is received on to the other side.
async fn forward<T: Clone>(
    mut receiver: Receiver<T>,
    peer: Arc<Peer>,
    method: &'static str,
    form: fn(T) -> Value,
) {
    loop {
        match receiver.recv().await {
            Ok(item) => peer.notify(method, &form(item)),
            Err(RecvError::Lagged(lost)) => tracing::warn!(lost, method, "notifications were lost"),
            Err(RecvError::Closed) => return,
        }
    }
}

fn live_event(event: LiveEvent) -> Value {
    let mut form = json!(event.event);
    form["session_id"] = json!(event.session_id);
    form["turn_id"] = json!(event.turn_id);
    form["step_execution_id"] = json!(event.step_execution_id);
    form["attempt"] = json!(event.attempt);
    form
}

struct RemoteObserver(Arc<Peer>);

#[async_trait]
impl StepObserver for RemoteObserver {
    async fn reached(&self, gate: StepGate) {
        let at = match gate.at {
            GatePoint::BeforePerform => "before_perform",
            GatePoint::Performed => "performed",
            GatePoint::BeforeCommit => "before_commit",
            GatePoint::Committed => "committed",
        };
        let params = json!({
            "session_id": gate.session_id,
            "step": gate.step,
            "step_execution_id": gate.step_execution_id,
            "attempt": gate.attempt,
            "at": at,
        });
        if let Err(error) = self.0.call("step/gate", params).await {
            tracing::warn!(error, "a gate was not answered");
        }
    }
}
