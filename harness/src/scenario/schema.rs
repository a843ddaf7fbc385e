//! The JSON Schema of scenario files, for completion in editors.

use schemars::{Schema, schema_for};

use super::source::ScenarioDocument;

/// The schema of a scenario file.
#[must_use]
pub fn scenario_schema() -> Schema {
    schema_for!(ScenarioDocument)
}
