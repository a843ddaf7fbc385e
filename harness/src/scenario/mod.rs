//! Scenarios: what the YAML files say (parse), and what a cell runs (lower).

mod plan;
mod point;

pub use plan::*;
pub use point::*;
