//! From a plan, a runner and a CLI to what the process of a cell is told.

use std::path::PathBuf;
use std::time::Duration;

use super::{Baseline, BaselineError, CellName};
use crate::catalogue::{CellSelector, IdError};
use crate::cell::{CellRequest, CliBinary};
use crate::installation::Installation;
use crate::runners::{Manifest, ManifestError};
use crate::scenario::Plan;

/// A cell that is ready to run.
#[derive(Debug, Clone)]
pub struct PreparedCell {
    /// Its name.
    pub name: CellName,
    /// What its process is told.
    pub request: CellRequest,
    /// What is expected to fail.
    pub baseline: Baseline,
    /// After this time it is ended, whatever it does.
    pub deadline: Duration,
}

/// What all cells of a run share.
#[derive(Debug, Clone)]
pub struct CellSettings {
    /// Where evidence goes.
    pub evidence: PathBuf,
    /// Keep the evidence of cells that passed, too.
    pub keep: bool,
    /// Factor on every time bound.
    pub timeout_scale: f64,
    /// How `harness run` is to be called to repeat a cell: the words before the selection.
    pub repro_command: String,
    /// The words after the selection.
    pub repro_options: String,
}

/// A cell that cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PreparationError {
    /// Its runner cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Its baseline cannot be used.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// Its scenario has no proper id.
    #[error(transparent)]
    Id(#[from] IdError),
}

/// Prepares the cell of a plan on a runner and a CLI. `runner` and `cli_selector` are as the caller wrote them.
///
/// # Errors
/// When the runner's program or baseline cannot be used.
pub fn prepare_cell(
    plan: Plan,
    manifest: &Manifest,
    runner_selector: &str,
    cli: &CliBinary,
    cli_selector: &str,
    installation: &Installation,
    settings: &CellSettings,
) -> Result<PreparedCell, PreparationError> {
    let selector = CellSelector {
        scenario: plan.scenario.parse()?,
        variant: plan.variant.clone(),
    };
    let name = CellName {
        runner: manifest.name().to_owned(),
        cli: cli.name.clone(),
        selector,
    };
    let repro = format!(
        "{} '{}' --runner {runner_selector} --cli {cli_selector}{}",
        settings.repro_command, name.selector, settings.repro_options
    );
    let deadline = deadline(&plan, cli, settings.timeout_scale);
    let request = CellRequest {
        evidence: settings
            .evidence
            .join(&name.runner)
            .join(&name.cli)
            .join(name.selector.to_string()),
        plan,
        runner: manifest.command(installation)?,
        cli: cli.clone(),
        tap: installation.binary("cli-tap"),
        keep: settings.keep,
        timeout_scale: settings.timeout_scale,
        repro,
    };
    let baseline = manifest
        .baseline()
        .map(|path| Baseline::load(&path))
        .transpose()?
        .unwrap_or_default();
    Ok(PreparedCell {
        name,
        request,
        baseline,
        deadline,
    })
}

/// Well beyond the sum of the bounds that the cell keeps itself, so that its own, better message comes first.
fn deadline(plan: &Plan, cli: &CliBinary, scale: f64) -> Duration {
    let usual = Duration::from_secs(if cli.real { 60 } else { 10 });
    let step = plan.step_timeout.unwrap_or(usual);
    let bounds = u32::try_from(plan.steps.len())
        .unwrap_or(u32::MAX)
        .saturating_add(12);
    step.saturating_mul(bounds)
        .max(Duration::from_secs(120))
        .mul_f64(scale.clamp(0.01, 1000.0))
}
