//! Which rows of the table do something.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rule::{REST, Rule, Treatment};
use super::table::rules;
use crate::drift::path::FieldPath;
use crate::drift::trace::{CaseTrace, Lane, kind};

/// The rows of the table, by their place, that have left something in these normalised traces.
#[derive(Debug, Default)]
pub struct MetRules(BTreeSet<usize>);

impl MetRules {
    /// Looks through a normalised trace.
    pub fn look_through(&mut self, trace: &CaseTrace) {
        for run in &trace.runs {
            for lane in Lane::ALL {
                for entry in run.lane(lane) {
                    self.value(lane, &FieldPath::of_kind(kind(lane, entry)), entry);
                }
            }
        }
    }

    /// The rows that have not: what they are for is there no more.
    #[must_use]
    pub fn unmet(&self) -> Vec<&'static Rule> {
        rules()
            .iter()
            .enumerate()
            .filter(|(place, _)| !self.0.contains(place))
            .map(|(_, rule)| rule)
            .collect()
    }

    fn value(&mut self, lane: Lane, path: &FieldPath, value: &Value) {
        let met = |rule: &Rule| rule.is_for_path(lane, path) && has_left(rule, value);
        self.0.extend(rules().iter().position(met));
        match value {
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.value(lane, &path.element_of(item), item)),
            Value::Object(fields) => fields
                .iter()
                .for_each(|(name, field)| self.value(lane, &path.key(name), field)),
            _ => {}
        }
    }
}

fn has_left(rule: &Rule, value: &Value) -> bool {
    match (rule.treatment, value) {
        (Treatment::Embedded, value) => !value.is_string(),
        (Treatment::LeadIn, Value::String(text)) => {
            text.ends_with(REST)
                && rule
                    .text
                    .as_ref()
                    .is_none_or(|expression| expression.is_match(text))
        }
        (_, Value::String(text)) => *text == rule.stand_in(value),
        _ => false,
    }
}
