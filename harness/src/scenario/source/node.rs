//! A piece of YAML of any form, with the place of every node.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{Located, Place};

/// One node and all below it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    Scalar(Value),
    Sequence(Vec<Node>),
    Mapping(Vec<(Located<String>, Node)>),
}

impl Node {
    /// The value under `key`, when this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(name, _)| name.value == key)
            .map(|(_, node)| node)
    }

    /// The entries of a mapping; nothing for anything else.
    pub(crate) fn entries(&self) -> &[(Located<String>, Self)] {
        match &self.kind {
            NodeKind::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a sequence; nothing for anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.kind {
            NodeKind::Sequence(items) => items,
            _ => &[],
        }
    }

    /// A scalar that is text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(value) => value.as_str(),
            _ => None,
        }
    }

    /// The same as JSON.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(value) => value.clone(),
            NodeKind::Sequence(items) => items.iter().map(Self::to_value).collect(),
            NodeKind::Mapping(entries) => {
                let fields: Map<String, Value> = entries
                    .iter()
                    .map(|(name, node)| (name.value.clone(), node.to_value()))
                    .collect();
                Value::Object(fields)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Located { value, place } = Located::deserialize(deserializer)?;
        Ok(Self { place, kind: value })
    }
}

impl<'de> Deserialize<'de> for NodeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = NodeKind;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value that JSON knows")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(value.into()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Scalar(Value::Null))
    }

    fn visit_none<E: de::Error>(self) -> Result<NodeKind, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<NodeKind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<NodeKind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(NodeKind::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeKind, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(NodeKind::Mapping(entries))
    }
}

impl JsonSchema for Node {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}
