//! What a cell leaves behind.

use super::table::Finding;
use super::view::View;
use crate::scenario::Fault;
use crate::trace::Lane;

pub(super) fn no_process_left(view: &View<'_>) -> Vec<Finding> {
    view.of(Lane::Harness, "leftover_process")
        .map(|event| {
            let command = event.fields.get("command").cloned().unwrap_or_default();
            Finding::new(
                "a process outlived the adapter's shutdown",
                "no process",
                command,
            )
            .at(event.seq)
        })
        .collect()
}

pub(super) fn nothing_outside(view: &View<'_>) -> Vec<Finding> {
    view.of(Lane::Harness, "written_outside")
        .map(|event| {
            let path = event.fields.get("path").cloned().unwrap_or_default();
            Finding::new(
                "something was written outside the cell's directories",
                "nothing",
                path,
            )
        })
        .collect()
}

pub(super) fn faults_struck(view: &View<'_>) -> Vec<Finding> {
    if view.failure.is_some() {
        return Vec::new();
    }
    let faults = view.plan.faults.iter();
    faults
        .filter(|fault| !has_struck(view, fault))
        .map(|fault| {
            let message = format!("the fault in line {} did not strike", fault.line);
            Finding::new(message, fault.point.to_string(), "nothing that it changed")
        })
        .collect()
}

fn has_struck(view: &View<'_>, fault: &Fault) -> bool {
    let line = fault.line.to_string();
    let unchanged: Vec<Option<usize>> = view
        .of(Lane::Fault, "argv_unchanged")
        .map(|event| event.spawn)
        .collect();
    view.events
        .iter()
        .filter(|event| event.lane == Lane::Fault && event.fields.get("line") == Some(&line))
        .any(|event| event.kind != "argv" || !unchanged.contains(&event.spawn))
}
