//! The model's script inside a plan.

use mock_messages_api::Script;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// A script with the words it was written in, so that it can be handed to the process of a cell.
#[derive(Debug, Clone)]
pub struct ModelScript {
    script: Script,
    source: Value,
}

impl ModelScript {
    pub(crate) fn new(script: Script, source: Value) -> Self {
        Self { script, source }
    }

    /// The script, ready to be mounted.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }
}

impl Serialize for ModelScript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ModelScript {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Value::deserialize(deserializer)?;
        let script = Script::from_json(source.clone()).map_err(de::Error::custom)?;
        Ok(Self { script, source })
    }
}
