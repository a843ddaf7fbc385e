//! What a cell leaves behind.

use super::table::Finding;
use super::view::View;
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
