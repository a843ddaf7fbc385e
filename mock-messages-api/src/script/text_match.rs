//! How a script says which text it means.

use std::{borrow::Cow, fmt};

use regex::Regex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A text that is meant exactly, in part, or by pattern.
///
/// Written as a plain string (the whole text), `{contains: part}` or `{matches: regular expression}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextMatch {
    /// The whole text, exactly.
    Equals(String),
    /// A part of the text.
    Contains(String),
    /// A regular expression that is found somewhere in the text.
    Matches(Pattern),
}

impl TextMatch {
    /// Whether `text` is meant.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        match self {
            Self::Equals(whole) => whole == text,
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Matches(pattern) => pattern.0.is_match(text),
        }
    }

    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Equals(text) | Self::Contains(text) => text,
            Self::Matches(pattern) => pattern.as_str(),
        }
    }
}

impl fmt::Display for TextMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(text) => write!(formatter, "{text:?}"),
            Self::Contains(text) => write!(formatter, "a text containing {text:?}"),
            Self::Matches(pattern) => write!(formatter, "a text matching /{}/", pattern.as_str()),
        }
    }
}

impl From<&str> for TextMatch {
    fn from(text: &str) -> Self {
        Self::Equals(text.to_owned())
    }
}

impl From<String> for TextMatch {
    fn from(text: String) -> Self {
        Self::Equals(text)
    }
}

/// A regular expression in the syntax of the `regex` crate.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// When `source` is no valid regular expression.
    pub fn new(source: &str) -> Result<Self, regex::Error> {
        Regex::new(source).map(Self)
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = String::deserialize(deserializer)?;
        Self::new(&source).map_err(|error| {
            // The last line says what is wrong; those before it draw the place.
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            de::Error::custom(format!("invalid pattern /{source}/: {reason}"))
        })
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "regex",
            "description": "A regular expression, found anywhere in the text.",
        })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Comparison {
    /// The whole text, exactly.
    Equals(String),
    /// A part of the text.
    Contains(String),
    /// A regular expression, found anywhere in the text.
    Matches(Pattern),
}

impl<'de> Deserialize<'de> for TextMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextMatchVisitor;

        impl<'de> Visitor<'de> for TextMatchVisitor {
            type Value = TextMatch;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or one of {equals: …}, {contains: …}, {matches: …}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextMatch, E> {
                Ok(TextMatch::Equals(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextMatch, A::Error> {
                Ok(
                    match Comparison::deserialize(MapAccessDeserializer::new(map))? {
                        Comparison::Equals(text) => TextMatch::Equals(text),
                        Comparison::Contains(text) => TextMatch::Contains(text),
                        Comparison::Matches(pattern) => TextMatch::Matches(pattern),
                    },
                )
            }
        }

        deserializer.deserialize_any(TextMatchVisitor)
    }
}

impl JsonSchema for TextMatch {
    fn schema_name() -> Cow<'static, str> {
        "TextMatch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text: exact when written plainly, otherwise by part or pattern.",
            "anyOf": [{"type": "string"}, generator.subschema_for::<Comparison>()],
        })
    }
}
