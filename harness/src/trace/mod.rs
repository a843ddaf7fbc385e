//! The trace: everything a cell observed, in one order.

mod event;
mod excerpt;
mod recorder;

pub use event::{Lane, TRACE_VERSION, TraceEvent};
pub use excerpt::{describe, last_events};
pub use recorder::{Observation, Recorder};
