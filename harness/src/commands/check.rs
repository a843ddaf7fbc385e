//! `harness check`

use super::arguments::SelectionArguments;
use super::error::{CommandError, is_colourful};
use super::list::catalogue;
use crate::catalogue::{Catalogue, CatalogueError, ScenarioId};
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
                eprintln!("{}", error.render(is_colourful()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if wrong > 0 {
        return Err(CommandError::Mistakes(wrong));
    }
    println!("{} scenarios without a mistake", ids.len());
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
            return Err(CatalogueError::NothingSelected {
                pattern: pattern.as_str().to_owned(),
            }
            .into());
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
