//! Which entry of one side belongs to which entry of the other.

use serde_json::Value;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::correspondence::Correspondence;
use super::values::{Difference, ValueComparison};
use crate::drift::normalise::settled;
use crate::drift::path::FieldPath;
use crate::drift::trace::{CaseTrace, Lane, kind};

/// Everything in which two normalised traces of one case differ. Each lane is compared in its own order.
#[must_use]
pub fn compare_traces(left: &CaseTrace, right: &CaseTrace) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut ids = Correspondence::default();
    for run in 0..left.runs.len().max(right.runs.len()) {
        for lane in Lane::ALL {
            let entries = |trace: &CaseTrace| {
                trace
                    .runs
                    .get(run)
                    .map(|run| settled(lane, run.lane(lane)))
                    .unwrap_or_default()
            };
            let comparison = ValueComparison {
                run: run + 1,
                lane,
                ids: &mut ids,
                found: &mut found,
            };
            compare_lane(comparison, &entries(left), &entries(right));
        }
    }
    found
}

fn compare_lane(mut comparison: ValueComparison<'_>, left: &[Value], right: &[Value]) {
    let lane = comparison.lane;
    let keys = |entries: &[Value]| {
        entries
            .iter()
            .map(|entry| key(lane, entry))
            .collect::<Vec<_>>()
    };
    let path = |entry: &Value| FieldPath::of_kind(kind(lane, entry));
    for operation in capture_diff_slices(Algorithm::Myers, &keys(left), &keys(right)) {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = operation
        {
            for offset in 0..len {
                let (one, other) = (&left[old_index + offset], &right[new_index + offset]);
                comparison.compare(&path(one), one, other);
            }
            continue;
        }
        for entry in &left[operation.old_range()] {
            comparison.report(&path(entry), Some(entry), None);
        }
        for entry in &right[operation.new_range()] {
            comparison.report(&path(entry), None, Some(entry));
        }
    }
}

/// What must be equal for two entries to be compared field by field.
fn key(lane: Lane, entry: &Value) -> String {
    let content = entry.pointer("/message/content");
    let block = content
        .and_then(|content| content.get(0))
        .and_then(|block| block["type"].as_str());
    format!("{} {}", kind(lane, entry), block.unwrap_or_default())
}
