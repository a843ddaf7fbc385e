//! The tags in the source tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::tag::{MisplacedTag, tagged_tests};
use super::test_name::{SourcePlace, TestName};
use crate::scenario::Requirements;

/// A test and a requirement that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestTag {
    /// The test.
    pub test: TestName,
    /// The requirement's id.
    pub requirement: String,
}

/// Sources whose tags cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// A file or directory cannot be read.
    #[error("failed to read {}: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A tag belongs to no test.
    #[error("{}:{}: {tag}", .file.display(), .tag.line())]
    Misplaced {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        tag: MisplacedTag,
    },
    /// A tag names a requirement that there is not.
    #[error("{}:{line}: there is no requirement `{id}`{suggestion}", .file.display())]
    UnknownRequirement {
        /// The file.
        file: PathBuf,
        /// The tag's line, from 1.
        line: usize,
        /// What it names.
        id: String,
        /// What was probably meant.
        suggestion: String,
    },
}

/// The tags of all packages directly below the project's directory, each in a directory of its own name.
///
/// # Errors
/// When a source cannot be read, a tag belongs to no test, or a tag names an unknown requirement.
pub fn tags_of_sources(
    project: &Path,
    requirements: &Requirements,
) -> Result<Vec<TestTag>, SourcesError> {
    let mut tags = Vec::new();
    for package in entries(project)? {
        if !package.join("Cargo.toml").is_file() {
            continue;
        }
        for root in ["src", "tests"].map(|name| package.join(name)) {
            for file in rust_files(&root)? {
                tags.extend(tags_of_file(project, &package, &file, requirements)?);
            }
        }
    }
    Ok(tags)
}

fn tags_of_file(
    project: &Path,
    package: &Path,
    file: &Path,
    requirements: &Requirements,
) -> Result<Vec<TestTag>, SourcesError> {
    let shown = || file.strip_prefix(project).unwrap_or(file).to_owned();
    let text = fs::read_to_string(file).map_err(unreadable(file))?;
    let tests =
        tagged_tests(&text).map_err(|tag| SourcesError::Misplaced { file: shown(), tag })?;
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    let inside = file.strip_prefix(package).unwrap_or(file);
    let Some(place) = SourcePlace::of(&name, inside) else {
        return Ok(Vec::new());
    };
    let mut tags = Vec::new();
    for test in tests {
        for (line, id) in test.requirements {
            if !requirements.contains(&id) {
                let near = requirements.near(&id);
                return Err(SourcesError::UnknownRequirement {
                    file: shown(),
                    line,
                    suggestion: near
                        .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
                    id,
                });
            }
            tags.push(TestTag {
                test: place.test(&test.path),
                requirement: id,
            });
        }
    }
    Ok(tags)
}

fn rust_files(root: &Path) -> Result<Vec<PathBuf>, SourcesError> {
    let mut files = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        if !directory.is_dir() {
            continue;
        }
        for entry in entries(&directory)? {
            if entry.is_dir() {
                open.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, SourcesError> {
    let entries = fs::read_dir(directory).map_err(unreadable(directory))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<PathBuf>>>()
        .map_err(unreadable(directory))?;
    paths.sort();
    Ok(paths)
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> SourcesError {
    move |source| SourcesError::Unreadable {
        path: path.to_owned(),
        source,
    }
}
