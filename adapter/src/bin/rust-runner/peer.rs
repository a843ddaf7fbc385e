//! The other side of the pipe: JSON-RPC 2.0, one message a line.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::oneshot;

#[derive(Default)]
pub(crate) struct Peer(Mutex<HashMap<String, oneshot::Sender<Value>>>);

impl Peer {
    /// Asks and waits for the answer; the error is the other side's message.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let (sender, answer) = oneshot::channel();
        let id = uuid::Uuid::new_v4().to_string();
        self.waiting().insert(id.clone(), sender);
        send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut answer = answer.await.map_err(|error| error.to_string())?;
        match answer["error"]["message"].as_str() {
            Some(message) => Err(message.to_owned()),
            None => Ok(answer["result"].take()),
        }
    }

    /// Takes an answer. Whoever asked may have been cancelled.
    pub(crate) fn answered(&self, answer: Value) {
        let waiting = answer["id"]
            .as_str()
            .and_then(|id| self.waiting().remove(id));
        let _ = waiting.map(|waiting| waiting.send(answer));
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a message; one that nobody reads any more is lost.
pub(crate) fn send(message: &Value) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{message}").and_then(|()| output.flush());
}
