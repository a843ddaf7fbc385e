//! `harness run`

use std::io::IsTerminal as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use super::arguments::{Format, RunArguments};
use super::error::CommandError;
use super::list::catalogue;
use super::output::{print, tell};
use super::report_files;
use crate::cell::CliBinary;
use crate::clis::CliSelector;
use crate::exit::ExitStatus;
use crate::installation::Installation;
use crate::matrix::{CellResult, CellSettings, Execution, PreparedCell, Summary, prepare_cell};
use crate::report::{Progress, to_json, to_terminal};
use crate::runners::{Builder, Manifest};
use crate::scenario::Plan;

pub(crate) fn run(arguments: &RunArguments) -> Result<ExitStatus, CommandError> {
    let installation = Installation::find()?;
    // What is wrong with the selection is said before anything is built.
    let plans =
        catalogue(&installation, &arguments.selection)?.select(&arguments.selection.patterns)?;
    let manifests = distinct(&arguments.runners, "--runner")?
        .map(|selector| Manifest::load(selector, &installation))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_namesakes(&manifests)?;
    let selectors = distinct(&arguments.clis, "--cli")?
        .map(|text| text.parse())
        .collect::<Result<Vec<CliSelector>, _>>()?;
    for selector in &selectors {
        if selector.own_binary().is_none() {
            selector.find(&installation)?;
        }
    }
    report_files::check(arguments)?;
    build(arguments, &installation, &manifests, &selectors)?;
    let mut clis = selectors
        .iter()
        .map(|selector| selector.find(&installation))
        .collect::<Result<Vec<_>, _>>()?;
    tell_namesakes_apart(&mut clis);
    let cells = prepare(arguments, &installation, &plans, &manifests, &clis)?;
    let (results, summary) = execute(arguments, &installation, &cells)?;
    report(arguments, summary, &results)?;
    Ok(status(summary))
}

fn distinct<'a>(
    selectors: &'a [String],
    option: &str,
) -> Result<impl Iterator<Item = &'a String> + use<'a>, CommandError> {
    match selectors
        .iter()
        .enumerate()
        .find(|(place, selector)| selectors[..*place].contains(selector))
    {
        Some((_, twice)) => Err(CommandError::Usage(format!(
            "`{option} {twice}` is there twice"
        ))),
        None => Ok(selectors.iter()),
    }
}

/// Two runners of one name would share a column of the matrix, and their evidence.
fn refuse_namesakes(manifests: &[Manifest]) -> Result<(), CommandError> {
    for (place, manifest) in manifests.iter().enumerate() {
        let name = manifest.name();
        if let Some(other) = manifests[..place].iter().find(|other| other.name() == name) {
            return Err(CommandError::Usage(format!(
                "two runners are both called `{name}`: {} and {}; give one of them another `name`",
                other.path().display(),
                manifest.path().display()
            )));
        }
    }
    Ok(())
}

/// Numbers CLIs that are called alike, so that each has its own column of the matrix, and its own evidence.
fn tell_namesakes_apart(clis: &mut [CliBinary]) {
    for place in 0..clis.len() {
        let (earlier, rest) = clis.split_at_mut(place);
        let cli = &mut rest[0];
        let is_taken = |name: &str| earlier.iter().any(|other| other.name == name);
        if !is_taken(&cli.name) {
            continue;
        }
        let numbered = (2..)
            .map(|number| format!("{} ({number})", cli.name))
            .find(|name| !is_taken(name));
        if let Some(name) = numbered {
            tell(&format!("`{name}` is {}", cli.path.display()));
            cli.name = name;
        }
    }
}

fn build(
    arguments: &RunArguments,
    installation: &Installation,
    manifests: &[Manifest],
    clis: &[CliSelector],
) -> Result<(), CommandError> {
    let builder = Builder::new(installation);
    if arguments.no_build {
        return Ok(builder.check(manifests, &needed_binaries(installation, manifests, clis))?);
    }
    let before = identity(installation.executable());
    builder.build(manifests)?;
    if identity(installation.executable()) != before {
        return Err(begin_again(installation.executable()));
    }
    Ok(())
}

