//! What a row of the table says, and what it does to a field.

use regex::Regex;
use serde_json::Value;

use crate::drift::path::{FieldPath, PathPattern};
use crate::drift::trace::Lane;

/// What stands for a field that is left out of the comparison.
pub const LEFT_OUT: &str = "[left out]";

/// What stands for the rest of a text that is cut.
pub(super) const REST: &str = "[text:rest]";

/// What is done with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// A long text of the CLI's own: only its kind is kept.
    Text(&'static str),
    /// A list or object that depends on the CLI's own prompts and commands: only its kind is kept.
    List(&'static str),
    /// A measured number: only that there is one.
    Measured,
    /// A long text of the CLI's own that begins with a short one: cut after its beginning.
    LeadIn,
    /// A text that holds JSON: compared as JSON.
    Embedded,
    /// Not compared at all.
    LeftOut,
}

/// A row of the table.
#[derive(Debug)]
pub struct Rule {
    /// The lanes it holds on; all when empty.
    pub lanes: &'static [Lane],
    /// Which fields.
    pub path: PathPattern,
    /// What the text must look like.
    pub text: Option<Regex>,
    /// What is done.
    pub treatment: Treatment,
    /// Why.
    pub reason: &'static str,
}

impl Rule {
    /// Whether the rule is for this field.
    #[must_use]
    pub fn is_for(&self, lane: Lane, path: &FieldPath, value: &Value) -> bool {
        let looks_right = |text: &Regex| value.as_str().is_some_and(|value| text.is_match(value));
        let fits = match self.treatment {
            Treatment::Measured => value.is_number(),
            _ => true,
        };
        fits && self.is_for_path(lane, path) && self.text.as_ref().is_none_or(looks_right)
    }

    pub(super) fn is_for_path(&self, lane: Lane, path: &FieldPath) -> bool {
        (self.lanes.is_empty() || self.lanes.contains(&lane)) && self.path.matches(path)
    }

    pub(super) fn stand_in(&self, value: &Value) -> String {
        match self.treatment {
            Treatment::Text(kind) => format!("[text:{kind}]"),
            Treatment::List(kind) => format!("[list:{kind}]"),
            Treatment::Measured => "[measured]".to_owned(),
            Treatment::LeftOut => LEFT_OUT.to_owned(),
            Treatment::LeadIn | Treatment::Embedded => value.to_string(),
        }
    }

    /// `text` up to the end of its beginning.
    pub(super) fn led_in(&self, text: &str) -> String {
        match self
            .text
            .as_ref()
            .and_then(|expression| expression.find(text))
        {
            Some(found) => format!("{}{REST}", &text[..found.end()]),
            None => text.to_owned(),
        }
    }
}
