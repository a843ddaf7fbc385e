//! Scenarios: what the YAML files say (parse), and what a cell runs (lower).

mod lower;
mod model;
mod parse;
mod plan;
mod point;
mod problem;
mod read;
mod requirement;
mod schema;
mod source;

pub use model::ModelScript;
pub use parse::parse;
pub use plan::*;
pub use point::*;
pub use problem::ScenarioError;
pub(crate) use problem::nearest;
pub(crate) use read::yaml_error;
pub use requirement::{Requirement, Requirements, RequirementsError};
pub use schema::scenario_schema;
