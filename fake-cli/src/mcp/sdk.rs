//! A server inside the host: JSON-RPC in control frames.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::control::{Host, HostError};

/// The connection to one server of the host.
#[derive(Debug)]
pub(crate) struct SdkConnection {
    server: String,
    next_id: Cell<u64>,
}

/// Why a JSON-RPC request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    InputClosed,
    /// The server's or the host's own words.
    Refused(String),
}

impl SdkConnection {
    pub(super) fn new(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            next_id: Cell::new(0),
        }
    }

    /// What comes next is said on a new connection.
    pub(super) fn restart(&self) {
        self.next_id.set(0);
    }

    /// The id that the next request gets.
    pub(super) fn upcoming_id(&self) -> u64 {
        self.next_id.get()
    }

    /// Sends a request; ids count from 0 (observed on CLI 2.1.316).
    pub(super) async fn request(
        &self,
        host: &Host,
        method: &str,
        params: Option<Value>,
    ) -> Result<Value, RequestError> {
        let id = self.next_id.replace(self.next_id.get() + 1);
        let mut message = json!({"method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        message["jsonrpc"] = json!("2.0");
        message["id"] = json!(id);
        let answer = self.deliver(host, message).await?;
        match answer.get("error") {
            Some(error) => Err(RequestError::Refused(
                error["message"]
                    .as_str()
                    .unwrap_or("unknown error")
                    .to_owned(),
            )),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Sends a notification. The host acknowledges it; nobody waits for that.
    pub(super) fn notify(&self, host: &Host, method: &str) {
        host.send_and_forget(json!({
            "subtype": "mcp_message",
            "server_name": self.server,
            "message": {"jsonrpc": "2.0", "method": method},
        }));
    }

    async fn deliver(&self, host: &Host, message: Value) -> Result<Value, RequestError> {
        let answer = host
            .deliver(json!({
                "subtype": "mcp_message",
                "server_name": self.server,
                "message": message,
            }))
            .await;
        match answer {
            Ok(answer) => Ok(answer["mcp_response"].clone()),
            Err(HostError::InputClosed) => Err(RequestError::InputClosed),
            Err(HostError::Refused(message)) => Err(RequestError::Refused(message)),
        }
    }
}