fn identity(file: &Path) -> Option<(u64, i64)> {
    std::fs::metadata(file)
        .ok()
        .map(|metadata| (metadata.ino(), metadata.mtime()))
}

/// The build has replaced this program: the new one takes over, so that it and its cells are of one mind.
fn begin_again(executable: &Path) -> CommandError {
    let source = std::process::Command::new(executable)
        .args(std::env::args_os().skip(1))
        .arg("--no-build")
        .exec();
    CommandError::File {
        what: "start the newly built",
        path: executable.to_owned(),
        source,
    }
}

fn needed_binaries(
    installation: &Installation,
    manifests: &[Manifest],
    clis: &[CliSelector],
) -> Vec<PathBuf> {
    let runners = manifests
        .iter()
        .filter_map(|manifest| manifest.own_binary(installation));
    let clis = clis.iter().filter_map(CliSelector::own_binary);
    let names = runners.chain(clis).chain(["cli-tap"]);
    names.map(|name| installation.binary(name)).collect()
}

fn prepare(
    arguments: &RunArguments,
    installation: &Installation,
    plans: &[Plan],
    manifests: &[Manifest],
    clis: &[CliBinary],
) -> Result<Vec<PreparedCell>, CommandError> {
    let settings = settings(arguments, installation);
    let mut cells = Vec::new();
    for (manifest, runner) in manifests.iter().zip(&arguments.runners) {
        for (cli, cli_selector) in clis.iter().zip(&arguments.clis) {
            for plan in plans {
                let plan = plan.clone();
                cells.push(prepare_cell(
                    plan,
                    manifest,
                    runner,
                    cli,
                    cli_selector,
                    installation,
                    &settings,
                )?);
            }
        }
    }
    Ok(cells)
}

fn settings(arguments: &RunArguments, installation: &Installation) -> CellSettings {
    let mut repro_options = String::new();
    if let Some(scenarios) = &arguments.selection.scenarios {
        repro_options.push_str(&format!(" --scenarios {}", scenarios.display()));
    }
    if (arguments.timeout_scale - 1.0).abs() > f64::EPSILON {
        repro_options.push_str(&format!(" --timeout-scale {}", arguments.timeout_scale));
    }
    let program = if installation.project().is_some() {
        "cargo run -p harness --"
    } else {
        "harness"
    };
    CellSettings {
        evidence: arguments
            .evidence
            .clone()
            .unwrap_or_else(|| installation.evidence()),
        keep: arguments.keep,
        timeout_scale: arguments.timeout_scale,
        repro_command: format!("{program} run"),
        repro_options,
    }
}

fn execute(
    arguments: &RunArguments,
    installation: &Installation,
    cells: &[PreparedCell],
) -> Result<(Vec<CellResult>, Summary), CommandError> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let execution = Execution {
        executable: installation.executable().to_owned(),
        jobs: arguments.jobs.map_or_else(processors, usize::from),
    };
    let progress = Progress::over(cells.len());
    // One thread: the kernel ends the cells when the thread ends that started them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::Runtime)?;
    let ended = runtime.block_on(execution.run(cells, &progress));
    progress.finish();
    let (results, duration) = ended?;
    let summary = Summary::of(&results, duration);
    Ok((results, summary))
}

fn report(
    arguments: &RunArguments,
    summary: Summary,
    results: &[CellResult],
) -> Result<(), CommandError> {
    let text = match arguments.format {
        Format::Json => to_json(summary, results),
        Format::Terminal => {
            let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            to_terminal(summary, results, colours)
        }
    };
    // What cannot be printed can still be kept in a file, and the other way round.
    let printed = print(&text);
    report_files::write(arguments, summary, results)?;
    printed
}

/// A run that is not complete says nothing about regressions, so an error weighs more than a failure.
fn status(summary: Summary) -> ExitStatus {
    if summary.error > 0 {
        ExitStatus::CannotStart
    } else if summary.failed + summary.stale_baseline > 0 {
        ExitStatus::Regression
    } else {
        ExitStatus::AsExpected
    }
}
