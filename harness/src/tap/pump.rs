//! One direction of the relay: report a line, wait for the cell's word, forward it.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::UnboundedReceiver;

use super::messages::{Bytes, FromTap};
use super::run::{CellWriter, TapError, send};
use crate::scenario::Direction;

/// What the cell says of a line: `None` passes it unchanged.
pub(super) type Verdicts = UnboundedReceiver<Option<Vec<Bytes>>>;

pub(super) struct Pump<'a> {
    direction: Direction,
    cell: &'a CellWriter,
    verdicts: Verdicts,
}

impl<'a> Pump<'a> {
    pub(super) fn new(direction: Direction, cell: &'a CellWriter, verdicts: Verdicts) -> Self {
        Self { direction, cell, verdicts }
    }

    /// Carries lines from `source` to `sink` until `source` ends, then closes `sink`.
    ///
    /// A sink that is gone (the adapter or the CLI closed its end) does not stop the reading: what is
    /// said into the void is still observed.
    pub(super) async fn run(
        mut self,
        source: impl AsyncRead + Unpin,
        mut sink: impl AsyncWrite + Unpin,
    ) -> Result<(), TapError> {
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = source.read_until(b'\n', &mut line).await.unwrap_or(0);
            if read == 0 {
                break;
            }
            let reported = FromTap::Line { direction: self.direction, bytes: Bytes::new(line.clone()) };
            send(self.cell, &reported).await?;
            let Some(verdict) = self.verdicts.recv().await else { return Ok(()) };
            let writes = verdict.unwrap_or_else(|| vec![Bytes::new(line.clone())]);
            write_all(&mut sink, writes).await;
        }
        send(self.cell, &FromTap::End { direction: self.direction }).await?;
        let verdict = self.verdicts.recv().await.flatten();
        write_all(&mut sink, verdict.unwrap_or_default()).await;
        let _ = sink.shutdown().await;
        Ok(())
    }
}

async fn write_all(sink: &mut (impl AsyncWrite + Unpin), writes: Vec<Bytes>) {
    for bytes in writes {
        if sink.write_all(&bytes.into_bytes()).await.is_err() || sink.flush().await.is_err() {
            return;
        }
    }
}

/// Carries stderr to the adapter at once, and reports it.
pub(super) async fn pump_stderr(cell: &CellWriter, mut source: impl AsyncRead + Unpin) -> Result<(), TapError> {
    let mut sink = tokio::io::stderr();
    let mut chunk = vec![0; 8192];
    loop {
        let read = source.read(&mut chunk).await.unwrap_or(0);
        if read == 0 {
            return Ok(());
        }
        send(cell, &FromTap::Stderr { bytes: Bytes::new(chunk[..read].to_vec()) }).await?;
        let _ = sink.write_all(&chunk[..read]).await;
    }
}
