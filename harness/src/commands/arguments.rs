//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use semver::Version;

use crate::catalogue::Pattern;
use crate::clis::CliSelector;
use crate::drift::SideSelector;

/// Runs scenarios against adapters that run Claude Agent SDK agents as durable sessions.
///
/// Exit codes: 0 as expected; 1 a cell failed, or an expected failure did not happen; 2 wrong usage or a wrong
/// scenario; 3 a runner or CLI could not be built or started, or broke the protocol; 4 nothing selected; 70 a mistake
/// in the harness.
#[derive(Debug, Parser)]
#[command(name = "harness", version, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run scenarios on runners and CLIs, and print the matrix
    Run(RunArguments),
    /// List scenarios and their variants
    List(SelectionArguments),
    /// Look for mistakes in scenarios, without running them
    Check(SelectionArguments),
    /// Explain a check: what it promises, what it reads, what usually breaks it
    Explain {
        /// The check's id; lists all without one
        id: Option<String>,
    },
    /// Show a trace as three lanes: adapter, CLI, API
    Show(ShowArguments),
    /// Print the JSON Schema of scenarios, or of the runner protocol
    Schema {
        /// Which schema
        #[arg(value_enum, default_value_t)]
        of: SchemaSubject,
    },
    /// Build the workspace's binaries and the runners, as `run` does before its cells
    Build {
        /// A runner, by name or by its manifest's file; repeat for several; all that come with the harness without one
        #[arg(long = "runner", value_name = "RUNNER")]
        runners: Vec<String>,
    },
    /// Install and list real Claude Code CLIs
    Cli {
        #[command(subcommand)]
        command: CliCommand,
    },
    /// Show which requirements hold, by the scenarios and tests that passed in the last full run of the tests
    Coverage(CoverageArguments),
    /// Run the corpus on two CLIs, or on one and golden traces, and show in what they differ
    Drift(DriftArguments),
    /// Run one cell: its request comes on stdin, its report goes to stdout
    #[command(hide = true)]
    Cell,
}

#[derive(Debug, Args)]
pub(crate) struct SelectionArguments {
    /// Scenarios, as `theme/name`, `theme/name@variant`, or with `*` and `**`; all without one
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<Pattern>,
    /// The directory with the scenarios
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) scenarios: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// A runner, by name or by its manifest's file; repeat for several
    #[arg(long = "runner", value_name = "RUNNER", default_value = "rust")]
    pub(crate) runners: Vec<String>,
    /// A Claude Code CLI: `fake`, an installed version, or the path of an executable; repeat for several
    #[arg(long = "cli", value_name = "CLI", default_value = "fake")]
    pub(crate) clis: Vec<String>,
    /// Cells at a time; the number of processors without it
    #[arg(long, short, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// What goes to stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Write a JUnit report, too
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a Markdown report, too
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Where traces, stderr and transcripts of cells are kept that did not pass
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) evidence: Option<PathBuf>,
    /// Keep the evidence of cells that passed, too
    #[arg(long)]
    pub(crate) keep: bool,
    /// Factor on every time bound, for slow machines
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = timeout_scale)]
    pub(crate) timeout_scale: f64,
    /// Build nothing; what is missing or stale is an error
    #[arg(long)]
    pub(crate) no_build: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CoverageArguments {
    /// Only the requirements of this layer; without it all are shown, and those of `adapter` must be covered
    #[arg(long, value_name = "LAYER")]
    pub(crate) layer: Option<String>,
    /// The JUnit report of a full run; without it, the last that `cargo nextest run --workspace --profile ci` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
    /// What goes to stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The version that golden traces are kept of.
const PINNED: &str = "2.1.316";

#[derive(Debug, Args)]
pub(crate) struct DriftArguments {
    /// `fake`, an installed version, the path of an executable, `golden` or `golden:VERSION`
    #[arg(value_name = "A", default_value = "fake")]
    pub(crate) left: SideSelector,
    /// The same
    #[arg(value_name = "B", default_value = PINNED)]
    pub(crate) right: SideSelector,
    /// Compare nothing: write the golden traces anew, from this real CLI
    #[arg(long, value_name = "CLI", num_args = 0..=1, default_missing_value = PINNED, conflicts_with_all = ["left", "right"])]
    pub(crate) bless: Option<CliSelector>,
    /// Cases, as `theme/case` or with `*`; repeat for several; all without one
    #[arg(long = "case", value_name = "PATTERN")]
    pub(crate) cases: Vec<Pattern>,
    /// The directory with `corpus` and `golden`
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) scenarios: Option<PathBuf>,
    /// Cases at a time; the number of processors without it
    #[arg(long, short, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// What goes to stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Factor on every time bound, for slow machines
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = timeout_scale)]
    pub(crate) timeout_scale: f64,
    /// Build nothing
    #[arg(long)]
    pub(crate) no_build: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The matrix, and what went wrong
    #[default]
    Terminal,
    /// One JSON document
    Json,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaSubject {
    /// Scenario files
    #[default]
    Scenario,
    /// Messages of the runner protocol
    Protocol,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The trace, or the directory that was kept of a cell
    pub(crate) trace: PathBuf,
    /// Print each event's payload below it
    #[arg(long)]
    pub(crate) payloads: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Take a version from the npm registry into the cache
    Install {
        /// The version, such as 2.1.316
        version: Version,
    },
    /// List the versions in the cache
    List,
}

fn timeout_scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.01..=1000.0).contains(&scale) {
        Ok(scale)
    } else {
        Err("write a number from 0.01 to 1000".to_owned())
    }
}
