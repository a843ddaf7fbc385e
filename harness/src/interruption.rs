//! Work that ends early when a person or a supervisor says so.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};

/// SIGINT or SIGTERM came; everything that had been started is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run was interrupted")]
pub struct Interrupted;

/// What `work` comes to, unless SIGINT or SIGTERM comes first; then `work` is dropped where it stands.
///
/// # Errors
/// When one of the signals came.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Result<T, Interrupted> {
    tokio::select! {
        ended = work => Ok(ended),
        () = interrupted() => Err(Interrupted),
    }
}

async fn interrupted() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
