//! `harness drift`

use std::path::{Path, PathBuf};

use super::arguments::{DriftArguments, Format};
use super::error::CommandError;
use super::output::{print, tell};
use crate::cell::{become_subreaper, end_all_descendants};
use crate::clis::{Cache, CliSelector};
use crate::drift::{
    Blessing, Case, CaseVerdict, Comparison, DriftError, Objection, Side, SideSelector, Stage,
    bless, drift_json, drift_text, read_corpus, read_deviations, real_manifest, subject,
};
use crate::exit::ExitStatus;
use crate::installation::Installation;
use crate::interruption::unless_interrupted;
use crate::runners::Builder;

pub(crate) fn drift(arguments: &DriftArguments) -> Result<ExitStatus, CommandError> {
    let installation = Installation::find()?;
    let scenarios = match &arguments.scenarios {
        Some(directory) => directory.clone(),
        None => installation.scenarios()?,
    };
    let cases =
        read_corpus(&scenarios.join("corpus"), &arguments.cases).map_err(DriftError::from)?;
    find_real(arguments, &installation)?;
    build(arguments, &installation)?;
    become_subreaper()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CommandError::Runtime)?;
    let directory = tempfile::Builder::new()
        .prefix("drift-")
        .tempdir()
        .map_err(CommandError::Directory)?;
    let performance = perform(
        arguments,
        &installation,
        scenarios,
        &cases,
        directory.path(),
    );
    let outcome = runtime.block_on(async {
        let outcome = unless_interrupted(performance).await;
        end_all_descendants(std::time::Duration::from_secs(5)).await;
        outcome?
    });
    runtime.shutdown_background();
    outcome
}

/// Looks for the CLIs that no build makes: one that is missing is told before the build, which may be long.
fn find_real(arguments: &DriftArguments, installation: &Installation) -> Result<(), CommandError> {
    let sides = [&arguments.left, &arguments.right].map(|side| match side {
        SideSelector::Cli(cli) => Some(cli),
        _ => None,
    });
    let compared = sides.into_iter().flatten();
    let selected: Vec<&CliSelector> = match &arguments.bless {
        Some(cli) => vec![cli],
        None => compared.collect(),
    };
    for cli in selected {
        if cli.own_binary().is_none() {
            cli.find(installation).map_err(DriftError::from)?;
        }
    }
    Ok(())
}

/// Builds the fake CLI, or checks that it is what its sources say.
fn build(arguments: &DriftArguments, installation: &Installation) -> Result<(), CommandError> {
    let builder = Builder::new(installation);
    if !arguments.no_build {
        return Ok(builder.build(&[])?);
    }
    let fakes = [&arguments.left, &arguments.right]
        .into_iter()
        .filter_map(SideSelector::own_binary)
        .map(|name| installation.binary(name));
    Ok(builder.check(&[], &fakes.collect::<Vec<_>>())?)
}

async fn perform(
    arguments: &DriftArguments,
    installation: &Installation,
    scenarios: PathBuf,
    cases: &[Case],
    directory: &Path,
) -> Result<ExitStatus, CommandError> {
    let golden = scenarios.join("golden");
    let stage = Stage::open(arguments.timeout_scale, directory)
        .await
        .map_err(DriftError::Surroundings)?;
    let jobs = arguments.jobs.map_or_else(processors, usize::from);
    if let Some(cli) = &arguments.bless {
        let subject = subject(cli.find(installation).map_err(DriftError::from)?)?;
        let manifest = real_manifest(&subject, &Cache::of_user()?)?;
        let done = |case: &str| tell(case);
        let blessing = Blessing {
            golden: &golden,
            manifest,
            cases,
            complete: arguments.cases.is_empty(),
            jobs,
        };
        let objections = bless(&stage, &subject, blessing, done).await?;
        return Ok(told(&objections));
    }
    let left = Side::find(&arguments.left, &golden, installation)?;
    let right = Side::find(&arguments.right, &golden, installation)?;
    let deviations = if left.is_fake() != right.is_fake() {
        read_deviations(&installation.deviations()?)?
    } else {
        Vec::new()
    };
    let comparison = Comparison {
        left: &left,
        right: &right,
        cases,
        complete: arguments.cases.is_empty(),
        deviations,
        jobs,
    };
    let report = comparison
        .run(&stage, |verdict| tell(&progress(verdict)))
        .await?;
    match arguments.format {
        Format::Terminal => print(drift_text(&report).trim_end_matches('\n'))?,
        Format::Json => print(&format!("{:#}", drift_json(&report)))?,
    }
    Ok(if report.is_clean() {
        ExitStatus::AsExpected
    } else {
        ExitStatus::Regression
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn progress(verdict: &CaseVerdict) -> String {
    format!("{:?} {}", verdict.outcome(), verdict.case).to_lowercase()
}

fn told(objections: &[Objection]) -> ExitStatus {
    for objection in objections {
        match objection {
            Objection::Unsteady { case, differences } => {
                eprintln!("not blessed: {case} does not come out the same twice:");
                for difference in differences {
                    eprintln!(
                        "  run {} {} {}: {} / {}",
                        difference.run,
                        difference.lane,
                        difference.path,
                        difference
                            .left
                            .as_ref()
                            .map_or_else(|| "nothing".to_owned(), ToString::to_string),
                        difference
                            .right
                            .as_ref()
                            .map_or_else(|| "nothing".to_owned(), ToString::to_string),
                    );
                }
            }
            Objection::Incomplete { case, steps } => {
                eprintln!("not blessed: {case} in vain waits for {steps}");
            }
            Objection::LongText {
                case,
                lane,
                path,
                beginning,
            } => {
                eprintln!(
                    "not blessed: {case} would keep a long text of the CLI at {lane} {path}: {beginning}…"
                );
            }
        }
    }
    if objections.is_empty() {
        ExitStatus::AsExpected
    } else {
        ExitStatus::Regression
    }
}
