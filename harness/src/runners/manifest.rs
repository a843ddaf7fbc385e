//! A runner's manifest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;

use crate::cell::RunnerCommand;
use crate::executable::is_executable;
use crate::installation::{Installation, InstallationError};
use crate::scenario::nearest;

/// Stands for the directory of the manifest in `command` and `env`.
pub const MANIFEST_DIRECTORY_PLACEHOLDER: &str = "${manifest_dir}";

/// How a runner is built and started.
#[derive(Debug, Clone)]
pub struct Manifest {
    selector: String,
    path: PathBuf,
    content: ManifestDocument,
}

/// The manifest's file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Runner manifest")]
pub(crate) struct ManifestDocument {
    /// The runner's name in the matrix.
    pub(crate) name: String,
    /// Program and arguments. A program without a slash is looked for beside the harness, then on `PATH`.
    /// `${manifest_dir}` stands for the manifest's directory.
    pub(crate) command: Vec<String>,
    /// Commands that build it, run one after the other in the manifest's directory.
    #[serde(default)]
    pub(crate) build: Vec<Vec<String>>,
    /// Files that the build reads, relative to the manifest; when one changes, it is built again.
    #[serde(default)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Variables for the runner's processes.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The file of expected failures, relative to the manifest.
    pub(crate) baseline: Option<PathBuf>,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// There is no runner of this name.
    #[error("unknown runner `{name}`; {hint}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Which there are.
        hint: String,
    },
    /// The file cannot be read.
    #[error("cannot read the runner manifest {}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("cannot parse the runner manifest {}: {message}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why, and where.
        message: String,
    },
    /// The program is not there.
    #[error("cannot find the program `{program}` of the runner `{name}`; {remedy}")]
    NoProgram {
        /// The runner.
        name: String,
        /// Its program.
        program: String,
        /// The command that makes it.
        remedy: String,
    },
    /// The built-in runners are not around.
    #[error(transparent)]
    Installation(#[from] InstallationError),
}

/// The JSON Schema of manifests, for completion in editors.
#[must_use]
pub fn manifest_schema() -> Schema {
    schema_for!(ManifestDocument)
}

impl Manifest {
    /// Loads a manifest by the name of a runner that comes with the harness, or by its file.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn load(selector: &str, installation: &Installation) -> Result<Self, ManifestError> {
        let is_path = selector.contains('/')
            || Path::new(selector)
                .extension()
                .is_some_and(|end| end == "yaml");
        if is_path {
            return Self::read(selector, Path::new(selector));
        }
        let directory = installation.runners()?;
        let path = directory.join(format!("{selector}.yaml"));
        if path.is_file() {
            Self::read(selector, &path)
        } else {
            Err(unknown(selector, &directory))
        }
    }

    fn read(selector: &str, path: &Path) -> Result<Self, ManifestError> {
        let unreadable = |source| ManifestError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let path = path.canonicalize().map_err(unreadable)?;
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let malformed = |message| ManifestError::Malformed {
            path: path.clone(),
            message,
        };
        let content: ManifestDocument =
            serde_saphyr::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        let empty = |command: &Vec<String>| command.first().is_none_or(String::is_empty);
        if empty(&content.command) || content.build.iter().any(empty) {
            return Err(malformed("a command names no program".to_owned()));
        }
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if content.name.is_empty() || !content.name.chars().all(is_word) {
            return Err(malformed(
                "`name` takes letters, digits, `-`, `_` and `.`".to_owned(),
            ));
        }
        Ok(Self {
            selector: selector.to_owned(),
            path,
            content,
        })
    }

    /// The runner's name in the matrix.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.content.name
    }

    /// The runner as the caller wrote it: a name or a file.
    #[must_use]
    pub fn selector(&self) -> &str {
        &self.selector
    }

    /// The manifest's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of expected failures, if the runner has one.
    #[must_use]
    pub fn baseline(&self) -> Option<PathBuf> {
        self.content
            .baseline
            .as_ref()
            .map(|file| self.directory().join(file))
    }

    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(crate) fn content(&self) -> &ManifestDocument {
        &self.content
    }

    /// The name of the runner's program, when it is one beside the harness that the workspace's own build makes.
    #[must_use]
    pub fn own_binary(&self, installation: &Installation) -> Option<&str> {
        let program = self.content.command.first()?;
        let is_beside = installation.binary(program).is_file();
        (self.content.build.is_empty() && !program.contains('/') && is_beside).then_some(program)
    }

    /// What starts the runner.
    ///
    /// # Errors
    /// When its program is not there.
    pub fn command(&self, installation: &Installation) -> Result<RunnerCommand, ManifestError> {
        let (program, arguments) = self
            .content
            .command
            .split_first()
            .ok_or_else(|| self.no_program("", installation))?;
        let program = self
            .program(&self.placed(program), installation)
            .ok_or_else(|| self.no_program(program, installation))?;
        let mut command = vec![program.to_string_lossy().into_owned()];
        command.extend(arguments.iter().map(|argument| self.placed(argument)));
        let env = self
            .content
            .env
            .iter()
            .map(|(name, value)| (name.clone(), self.placed(value)))
            .collect();
        Ok(RunnerCommand {
            name: self.content.name.clone(),
            command,
            env,
        })
    }

    fn placed(&self, text: &str) -> String {
        text.replace(
            MANIFEST_DIRECTORY_PLACEHOLDER,
            &self.directory().to_string_lossy(),
        )
    }

    fn program(&self, program: &str, installation: &Installation) -> Option<PathBuf> {
        if program.contains('/') {
            let path = self.directory().join(program);
            return path.is_file().then_some(path);
        }
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::iter::once(installation.binary(program))
            .chain(std::env::split_paths(&search).map(|directory| directory.join(program)))
            .find(|path| is_executable(path))
    }

    fn no_program(&self, program: &str, installation: &Installation) -> ManifestError {
        let check = format!("check `command` in {}", self.path.display());
        let remedy = if !self.content.build.is_empty() {
            format!(
                "build it with `cargo run -p harness -- build --runner {}`",
                self.selector
            )
        } else if program.contains('/') {
            check
        } else {
            let beside = installation.binaries();
            let names: Vec<&str> = beside.iter().map(String::as_str).collect();
            let hint = nearest(program, &names).map_or_else(
                || format!("build the workspace with `cargo run -p harness -- build`, or {check}"),
                |near| format!("did you mean `{near}`?"),
            );
            format!(
                "it is neither beside the harness in {} nor on PATH; {hint}",
                installation.binary("").display()
            )
        };
        ManifestError::NoProgram {
            name: self.content.name.clone(),
            program: program.to_owned(),
            remedy,
        }
    }
}

fn unknown(name: &str, directory: &Path) -> ManifestError {
    let files = std::fs::read_dir(directory)
        .map(|entries| entries.filter_map(Result::ok).collect::<Vec<_>>());
    let mut known: Vec<String> = files
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| {
            Some(
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".yaml")?
                    .to_owned(),
            )
        })
        .collect();
    known.sort();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let meant =
        nearest(name, &names).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let hint = format!(
        "{meant}there are {}, or name a manifest's file",
        names.join(", ")
    );
    ManifestError::Unknown {
        name: name.to_owned(),
        hint,
    }
}
