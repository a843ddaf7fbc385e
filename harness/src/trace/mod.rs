//! The trace: everything a cell observed, in one order.

mod event;
mod recorder;

pub use event::{Lane, TRACE_VERSION, TraceEvent};
pub use recorder::{Observation, Recorder};
