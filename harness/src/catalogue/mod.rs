//! The catalogue: which scenarios there are, and which of them are meant.

mod id;
mod pattern;
mod scenarios;

pub use id::{CellSelector, IdError, ScenarioId};
pub use pattern::{Pattern, PatternError};
pub use scenarios::{Catalogue, CatalogueError, REQUIREMENTS_FILE};
