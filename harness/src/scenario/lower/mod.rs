//! From what a file says to what a cell runs: names resolved, variants split, mistakes found.

mod agent;
mod expectations;
mod fault;
mod model;
mod order;
mod plans;
mod point;
mod scope;
mod step;

pub(crate) use plans::lower;
