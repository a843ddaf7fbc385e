//! What differs between two traces of one case.

mod align;
mod correspondence;
mod values;

pub use align::compare_traces;
pub use values::{Difference, DifferenceKind};
