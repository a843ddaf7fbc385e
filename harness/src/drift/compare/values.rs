//! Two values, field by field.

use serde_json::{Map, Value};

use super::correspondence::Correspondence;
use crate::drift::normalise::{LEFT_OUT, split_identifiers};
use crate::drift::path::FieldPath;
use crate::drift::trace::Lane;

/// How a place differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferenceKind {
    /// Both sides have it, with other values.
    Changed,
    /// Only the left side has it.
    OnlyLeft,
    /// Only the right side has it.
    OnlyRight,
}

impl DifferenceKind {
    /// As it is written in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::OnlyLeft => "only_left",
            Self::OnlyRight => "only_right",
        }
    }
}

/// A place at which two traces of one case differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Which process of the case, from 1.
    pub run: usize,
    /// On which lane.
    pub lane: Lane,
    /// The field, or the kind of an entry that one side lacks.
    pub path: FieldPath,
    /// How.
    pub kind: DifferenceKind,
    /// What the left side has.
    pub left: Option<Value>,
    /// What the right side has.
    pub right: Option<Value>,
}

/// Collects the differences of one lane.
pub(super) struct ValueComparison<'a> {
    pub(super) run: usize,
    pub(super) lane: Lane,
    pub(super) ids: &'a mut Correspondence,
    pub(super) found: &'a mut Vec<Difference>,
}

impl ValueComparison<'_> {
    pub(super) fn report(&mut self, path: &FieldPath, left: Option<&Value>, right: Option<&Value>) {
        let left_out = |value: Option<&Value>| value.and_then(Value::as_str) == Some(LEFT_OUT);
        let kind = match (left, right) {
            (Some(_), Some(_)) => DifferenceKind::Changed,
            (Some(_), None) => DifferenceKind::OnlyLeft,
            (None, _) => DifferenceKind::OnlyRight,
        };
        if !left_out(left) && !left_out(right) {
            let (left, right) = (left.cloned(), right.cloned());
            self.found.push(Difference {
                run: self.run,
                lane: self.lane,
                path: path.clone(),
                kind,
                left,
                right,
            });
        }
    }

    pub(super) fn compare(&mut self, path: &FieldPath, left: &Value, right: &Value) {
        match (left, right) {
            (Value::Object(left), Value::Object(right)) => self.compare_fields(path, left, right),
            (Value::Array(left), Value::Array(right)) => self.compare_elements(path, left, right),
            (Value::String(one), Value::String(other)) => {
                if !self.same_text(one, other) {
                    self.report(path, Some(left), Some(right));
                }
            }
            _ if left == right => {}
            _ => self.report(path, Some(left), Some(right)),
        }
    }

    fn compare_fields(
        &mut self,
        path: &FieldPath,
        left: &Map<String, Value>,
        right: &Map<String, Value>,
    ) {
        for (name, value) in left {
            match right.get(name) {
                Some(other) => self.compare(&path.key(name), value, other),
                None => self.report(&path.key(name), Some(value), None),
            }
        }
        for (name, value) in right.iter().filter(|(name, _)| !left.contains_key(*name)) {
            self.report(&path.key(name), None, Some(value));
        }
    }

    fn compare_elements(&mut self, path: &FieldPath, left: &[Value], right: &[Value]) {
        for (one, other) in left.iter().zip(right) {
            self.compare(&path.element_of(one), one, other);
        }
        for extra in left.iter().skip(right.len()) {
            self.report(&path.element_of(extra), Some(extra), None);
        }
        for extra in right.iter().skip(left.len()) {
            self.report(&path.element_of(extra), None, Some(extra));
        }
    }

    fn same_text(&mut self, left: &str, right: &str) -> bool {
        let (left_text, left_ids) = split_identifiers(left);
        let (right_text, right_ids) = split_identifiers(right);
        left_text == right_text
            && left_ids.len() == right_ids.len()
            && left_ids
                .iter()
                .zip(&right_ids)
                .all(|(left, right)| self.ids.agree(left, right))
    }
}
