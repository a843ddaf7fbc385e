//! `harness check`

use super::arguments::SelectionArguments;
use super::error::{CommandError, is_colourful};
use super::list::catalogue;
use super::output::{print, tell};
use crate::catalogue::{Catalogue, CatalogueError, ScenarioId, nothing_selected};
use crate::exit::ExitStatus;
use crate::installation::Installation;

pub(crate) fn check(arguments: &SelectionArguments) -> Result<ExitStatus, CommandError> {
    let catalogue = catalogue(&Installation::find()?, arguments)?;
    let ids = selected(&catalogue, arguments)?;
    let mut wrong = 0;
    for id in &ids {
        match catalogue.plans(id) {
            Ok(_) => {}
            Err(CatalogueError::Scenario(error)) => {
                wrong += 1;
                tell(&error.render(is_colourful()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if wrong > 0 {
        return Err(CommandError::Mistakes(wrong));
    }
    let scenarios = if ids.len() == 1 {
        "scenario"
    } else {
        "scenarios"
    };
    print(&format!("{} {scenarios} without a mistake", ids.len()))?;
    Ok(ExitStatus::AsExpected)
}

/// By their ids alone: a file with mistakes has no variants yet.
fn selected(
    catalogue: &Catalogue,
    arguments: &SelectionArguments,
) -> Result<Vec<ScenarioId>, CommandError> {
    let ids = catalogue.ids()?;
    for pattern in &arguments.patterns {
        if !ids.iter().any(|id| pattern.could_select(id)) {
            return Err(nothing_selected(pattern, &ids).into());
        }
    }
    let is_selected = |id: &ScenarioId| {
        arguments.patterns.is_empty()
            || arguments
                .patterns
                .iter()
                .any(|pattern| pattern.could_select(id))
    };
    Ok(ids.into_iter().filter(is_selected).collect())
}
