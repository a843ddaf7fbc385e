//! Frames to the host.

use std::cell::{Cell, RefCell};
use std::io::Write;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::quirks::Quirks;

/// What of a session goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum OutputFormat {
    /// The words of the result.
    #[default]
    Text,
    /// The result's frame.
    Json,
    /// Every frame.
    StreamJson,
}

/// Writes one frame a line and notices when nobody reads any more.
pub(crate) struct Output {
    sink: RefCell<Box<dyn Write>>,
    reader_gone: CancellationToken,
    quirks: Quirks,
    format: OutputFormat,
    silenced: Cell<bool>,
}

impl Output {
    pub(crate) fn new(sink: Box<dyn Write>, quirks: Quirks, format: OutputFormat) -> Self {
        Self {
            format,
            sink: RefCell::new(sink),
            reader_gone: CancellationToken::new(),
            quirks,
            silenced: Cell::new(false),
        }
    }

    /// The process is ending: nothing more is said.
    pub(crate) fn silence(&self) {
        self.silenced.set(true);
    }

    /// Fires once a write has failed; the process has nobody left to work for.
    pub(crate) fn reader_gone(&self) -> &CancellationToken {
        &self.reader_gone
    }

    pub(crate) fn frame(&self, frame: &Value) {
        if self.silenced.get() {
            return;
        }
        let frame_type = frame["type"].as_str();
        match (self.format, frame_type) {
            (OutputFormat::StreamJson, _) | (OutputFormat::Json, Some("result")) => {}
            (OutputFormat::Text, Some("result")) => return self.tell_result(frame),
            _ => return,
        }
        let extra = self.quirks.lines_before(frame_type).into_iter();
        let own = std::iter::repeat_n(frame.to_string(), self.quirks.repetitions(frame_type));
        for line in extra.chain(own) {
            let mut line = line.into_bytes();
            line.push(b'\n');
            for piece in self.quirks.pieces_of_line(line) {
                self.write(&piece);
            }
        }
    }

    /// A result without words of its own is told by its errors (observed on CLI 2.1.316).
    fn tell_result(&self, result: &Value) {
        let words = result["result"]
            .as_str()
            .or_else(|| result["errors"][0].as_str());
        self.write(format!("{}\n", words.unwrap_or_default()).as_bytes());
    }

    fn write(&self, bytes: &[u8]) {
        let mut sink = self.sink.borrow_mut();
        if sink.write_all(bytes).and_then(|()| sink.flush()).is_err() {
            self.reader_gone.cancel();
        }
    }
}
