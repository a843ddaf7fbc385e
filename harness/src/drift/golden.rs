//! Golden traces: what the real CLI did, normalised, one file for each case.

use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::corpus::Case;
use super::error::DriftError;
use super::trace::{CaseTrace, Lane, RunTrace};

/// The golden traces of one version.
#[derive(Debug, Clone)]
pub struct GoldenTraces {
    directory: PathBuf,
    /// The CLI they are of.
    pub manifest: GoldenManifest,
}

/// Which CLI golden traces are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenManifest {
    /// Its version.
    pub version: Version,
    /// The npm package it is from.
    pub package: String,
    /// SHA-256 of the executable, in hexadecimal digits.
    pub sha256: String,
}

/// The first line of a file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    case: String,
    /// Of what the case said when the trace was written.
    digest: String,
    runs: usize,
}

/// Every other line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    run: usize,
    lane: Lane,
    entry: Value,
}

const MANIFEST: &str = "manifest.json";

impl GoldenTraces {
    /// Opens the traces of a version, or of the newest one.
    ///
    /// # Errors
    /// When there are none.
    pub fn open(root: &Path, version: Option<&Version>) -> Result<Self, DriftError> {
        let missing = |reason: &str| DriftError::Golden {
            path: root.to_owned(),
            reason: reason.to_owned(),
        };
        let version = match version {
            Some(version) => version.clone(),
            None => newest(root).ok_or_else(|| missing("there is none"))?,
        };
        let directory = root.join(version.to_string());
        let path = directory.join(MANIFEST);
        let golden = |reason: String| DriftError::Golden {
            path: path.clone(),
            reason,
        };
        let text = fs::read_to_string(&path).map_err(|error| golden(error.to_string()))?;
        let manifest = serde_json::from_str(&text).map_err(|error| golden(error.to_string()))?;
        Ok(Self {
            directory,
            manifest,
        })
    }

    /// Begins traces of the CLI that `manifest` tells of.
    pub(crate) fn begin(root: &Path, manifest: GoldenManifest) -> Result<Self, DriftError> {
        let traces = Self {
            directory: root.join(manifest.version.to_string()),
            manifest,
        };
        let text = serde_json::to_string_pretty(&traces.manifest).unwrap_or_default();
        write(&traces.directory.join(MANIFEST), &format!("{text}\n"))?;
        Ok(traces)
    }

    /// The golden trace of a case.
    ///
    /// # Errors
    /// When there is none, or the case has changed since.
    pub fn read(&self, case: &Case) -> Result<CaseTrace, DriftError> {
        let path = self.file(case);
        let golden = |reason: String| DriftError::Golden {
            path: path.clone(),
            reason,
        };
        let text = fs::read_to_string(&path).map_err(|error| golden(error.to_string()))?;
        let mut lines = text.lines();
        let header: Header = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|error| golden(error.to_string()))?;
        if header.digest != case.digest() {
            return Err(golden("the case has changed since".to_owned()));
        }
        let mut trace = CaseTrace {
            runs: vec![RunTrace::default(); header.runs],
        };
        for line in lines {
            let line: Line =
                serde_json::from_str(line).map_err(|error| golden(error.to_string()))?;
            let run = trace.runs.get_mut(line.run.wrapping_sub(1));
            run.ok_or_else(|| golden(format!("there is no run {}", line.run)))?
                .push(line.lane, line.entry);
        }
        Ok(trace)
    }

    pub(crate) fn write(&self, case: &Case, trace: &CaseTrace) -> Result<(), DriftError> {
        let header = Header {
            case: case.id.to_string(),
            digest: case.digest(),
            runs: trace.runs.len(),
        };
        let mut text = format!("{}\n", serde_json::to_string(&header).unwrap_or_default());
        for (index, run) in trace.runs.iter().enumerate() {
            for lane in Lane::ALL {
                for entry in run.lane(lane) {
                    let line = Line {
                        run: index + 1,
                        lane,
                        entry: entry.clone(),
                    };
                    text.push_str(&serde_json::to_string(&line).unwrap_or_default());
                    text.push('\n');
                }
            }
        }
        write(&self.file(case), &text)
    }

    /// Removes the traces of cases that are no more.
    pub(crate) fn remove_others(&self, cases: &[Case]) -> Result<(), DriftError> {
        let wanted: Vec<PathBuf> = cases.iter().map(|case| self.file(case)).collect();
        for path in self.files() {
            if !wanted.contains(&path) {
                fs::remove_file(&path).map_err(|source| DriftError::File {
                    what: "remove",
                    path,
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// The files of all traces.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let entries = |path: &Path| {
            fs::read_dir(path)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .collect::<Vec<_>>()
        };
        entries(&self.directory)
            .iter()
            .flat_map(|theme| entries(theme))
            .collect()
    }

    fn file(&self, case: &Case) -> PathBuf {
        self.directory.join(case.id.file()).with_extension("jsonl")
    }
}

fn newest(root: &Path) -> Option<Version> {
    let entries = fs::read_dir(root).ok()?;
    entries
        .filter_map(|entry| Version::parse(entry.ok()?.file_name().to_str()?).ok())
        .max()
}

fn write(path: &Path, text: &str) -> Result<(), DriftError> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text));
    written.map_err(|source| DriftError::File {
        what: "write",
        path: path.to_owned(),
        source,
    })
}
