//! `harness list`

use super::arguments::SelectionArguments;
use super::error::CommandError;
use super::output::print;
use crate::catalogue::{Catalogue, CellSelector};
use crate::exit::ExitStatus;
use crate::installation::Installation;

pub(crate) fn list(arguments: &SelectionArguments) -> Result<ExitStatus, CommandError> {
    let catalogue = catalogue(&Installation::find()?, arguments)?;
    let mut rows = Vec::new();
    for plan in catalogue.select(&arguments.patterns)? {
        let selector = CellSelector {
            scenario: plan.scenario.parse()?,
            variant: plan.variant,
        };
        rows.push((selector.to_string(), plan.title));
    }
    let width = rows
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, title)| format!("{name:<width$}  {title}"))
        .collect();
    print(&lines.join("\n"))?;
    Ok(ExitStatus::AsExpected)
}

/// The catalogue that the arguments mean.
pub(crate) fn catalogue(
    installation: &Installation,
    arguments: &SelectionArguments,
) -> Result<Catalogue, CommandError> {
    let root = match &arguments.scenarios {
        Some(root) => root.clone(),
        None => installation.scenarios()?,
    };
    Ok(Catalogue::open(&root)?)
}
