//! The files that a run writes beside what it prints.

use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::arguments::RunArguments;
use super::error::CommandError;
use crate::matrix::{CellResult, Summary};
use crate::report::{to_junit, to_markdown};

/// Finds out whether all reports and the evidence can be written, before a run whose results would be lost.
pub(crate) fn check(arguments: &RunArguments) -> Result<(), CommandError> {
    for path in [&arguments.junit, &arguments.markdown]
        .into_iter()
        .flatten()
    {
        check_file(path).map_err(|source| cannot_write(path, source))?;
    }
    match &arguments.evidence {
        Some(path) => check_directory(path).map_err(|source| cannot_write(path, source)),
        None => Ok(()),
    }
}

/// Writes the reports.
pub(crate) fn write(
    arguments: &RunArguments,
    summary: Summary,
    results: &[CellResult],
) -> Result<(), CommandError> {
    if let Some(path) = &arguments.junit {
        let text = to_junit(results)
            .map_err(|error| CommandError::Usage(format!("cannot write JUnit: {error}")))?;
        write_file(path, &text)?;
    }
    if let Some(path) = &arguments.markdown {
        write_file(path, &to_markdown(summary, results))?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(path, text).map_err(|source| cannot_write(path, source))
}

fn cannot_write(path: &Path, source: io::Error) -> CommandError {
    CommandError::File {
        what: "write",
        path: path.to_owned(),
        source,
    }
}

fn check_file(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.exists() {
        return Ok(access(path, AccessFlags::W_OK)?);
    }
    let parent = parent(path);
    if !parent.is_dir() {
        let reason = format!("there is no directory {}", parent.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    Ok(access(&parent, AccessFlags::W_OK)?)
}

/// The directory is made when a cell needs it, so what counts is the nearest one that is there.
fn check_directory(path: &Path) -> io::Result<()> {
    let there = path
        .ancestors()
        .map(or_here)
        .find(|ancestor| ancestor.exists())
        .unwrap_or_else(|| PathBuf::from("/"));
    if !there.is_dir() {
        let reason = format!("{} is no directory", there.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
    }
    Ok(access(&there, AccessFlags::W_OK)?)
}

fn parent(path: &Path) -> PathBuf {
    or_here(path.parent().unwrap_or(Path::new("/")))
}

fn or_here(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        path.to_owned()
    }
}
