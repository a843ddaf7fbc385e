//! The catalogue: which scenarios there are, and which of them are meant.

mod id;
mod pattern;
mod scenarios;
mod suggestion;

pub use id::{CellSelector, IdError, ScenarioId};
pub use pattern::{Pattern, PatternError};
pub(crate) use scenarios::nothing_selected;
pub use scenarios::{Catalogue, CatalogueError, REQUIREMENTS_FILE};
