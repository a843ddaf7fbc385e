//! The protocol's methods, each one call of the adapter's public interface.

use std::sync::{Arc, OnceLock};

use adapter::{
    ClaudeAgent, EmbeddedEngine, EngineError, Resolution, Sabotage, SessionClient, StepGate,
    StepObserver, Worker,
};
use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::agent::{Cli, define};
use crate::peer::{Peer, send};

const CAPABILITIES: &[&str] = &[
    "durable",
    "approvals",
    "split",
    "gates",
    "events",
    "wire",
    "options_factory",
    "connectors",
    "multi_worker",
    "cancel",
];

/// A request that failed: the protocol's code, the kind, the message.
struct Refusal(i64, &'static str, String);

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        let kind = match error {
            EngineError::UnknownSession(_) => "unknown_session",
            EngineError::SessionExists(_) => "session_exists",
            EngineError::BlankMessage(_) | EngineError::InvalidExport { .. } => "invalid_request",
            _ => "internal",
        };
        Self(-32000, kind, format!("failed to {error}"))
    }
}

fn invalid(message: impl ToString) -> Refusal {
    Refusal(-32000, "invalid_request", message.to_string())
}

pub(crate) struct Service {
    peer: Arc<Peer>,
    sabotage: Option<Sabotage>,
    setup: OnceLock<(EmbeddedEngine, SessionClient, Cli)>,
    agent: OnceLock<ClaudeAgent>,
    worker: Mutex<Option<Worker>>,
}

impl Service {
    pub(crate) fn new(sabotage: Option<Sabotage>) -> Arc<Self> {
        Arc::new(Self {
            peer: Arc::default(),
            sabotage,
            setup: OnceLock::new(),
            agent: OnceLock::new(),
            worker: Mutex::new(None),
        })
    }

    /// Takes one message of the other side.
    pub(crate) fn take(self: &Arc<Self>, mut message: Value) {
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            return self.peer.answered(message);
        };
        let service = Arc::clone(self);
        tokio::spawn(async move {
            let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
            match service.handle(&method, message["params"].take()).await {
                Ok(result) => answer["result"] = result,
                Err(Refusal(code, kind, message)) => {
                    answer["error"] =
                        json!({"code": code, "message": message, "data": {"kind": kind}});
                }
            }
            send(&answer);
            if method == "shutdown" {
                std::process::exit(0);
            }
        });
    }

    async fn handle(&self, method: &str, mut params: Value) -> Result<Value, Refusal> {
        let session: String = read(&mut params, "session_id").unwrap_or_default();
        let accepted = |accepted: bool| json!({"accepted": accepted});
        Ok(match method {
            "initialize" => self.initialize(params).await?,
            "agent/define" => self.define(params)?,
            "worker/start" => self.start_worker().await?,
            "worker/stop" | "shutdown" => self.stop_worker().await?,
            "session/start" => {
                let message = read(&mut params, "message")?;
                self.client()?.start(&session, message).await?;
                json!({})
            }
            "session/send" => {
                let text = read(&mut params, "text")?;
                accepted(self.client()?.send(&session, text).await?)
            }
            "session/resolve" => {
                let interrupt: String = read(&mut params, "interrupt_id")?;
                let resolution = if read(&mut params, "approved")? {
                    Resolution::Approved
                } else {
                    Resolution::Rejected {
                        message: read(&mut params, "rejection_message")?,
                    }
                };
                accepted(
                    self.client()?
                        .resolve(&session, &interrupt, resolution)
                        .await?,
                )
            }
            "session/cancel" => accepted(self.client()?.cancel(&session).await?),
            "session/snapshot" => json!(self.client()?.snapshot(&session).await?),
            "session/export" => json!({"session": self.client()?.export(&session).await?}),
            "session/import" => {
                self.client()?.import(read(&mut params, "session")?).await?;
                json!({})
            }
            _ => {
                return Err(Refusal(
                    -32601,
                    "unsupported",
                    format!("there is no method {method}"),
                ));
            }
        })
    }

    async fn initialize(&self, mut params: Value) -> Result<Value, Refusal> {
        let engine = EmbeddedEngine::open(read::<std::path::PathBuf>(&mut params, "state_dir")?)?;
        let client = SessionClient::new(&engine);
        if params["role"] != "worker" {
            tokio::spawn(forward(client.changes().await?, "session/changed"));
            tokio::spawn(forward(client.events().await?, "event"));
        }
        let setup = (engine, client, read(&mut params, "cli")?);
        self.setup
            .set(setup)
            .map_err(|_| invalid("initialize came twice"))?;
        let version = env!("CARGO_PKG_VERSION");
        Ok(json!({
            "protocol_version": 1,
            "pid": std::process::id(),
            "runner": {"name": "rust", "version": version, "language": "rust"},
            "adapter": {"name": "adapter", "version": version, "sdk": null, "sdk_version": null},
            "capabilities": CAPABILITIES,
        }))
    }

    fn define(&self, params: Value) -> Result<Value, Refusal> {
        let form = serde_json::from_value(params).map_err(invalid)?;
        let agent = define(form, self.setup()?.2.clone(), &self.peer, self.sabotage)
            .map_err(|error| Refusal(-32000, "invalid_options", format!("failed to {error}")))?;
        self.agent
            .set(agent)
            .map_err(|_| invalid("agent/define came twice"))?;
        Ok(json!({}))
    }

    async fn start_worker(&self) -> Result<Value, Refusal> {
        let agent = self
            .agent
            .get()
            .ok_or_else(|| invalid("agent/define has to come first"))?;
        let worker = Worker::builder(&self.setup()?.0, agent);
        let worker = worker
            .observer(RemoteObserver(Arc::clone(&self.peer)))
            .start();
        *self.worker.lock().await = Some(worker);
        Ok(json!({}))
    }

    async fn stop_worker(&self) -> Result<Value, Refusal> {
        if let Some(worker) = self.worker.lock().await.take() {
            worker.stop().await?;
        }
        Ok(json!({}))
    }

    fn setup(&self) -> Result<&(EmbeddedEngine, SessionClient, Cli), Refusal> {
        self.setup
            .get()
            .ok_or_else(|| invalid("initialize has to come first"))
    }

    fn client(&self) -> Result<&SessionClient, Refusal> {
        Ok(&self.setup()?.1)
    }
}

fn read<T: DeserializeOwned>(params: &mut Value, name: &str) -> Result<T, Refusal> {
    let value = params.get_mut(name).map(Value::take).unwrap_or_default();
    serde_json::from_value(value).map_err(|error| invalid(format!("{name}: {error}")))
}

/// Sends everything that is received on to the other side.
async fn forward<T: Clone + serde::Serialize>(mut receiver: Receiver<T>, method: &str) {
    loop {
        match receiver.recv().await {
            Ok(item) => send(&json!({"jsonrpc": "2.0", "method": method, "params": item})),
            Err(RecvError::Lagged(lost)) => tracing::warn!(lost, method, "notifications were lost"),
            Err(RecvError::Closed) => return,
        }
    }
}

struct RemoteObserver(Arc<Peer>);

#[async_trait]
impl StepObserver for RemoteObserver {
    async fn reached(&self, gate: StepGate) {
        if let Err(error) = self.0.call("step/gate", json!(gate)).await {
            tracing::warn!(error, "a gate was not answered");
        }
    }
}
