//! JSON-RPC 2.0, one message a line, requests in both directions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use crate::service::Service;

/// An error of the protocol.
#[derive(Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) kind: &'static str,
}

impl RpcError {
    pub(crate) fn new(kind: &'static str, message: impl ToString) -> Self {
        Self {
            code: -32000,
            message: message.to_string(),
            kind,
        }
    }
}

type Waiting = Mutex<HashMap<u64, oneshot::Sender<Result<Value, String>>>>;

/// The other side of the pipe.
pub(crate) struct Peer {
    lines: mpsc::UnboundedSender<Line>,
    waiting: Waiting,
    next_id: AtomicU64,
}

enum Line {
    Message(Value),
    /// Everything before it has been written.
    Flushed(oneshot::Sender<()>),
}

impl Peer {
    pub(crate) fn open() -> (Arc<Self>, BufReader<tokio::io::Stdin>) {
        let (lines, outgoing) = mpsc::unbounded_channel();
        tokio::spawn(write_lines(outgoing));
        let peer = Self {
            lines,
            waiting: Waiting::default(),
            next_id: AtomicU64::new(1),
        };
        (Arc::new(peer), BufReader::new(tokio::io::stdin()))
    }

    /// Asks the other side and waits for its answer.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id, sender);
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        answer
            .await
            .unwrap_or_else(|_| Err("the other side is gone".to_owned()))
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Serves until the end of input or the answer to a `shutdown`.
    pub(crate) async fn serve(
        self: &Arc<Self>,
        mut input: BufReader<tokio::io::Stdin>,
        service: Arc<Service>,
    ) {
        let (over, mut is_over) = mpsc::channel::<()>(1);
        let mut line = String::new();
        loop {
            tokio::select! {
                read = input.read_line(&mut line) => {
                    if !matches!(read, Ok(1..)) {
                        return;
                    }
                    let message = std::mem::take(&mut line);
                    self.take(&message, &service, &over);
                }
                _ = is_over.recv() => return,
            }
        }
    }

    fn take(self: &Arc<Self>, line: &str, service: &Arc<Service>, over: &mpsc::Sender<()>) {
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "skipped a line that is no message");
                return;
            }
        };
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            self.answered(message);
            return;
        };
        let (peer, service, over) = (Arc::clone(self), Arc::clone(service), over.clone());
        tokio::spawn(async move {
            let answer = service.handle(&method, message["params"].clone()).await;
            peer.send(response(&message["id"], answer));
            if method == "shutdown" {
                peer.flush().await;
                let _ = over.send(()).await;
            }
        });
    }

    fn answered(&self, message: Value) {
        let waiting = message["id"]
            .as_u64()
            .and_then(|id| self.lock().remove(&id));
        let Some(waiting) = waiting else { return };
        let answer = match message.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
            None => Ok(message["result"].clone()),
        };
        // Whoever asked may have been cancelled.
        let _ = waiting.send(answer);
    }

    fn send(&self, message: Value) {
        // The writer ends with the process.
        let _ = self.lines.send(Line::Message(message));
    }

    async fn flush(&self) {
        let (sender, flushed) = oneshot::channel();
        let _ = self.lines.send(Line::Flushed(sender));
        let _ = flushed.await;
    }

    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, String>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn response(id: &Value, answer: Result<Value, RpcError>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError {
            code,
            message,
            kind,
        }) => json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": code, "message": message, "data": {"kind": kind}},
        }),
    }
}

async fn write_lines(mut outgoing: mpsc::UnboundedReceiver<Line>) {
    let mut output = tokio::io::stdout();
    while let Some(line) = outgoing.recv().await {
        match line {
            Line::Message(message) => {
                let text = format!("{message}\n");
                if output.write_all(text.as_bytes()).await.is_err() || output.flush().await.is_err()
                {
                    return;
                }
            }
            Line::Flushed(sender) => {
                let _ = sender.send(());
            }
        }
    }
}
