//! A response that is written piece by piece, each piece known to have reached the socket.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body, Frame},
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::connection::{ConnectionControl, Cut};

/// The client is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disconnected;

/// A response of which nothing was sent.
#[derive(Debug)]
pub(crate) struct PendingResponse {
    head: oneshot::Sender<Response<ReplyBody>>,
    control: Arc<ConnectionControl>,
}

impl PendingResponse {
    pub(crate) fn new(
        control: Arc<ConnectionControl>,
    ) -> (Self, oneshot::Receiver<Response<ReplyBody>>) {
        let (head, receiver) = oneshot::channel();
        (Self { head, control }, receiver)
    }

    /// Waits until the client is gone.
    pub(crate) async fn disconnected(&mut self) {
        self.head.closed().await;
    }

    /// Cuts the connection before any byte of the response.
    pub(crate) async fn cut(mut self, cut: Cut) {
        self.control.cut(cut);
        self.disconnected().await;
    }

    /// Sends a whole response, whether the client is still there or not.
    pub(crate) async fn send_json(self, status: StatusCode, body: Value) {
        let headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        if let Ok(response) = self.start(status, headers).await {
            let _ = response.write(body.to_string().into()).await;
        }
    }

    /// Sends the head, and waits until it has reached the socket.
    pub(crate) async fn start(
        self,
        status: StatusCode,
        headers: HeaderMap,
    ) -> Result<OpenResponse, Disconnected> {
        let (chunks, receiver) = mpsc::channel(1);
        let mut response = Response::new(ReplyBody {
            chunks: receiver,
            control: Arc::clone(&self.control),
        });
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        self.head.send(response).map_err(|_| Disconnected)?;
        let response = OpenResponse {
            chunks,
            control: self.control,
        };
        response.write(Bytes::new()).await?;
        Ok(response)
    }
}

/// A response under way. Dropping it ends the body in good order.
#[derive(Debug)]
pub(crate) struct OpenResponse {
    chunks: mpsc::Sender<Chunk>,
    control: Arc<ConnectionControl>,
}

impl OpenResponse {
    /// Waits until the client is gone.
    pub(crate) async fn disconnected(&self) {
        self.chunks.closed().await;
    }

    /// Writes bytes and waits until they have reached the socket.
    pub(crate) async fn write(&self, bytes: Bytes) -> Result<(), Disconnected> {
        let (receipt, flushed) = oneshot::channel();
        self.chunks
            .send(Chunk { bytes, receipt })
            .await
            .map_err(|_| Disconnected)?;
        flushed.await.map_err(|_| Disconnected)
    }

    /// Cuts the connection after what was written.
    pub(crate) async fn cut(&self, cut: Cut) {
        self.control.cut(cut);
        self.disconnected().await;
    }
}

#[derive(Debug)]
struct Chunk {
    bytes: Bytes,
    receipt: oneshot::Sender<()>,
}

/// The body of a response that is written piece by piece.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    chunks: mpsc::Receiver<Chunk>,
    control: Arc<ConnectionControl>,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        loop {
            let Some(chunk) = ready!(this.chunks.poll_recv(context)) else {
                return Poll::Ready(None);
            };
            this.control.await_flush(chunk.receipt);
            if !chunk.bytes.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(chunk.bytes))));
            }
        }
    }
}
