//! Writing to stdout and stderr, which may be closed or full.

use std::io::{self, Write as _};

use super::error::CommandError;

/// Prints a result and a line feed to stdout. A reader that has gone has seen enough; that is no error.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::Stdout(error)),
        _ => Ok(()),
    }
}

/// Prints a line to stderr. Nobody can be told when that fails.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
