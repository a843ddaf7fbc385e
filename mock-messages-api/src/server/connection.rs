//! One TCP connection, with the control over it that HTTP libraries keep to themselves.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{oneshot, watch},
};

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// RST.
    Reset,
    /// FIN, whatever the response still owes.
    Close,
}

/// Reaches from a response to the connection that carries it.
#[derive(Debug)]
pub(crate) struct ConnectionControl {
    cut: watch::Sender<Option<Cut>>,
    /// Told once all that was handed to the HTTP library before them has been written to the socket.
    unflushed: Mutex<Vec<oneshot::Sender<()>>>,
}

impl ConnectionControl {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            cut: watch::Sender::new(None),
            unflushed: Mutex::default(),
        })
    }

    /// Cuts the connection; whoever serves it lets go of it at once.
    pub(crate) fn cut(&self, cut: Cut) {
        self.cut.send_replace(Some(cut));
    }

    /// Waits until the connection is to be cut.
    pub(crate) async fn is_cut(&self) {
        // An error means that the sender is gone, which `self` owns.
        let _ = self.cut.subscribe().wait_for(Option::is_some).await;
    }

    /// Notes that the bytes of `receipt` have been handed to the HTTP library.
    pub(crate) fn await_flush(&self, receipt: oneshot::Sender<()>) {
        self.unflushed().push(receipt);
    }

    fn unflushed(&self) -> MutexGuard<'_, Vec<oneshot::Sender<()>>> {
        self.unflushed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn flushed(&self) {
        for receipt in self.unflushed().drain(..) {
            // The response may have stopped waiting.
            let _ = receipt.send(());
        }
    }
}

/// The stream of a connection that can be reset and tells when it is flushed.
#[derive(Debug)]
pub(crate) struct ControlledStream {
    stream: TcpStream,
    control: Arc<ConnectionControl>,
}

impl ControlledStream {
    pub(crate) fn new(stream: TcpStream, control: Arc<ConnectionControl>) -> Self {
        Self { stream, control }
    }
}

impl Drop for ControlledStream {
    fn drop(&mut self) {
        if *self.control.cut.borrow() == Some(Cut::Reset)
            && let Err(error) = self.stream.set_zero_linger()
        {
            tracing::warn!(%error, "failed to reset a connection; it is closed instead");
        }
        self.control.unflushed().clear();
    }
}

impl AsyncRead for ControlledStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ControlledStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// The HTTP library flushes the stream only after it has written its whole buffer.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            this.control.flushed();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
