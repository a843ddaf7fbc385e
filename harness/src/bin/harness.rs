//! The harness.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::commands::main()
}
