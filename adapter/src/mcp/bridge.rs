//! Carries MCP messages between control frames and the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::channel::mpsc;
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::{ServiceExt as _, transport::IntoTransport as _};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::agent::tool::Tool;
use crate::mcp::server::{ToolCalls, ToolServer};

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<Value>>>>;

/// One server for one CLI process. Dropping it ends the server and its running calls.
pub(crate) struct McpBridge {
    incoming: mpsc::UnboundedSender<RxJsonRpcMessage<RoleServer>>,
    waiting: Waiting,
    _tasks: JoinSet<()>,
}

impl McpBridge {
    pub(crate) fn start<'a>(
        tools: impl Iterator<Item = &'a Tool>,
        calls: Arc<dyn ToolCalls>,
    ) -> Self {
        let (incoming, from_cli) = mpsc::unbounded::<RxJsonRpcMessage<RoleServer>>();
        let (to_cli, outgoing) = mpsc::unbounded::<TxJsonRpcMessage<RoleServer>>();
        let waiting = Waiting::default();
        let server = ToolServer::new(tools, calls);
        let transport = (to_cli, from_cli).into_transport();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            match server.serve(transport).await {
                Ok(running) => {
                    // The end of the transport is the end of the CLI, which is reported elsewhere.
                    let _ = running.waiting().await;
                }
                Err(error) => tracing::debug!(%error, "the MCP handshake did not complete"),
            }
        });
        tasks.spawn(deliver(outgoing, Arc::clone(&waiting)));
        Self {
            incoming,
            waiting,
            _tasks: tasks,
        }
    }

    /// Hands a message to the server and gives the future of what answers it.
    ///
    /// A notification is answered at once: the CLI expects an acknowledgement. Observed on CLI
    /// 2.1.316.
    pub(crate) fn deliver(
        &self,
        message: Value,
    ) -> impl Future<Output = Result<Value, String>> + Send + 'static {
        let id = message.get("id").map(Value::to_string);
        let answer = id.map(|id| {
            let (sender, receiver) = oneshot::channel();
            self.lock().insert(id, sender);
            receiver
        });
        let sent = serde_json::from_value::<RxJsonRpcMessage<RoleServer>>(message)
            .map_err(|error| format!("read the MCP message: {error}"))
            .and_then(|message| {
                self.incoming
                    .unbounded_send(message)
                    .map_err(|_| "reach the MCP server: it has ended".to_owned())
            });
        async move {
            sent?;
            match answer {
                Some(answer) => answer
                    .await
                    .map_err(|_| "reach the MCP server: it has ended".to_owned()),
                None => Ok(json!({"jsonrpc": "2.0", "result": {}})),
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Value>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives each response of the server to whoever waits for its id.
///
/// Requests and notifications of the server are dropped: the CLI's control frames have no way back
/// for them.
async fn deliver(
    mut outgoing: mpsc::UnboundedReceiver<TxJsonRpcMessage<RoleServer>>,
    waiting: Waiting,
) {
    while let Some(message) = outgoing.next().await {
        let Ok(message) = serde_json::to_value(&message) else {
            continue;
        };
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        let Some(id) = message.get("id").filter(|_| is_response) else {
            continue;
        };
        let answered = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id.to_string());
        if let Some(answered) = answered {
            // The receiver is gone when the segment is over.
            let _ = answered.send(message);
        }
    }
}
