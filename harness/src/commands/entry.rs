//! From the command line to the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use nix::sys::signal::{SigHandler, Signal, raise, signal};

use super::arguments::{Arguments, CliCommand, Command};
use super::error::CommandError;
use super::output::tell;
use super::{build, check, cli, coverage, drift, explain, list, run, schema, show};
use crate::cell;
use crate::exit::ExitStatus;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    report_panics();
    let arguments = Arguments::parse();
    let status = match perform(arguments.command) {
        Ok(status) => status,
        Err(CommandError::Interrupted(_)) => end_by_interrupt(),
        Err(error) => {
            tell(error.rendered().trim_end_matches('\n'));
            error.status()
        }
    };
    status.into()
}

fn perform(command: Command) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Explain { id } => explain::explain(id.as_deref()),
        Command::Show(arguments) => show::show(&arguments),
        Command::Schema { of } => schema::print(of),
        Command::Build { runners } => build::build(&runners),
        Command::Cli {
            command: CliCommand::Install { version },
        } => cli::install(&version),
        Command::Cli {
            command: CliCommand::List,
        } => cli::list(),
        Command::Coverage(arguments) => coverage::coverage(&arguments),
        Command::Drift(arguments) => drift::drift(&arguments),
        Command::Cell => run_cell(),
    }
}

fn run_cell() -> Result<ExitStatus, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CommandError::Runtime)?;
    let ended = runtime.block_on(cell::run_from_stdin());
    // A thread that still reads from a process must not keep the cell from ending.
    runtime.shutdown_background();
    ended?;
    Ok(ExitStatus::AsExpected)
}

/// A mistake of the harness is one line and an exit code of its own, also on a thread.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(String::new, |place| format!(" at {place}"));
        let message = panic.payload_as_str().unwrap_or("no message");
        tell(&format!(
            "error: a mistake in the harness itself: {message}{place}"
        ));
        std::process::exit(i32::from(ExitStatus::Bug as u8));
    }));
}

/// Ends as an interrupted program should, so that a calling shell stops, too.
fn end_by_interrupt() -> ExitStatus {
    #[expect(
        unsafe_code,
        reason = "the default action replaces the runtime's handler, right before the end"
    )]
    unsafe {
        let _ = signal(Signal::SIGINT, SigHandler::SigDfl);
    }
    let _ = raise(Signal::SIGINT);
    ExitStatus::CannotStart
}
