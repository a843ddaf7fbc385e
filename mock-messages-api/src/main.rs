//! The mock Messages API as a program: serves one script, prints where, and runs until it is stopped.

mod program;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    program::run(program::Arguments::parse())
}
