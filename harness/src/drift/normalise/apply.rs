//! Applying the table to a trace.

use serde_json::{Map, Number, Value};

use super::order::settled;
use super::rule::{Rule, Treatment};
use super::strings::{Numbering, normalised_text};
use super::table::rules;
use crate::drift::path::FieldPath;
use crate::drift::trace::{CaseTrace, Lane, RunTrace, kind};

/// What is known of the surroundings of a case.
#[derive(Debug)]
pub(crate) struct Names {
    /// Paths and what stands for them, the more specific ones first.
    pub(crate) literals: Vec<(String, &'static str)>,
    /// The base URL of the case at the Messages API.
    pub(crate) api: String,
    /// Host and port of the Messages API.
    pub(crate) address: String,
    /// Today, as `2026-11-30`.
    pub(crate) date: String,
    /// The version that the CLI tells of itself.
    pub(crate) version: String,
}

/// The trace with everything replaced that varies from run to run, or that is a long text of the CLI's own.
pub(crate) fn normalised(trace: &CaseTrace, names: &Names) -> CaseTrace {
    let mut literals = vec![
        (names.api.trim_end_matches('/').to_owned(), "[API]"),
        (names.address.clone(), "[ADDRESS]"),
    ];
    literals.extend(names.literals.iter().cloned());
    literals.push((names.version.clone(), "[VERSION]"));
    literals.push((names.date.clone(), "[DATE]"));
    let mut normaliser = Normaliser {
        literals,
        numbering: Numbering::default(),
    };
    CaseTrace {
        runs: trace.runs.iter().map(|run| normaliser.run(run)).collect(),
    }
}

struct Normaliser {
    literals: Vec<(String, &'static str)>,
    numbering: Numbering,
}

impl Normaliser {
    fn run(&mut self, run: &RunTrace) -> RunTrace {
        let mut normalised = RunTrace::default();
        for lane in Lane::ALL {
            for entry in settled(lane, run.lane(lane)) {
                let kind = kind(lane, &entry);
                let value = self.value(lane, &FieldPath::of_kind(kind), &entry);
                normalised.push(lane, value);
            }
        }
        normalised
    }

    fn value(&mut self, lane: Lane, path: &FieldPath, value: &Value) -> Value {
        if let Some(rule) = rules().iter().find(|rule| rule.is_for(lane, path, value)) {
            return self.treated(rule, value);
        }
        match value {
            Value::String(text) => {
                Value::String(normalised_text(text, &self.literals, &mut self.numbering))
            }
            Value::Array(items) => items
                .iter()
                .map(|item| self.value(lane, &path.element_of(item), item))
                .collect(),
            Value::Object(fields) => {
                let mut normalised = Map::new();
                for (name, field) in fields {
                    let shown = normalised_text(name, &self.literals, &mut self.numbering);
                    let field = self.value(lane, &path.key(&shown), field);
                    normalised.insert(shown, field);
                }
                normalised.into()
            }
            Value::Number(number) => Value::Number(rounded(number)),
            other => other.clone(),
        }
    }

    fn treated(&mut self, rule: &Rule, value: &Value) -> Value {
        match (rule.treatment, value) {
            (Treatment::LeadIn, Value::String(text)) => {
                let text = normalised_text(text, &self.literals, &mut self.numbering);
                Value::String(rule.led_in(&text))
            }
            (Treatment::Embedded, Value::String(text)) => match serde_json::from_str::<Value>(text)
            {
                Ok(inner) => self.plain(&inner),
                Err(_) => Value::String(text.clone()),
            },
            _ => Value::String(rule.stand_in(value)),
        }
    }

    fn plain(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                Value::String(normalised_text(text, &self.literals, &mut self.numbering))
            }
            Value::Array(items) => items.iter().map(|item| self.plain(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, field)| (name.clone(), self.plain(field)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
}

/// Sums of prices are rounded, since their last digits depend on the order of the additions; a float without a
/// fraction is the same number as an integer.
fn rounded(number: &Number) -> Number {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.clone();
    };
    let rounded = (float * 1e10).round() / 1e10;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole and small enough"
        )]
        return Number::from(rounded as i64);
    }
    Number::from_f64(rounded).unwrap_or_else(|| number.clone())
}
