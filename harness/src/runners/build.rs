//! Building what cells need, once, under a lock, before any cell.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::Manifest;
use super::freshness::{Staleness, staleness};
use crate::installation::Installation;

/// The command that builds everything.
const REMEDY: &str = "build it with `cargo run -p harness -- build`";

/// Builds the workspace and the runners, or checks that they are built.
#[derive(Debug)]
pub struct Builder<'a> {
    installation: &'a Installation,
    /// Where builds are remembered.
    records: PathBuf,
}

/// Something could not be built, or is not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A command failed.
    #[error("cannot build {what}: `{command}` {how}")]
    Failed {
        /// What was being built.
        what: String,
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// A file of the build cannot be read or written.
    #[error("cannot build {what}: {}: {source}", .path.display())]
    File {
        /// What was being built.
        what: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A binary is not there.
    #[error("{} is missing; {REMEDY}", .0.display())]
    Missing(PathBuf),
    /// A binary is older than its sources.
    #[error("{} is older than {}; {REMEDY}", .binary.display(), .source_file.display())]
    Stale {
        /// The binary.
        binary: PathBuf,
        /// A source that is newer.
        source_file: PathBuf,
    },
    /// A runner is not built, or its inputs have changed since.
    #[error(
        "the runner `{name}` is not built, or its inputs have changed since; build it with `cargo run -p harness -- build --runner {selector}`"
    )]
    RunnerStale {
        /// The runner.
        name: String,
        /// The runner as the caller wrote it.
        selector: String,
    },
}

impl<'a> Builder<'a> {
    /// A builder for what lies around this installation.
    #[must_use]
    pub fn new(installation: &'a Installation) -> Self {
        Self {
            installation,
            records: installation.binary("runner-builds"),
        }
    }

    /// Builds the workspace's binaries, when this is the workspace's own harness, and the runners that are out of date.
    /// Another process that builds is waited for.
    ///
    /// # Errors
    /// When a command fails.
    pub fn build(&self, manifests: &[Manifest]) -> Result<(), BuildError> {
        let _lock = self.lock()?;
        if let Some(workspace) = self.own_workspace() {
            tell("building the workspace (the first time takes minutes)");
            // Cargo's progress is for a person; in a log only its errors are of interest.
            let quiet = (!io::stderr().is_terminal()).then_some("--quiet");
            let command: Vec<String> = ["cargo", "build", "--workspace", "--bins"]
                .into_iter()
                .chain(quiet)
                .map(str::to_owned)
                .collect();
            run("the workspace", &command, workspace)?;
        }
        for manifest in manifests {
            if !self.is_built(manifest)? {
                self.build_runner(manifest)?;
            }
        }
        Ok(())
    }

    /// Whether everything is built already; builds nothing.
    ///
    /// # Errors
    /// When something is missing or stale, with the command that builds it.
    pub fn check(&self, manifests: &[Manifest], binaries: &[PathBuf]) -> Result<(), BuildError> {
        for binary in binaries {
            match staleness(binary) {
                None => {}
                Some(Staleness::Missing) => return Err(BuildError::Missing(binary.clone())),
                Some(Staleness::OlderThan(source_file)) => {
                    return Err(BuildError::Stale {
                        binary: binary.clone(),
                        source_file,
                    });
                }
            }
        }
        for manifest in manifests {
            if !self.is_built(manifest)? {
                return Err(BuildError::RunnerStale {
                    name: manifest.name().to_owned(),
                    selector: manifest.selector().to_owned(),
                });
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<File, BuildError> {
        let path = self.records.join("lock");
        let failed = |source| BuildError::File {
            what: "the workspace".to_owned(),
            path: path.clone(),
            source,
        };
        fs::create_dir_all(&self.records).map_err(failed)?;
        let file = File::create(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    /// The workspace whose target directory this executable is in.
    fn own_workspace(&self) -> Option<&Path> {
        let inside = self
            .installation
            .executable()
            .ancestors()
            .any(|directory| directory.join("CACHEDIR.TAG").is_file());
        self.installation.project().filter(|_| inside)
    }

    fn is_built(&self, manifest: &Manifest) -> Result<bool, BuildError> {
        if manifest.content().build.is_empty() {
            return Ok(true);
        }
        let recorded = fs::read_to_string(self.record(manifest)).unwrap_or_default();
        Ok(recorded == fingerprint(manifest)? && manifest.command(self.installation).is_ok())
    }

    fn build_runner(&self, manifest: &Manifest) -> Result<(), BuildError> {
        let what = format!("the runner `{}`", manifest.name());
        tell(&format!("building {what}"));
        for command in &manifest.content().build {
            run(&what, command, manifest.directory())?;
        }
        let path = self.record(manifest);
        fs::write(&path, fingerprint(manifest)?).map_err(|source| BuildError::File {
            what,
            path,
            source,
        })
    }

    fn record(&self, manifest: &Manifest) -> PathBuf {
        let place = Sha256::digest(manifest.path().to_string_lossy().as_bytes());
        self.records
            .join(format!("{}-{}", manifest.name(), hexadecimal(&place[..8])))
    }
}

/// A build may be long: whoever waits is told what for. A closed stderr is no reason not to build.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Changes when the build's commands or inputs do.
fn fingerprint(manifest: &Manifest) -> Result<String, BuildError> {
    let mut hasher = Sha256::new();
    hasher.update(format!("{:?}", manifest.content().build));
    for input in &manifest.content().inputs {
        let path = manifest.directory().join(input);
        let what = format!("the runner `{}`", manifest.name());
        hasher.update(fs::read(&path).map_err(|source| BuildError::File { what, path, source })?);
    }
    Ok(hexadecimal(&hasher.finalize()))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs a command whose output is only of interest when it fails: it goes to stderr.
fn run(what: &str, command: &[String], directory: &Path) -> Result<(), BuildError> {
    let (program, arguments) = command
        .split_first()
        .map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
    let program = if program.contains('/') {
        directory.join(program)
    } else {
        PathBuf::from(program)
    };
    let failed = |how| BuildError::Failed {
        what: what.to_owned(),
        command: command.join(" "),
        how,
    };
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(format!("ended with {status}")))
    }
}
