//! A value with its place in the file.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

/// A place in a scenario file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// From 1; 0 when unknown.
    pub(crate) line: usize,
    /// From 1; 0 when unknown.
    pub(crate) column: usize,
    /// Byte offset in the file.
    pub(crate) offset: usize,
    /// Bytes.
    pub(crate) length: usize,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        let narrow = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let span = location.span();
        Self {
            line: narrow(location.line()),
            column: narrow(location.column()),
            offset: span.byte_offset().map_or(0, narrow),
            length: span.byte_len().map_or(0, narrow),
        }
    }
}

/// A value with its place, so that an error found later can still point at it.
#[derive(Debug, Clone)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

impl Located<String> {
    pub(crate) fn as_str(&self) -> Located<&str> {
        Located {
            value: self.value.as_str(),
            place: self.place,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::deserialize(deserializer)?;
        Ok(Self {
            value: spanned.value,
            place: spanned.referenced.into(),
        })
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
