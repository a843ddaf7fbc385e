//! One direction of the relay: report a line, go on reading, forward it at the cell's word.

use std::collections::BTreeMap;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::UnboundedReceiver;

use super::messages::{Bytes, FromTap};
use super::run::{CellWriter, TapError, send};
use crate::scenario::Direction;

/// What the cell says of a direction.
pub(super) enum Verdict {
    /// Deliver a line; `None` passes it unchanged.
    Forward {
        number: u64,
        writes: Option<Vec<Bytes>>,
    },
    /// Close the stream once no line is held any more.
    End,
}

pub(super) struct Pump<'a> {
    direction: Direction,
    cell: &'a CellWriter,
    verdicts: UnboundedReceiver<Verdict>,
    held: BTreeMap<u64, Vec<u8>>,
    reported: u64,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        direction: Direction,
        cell: &'a CellWriter,
        verdicts: UnboundedReceiver<Verdict>,
    ) -> Self {
        Self {
            direction,
            cell,
            verdicts,
            held: BTreeMap::new(),
            reported: 0,
        }
    }

    /// Carries lines from `source` to `sink` until `source` ends, then closes `sink`.
    ///
    /// A sink that is gone (the adapter or the CLI closed its end) does not stop the reading: what is
    /// said into the void is still observed. A line that the cell holds does not stop it either, so
    /// that later lines may overtake it.
    pub(super) async fn run(
        mut self,
        source: impl AsyncRead + Unpin,
        mut sink: impl AsyncWrite + Unpin,
    ) -> Result<(), TapError> {
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        let (mut open, mut may_end) = (true, false);
        while open || !may_end || !self.held.is_empty() {
            tokio::select! {
                // Cancelled in the middle of a line, what was read of it stays in `line`.
                read = source.read_until(b'\n', &mut line), if open => {
                    if read.unwrap_or(0) == 0 && line.is_empty() {
                        open = false;
                        send(self.cell, &FromTap::End { direction: self.direction }).await?;
                    } else {
                        self.report(std::mem::take(&mut line)).await?;
                    }
                }
                verdict = self.verdicts.recv() => match verdict {
                    Some(Verdict::Forward { number, writes }) => self.forward(number, writes, &mut sink).await,
                    Some(Verdict::End) => may_end = true,
                    None => return Ok(()),
                },
            }
        }
        let _ = sink.shutdown().await;
        Ok(())
    }

    async fn report(&mut self, line: Vec<u8>) -> Result<(), TapError> {
        self.reported += 1;
        let bytes = Bytes::new(line.clone());
        self.held.insert(self.reported, line);
        send(
            self.cell,
            &FromTap::Line {
                direction: self.direction,
                number: self.reported,
                bytes,
            },
        )
        .await
    }

    async fn forward(
        &mut self,
        number: u64,
        writes: Option<Vec<Bytes>>,
        sink: &mut (impl AsyncWrite + Unpin),
    ) {
        let Some(line) = self.held.remove(&number) else {
            return;
        };
        let writes = writes.map_or_else(
            || vec![line],
            |writes| writes.into_iter().map(Bytes::into_bytes).collect(),
        );
        for bytes in writes {
            if sink.write_all(&bytes).await.is_err() || sink.flush().await.is_err() {
                return;
            }
        }
    }
}

/// Carries stderr to the adapter at once, and reports it.
pub(super) async fn pump_stderr(
    cell: &CellWriter,
    mut source: impl AsyncRead + Unpin,
) -> Result<(), TapError> {
    let mut sink = tokio::io::stderr();
    let mut chunk = vec![0; 8192];
    loop {
        let read = source.read(&mut chunk).await.unwrap_or(0);
        if read == 0 {
            return Ok(());
        }
        send(
            cell,
            &FromTap::Stderr {
                bytes: Bytes::new(chunk[..read].to_vec()),
            },
        )
        .await?;
        let _ = sink.write_all(&chunk[..read]).await;
    }
}
