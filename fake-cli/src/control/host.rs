//! Control requests that this program sends, and the answers that come back.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::output::Output;

/// Why a control request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostError {
    /// The host answered with an error.
    Refused(String),
    /// The host closed its side first.
    InputClosed,
}

/// The application that started this process.
pub(crate) struct Host {
    output: Rc<Output>,
    pending: RefCell<HashMap<String, oneshot::Sender<Result<Value, HostError>>>>,
    input_closed: CancellationToken,
}

impl Host {
    pub(crate) fn new(output: Rc<Output>) -> Self {
        Self {
            output,
            pending: RefCell::default(),
            input_closed: CancellationToken::new(),
        }
    }

    /// Fires when the host has closed its side.
    pub(crate) fn input_closed(&self) -> &CancellationToken {
        &self.input_closed
    }

    /// Sends a request and waits for its answer. When the returned future is dropped first, the
    /// request is withdrawn with a `control_cancel_request`.
    pub(crate) async fn ask(&self, request: Value) -> Result<Value, HostError> {
        self.send(request, true).await
    }

    /// As [`Self::ask`], for MCP messages: those are withdrawn by a notification of their own
    /// (observed on CLI 2.1.316).
    pub(crate) async fn deliver(&self, request: Value) -> Result<Value, HostError> {
        self.send(request, false).await
    }

    /// Sends a request whose answer nobody needs.
    pub(crate) fn send_and_forget(&self, request: Value) {
        if self.input_closed.is_cancelled() {
            return;
        }
        self.output.frame(&json!({
            "type": "control_request",
            "request_id": Uuid::new_v4(),
            "request": request,
        }));
    }

    async fn send(&self, request: Value, withdraw: bool) -> Result<Value, HostError> {
        let request_id = Uuid::new_v4().to_string();
        let (sender, receiver) = oneshot::channel();
        self.pending.borrow_mut().insert(request_id.clone(), sender);
        let mut pending = PendingRequest {
            host: self,
            request_id: &request_id,
            withdraw,
        };
        self.output.frame(&json!({
            "type": "control_request",
            "request_id": request_id,
            "request": request,
        }));
        let answer = tokio::select! {
            biased;
            answer = receiver => answer.unwrap_or(Err(HostError::InputClosed)),
            () = self.input_closed.cancelled() => Err(HostError::InputClosed),
        };
        pending.withdraw = false;
        answer
    }

    /// Hands an incoming `control_response` to whoever waits for it; answers to nothing are ignored
    /// (observed on CLI 2.1.316).
    pub(crate) fn answer(&self, frame: &Value) {
        let response = &frame["response"];
        let Some(request_id) = response["request_id"].as_str() else {
            return;
        };
        let Some(waiting) = self.pending.borrow_mut().remove(request_id) else {
            return;
        };
        let answer = if response["subtype"] == "error" {
            Err(HostError::Refused(
                response["error"].as_str().unwrap_or_default().to_owned(),
            ))
        } else {
            Ok(response["response"].clone())
        };
        // The asking side may have given up in the same moment.
        let _ = waiting.send(answer);
    }

    /// The host closed its side: nothing that is pending will be answered.
    pub(crate) fn close(&self) {
        self.input_closed.cancel();
    }
}

struct PendingRequest<'a> {
    host: &'a Host,
    request_id: &'a str,
    withdraw: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let was_pending = self.host.pending.borrow_mut().remove(self.request_id);
        if self.withdraw && was_pending.is_some() {
            self.host.output.frame(&json!({
                "type": "control_cancel_request",
                "request_id": self.request_id,
            }));
        }
    }
}
