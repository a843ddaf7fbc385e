//! `harness coverage`

use super::arguments::{CoverageArguments, Format};
use super::error::CommandError;
use super::output::print;
use crate::catalogue::Catalogue;
use crate::coverage::{Coverage, RunResults, coverage_json, coverage_table, tags_of_sources};
use crate::exit::ExitStatus;
use crate::installation::Installation;
use crate::matrix::CommittedMatrix;

/// The layer whose gaps count when none is named.
const JUDGED: &str = "adapter";

pub(crate) fn coverage(arguments: &CoverageArguments) -> Result<ExitStatus, CommandError> {
    let installation = Installation::find()?;
    let catalogue = Catalogue::open(&installation.scenarios()?)?;
    let layer = arguments.layer.as_deref();
    check_layer(&catalogue, layer)?;
    let matrix = CommittedMatrix::load(&installation.matrix_file()?)?;
    let tags = tags_of_sources(&installation.sources()?, catalogue.requirements())?;
    let results = match &arguments.results {
        Some(file) => RunResults::load(file)?,
        None => RunResults::load(&installation.test_results())?,
    };
    let mut coverage = Coverage::assess(&catalogue, &matrix, &tags, &results)?;
    if let Some(layer) = layer {
        coverage = coverage.of_layer(layer);
    }
    match arguments.format {
        Format::Terminal => print(coverage_table(&coverage).trim_end_matches('\n'))?,
        Format::Json => print(&coverage_json(&coverage))?,
    }
    let gaps = coverage.gaps(layer.unwrap_or(JUDGED));
    for gap in &gaps {
        eprintln!(
            "{} is {}: {}",
            gap.requirement.id,
            gap.state(),
            gap.requirement.statement
        );
    }
    Ok(if gaps.is_empty() {
        ExitStatus::AsExpected
    } else {
        ExitStatus::Regression
    })
}

fn check_layer(catalogue: &Catalogue, layer: Option<&str>) -> Result<(), CommandError> {
    let Some(layer) = layer else { return Ok(()) };
    let mut layers: Vec<&str> = catalogue
        .requirements()
        .iter()
        .map(|requirement| requirement.layer.as_str())
        .collect();
    layers.sort_unstable();
    layers.dedup();
    if layers.contains(&layer) {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "there is no layer `{layer}`; there are {}",
        layers.join(", ")
    )))
}
