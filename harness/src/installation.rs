//! Where the harness finds what it works with.

use std::path::{Path, PathBuf};

use crate::executable::is_executable;

/// The places around this executable.
#[derive(Debug, Clone)]
pub struct Installation {
    executable: PathBuf,
    project: Option<PathBuf>,
}

/// The places around this executable cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// The operating system does not tell.
    #[error("cannot find the harness's own executable: {0}")]
    Executable(std::io::Error),
    /// Something that only a source tree has is needed.
    #[error(
        "cannot find {what}: no directory above this one holds the project's sources; {instead}"
    )]
    NoProject {
        /// What is needed.
        what: &'static str,
        /// What to do about it.
        instead: &'static str,
    },
}

impl Installation {
    /// Looks around this executable and the working directory.
    ///
    /// # Errors
    /// When the operating system does not tell which executable this is.
    pub fn find() -> Result<Self, InstallationError> {
        let executable = std::env::current_exe().map_err(InstallationError::Executable)?;
        Ok(Self::around(executable))
    }

    /// Looks around the given harness executable.
    #[must_use]
    pub fn around(executable: PathBuf) -> Self {
        let here = std::env::current_dir().ok();
        let project = here
            .as_deref()
            .and_then(project_above)
            .or_else(|| project_above(&executable));
        Self {
            executable,
            project,
        }
    }

    /// The harness binary, for the processes of cells.
    #[must_use]
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// A binary that is built beside the harness.
    #[must_use]
    pub fn binary(&self, name: &str) -> PathBuf {
        self.executable.with_file_name(name)
    }

    /// The names of the programs beside the harness, sorted.
    #[must_use]
    pub fn binaries(&self) -> Vec<String> {
        let directory = self.executable.parent().unwrap_or(Path::new("/"));
        let entries = std::fs::read_dir(directory)
            .map(|entries| entries.filter_map(Result::ok).collect::<Vec<_>>())
            .unwrap_or_default();
        let mut names: Vec<String> = entries
            .iter()
            .filter(|entry| is_executable(&entry.path()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The source tree, when there is one around.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The scenarios of the source tree.
    ///
    /// # Errors
    /// When there is no source tree around.
    pub fn scenarios(&self) -> Result<PathBuf, InstallationError> {
        self.in_project(
            "scenarios",
            "the scenarios",
            "name their directory with --scenarios",
        )
    }

    /// The manifests of the runners that come with the source tree.
    ///
    /// # Errors
    /// When there is no source tree around.
    pub fn runners(&self) -> Result<PathBuf, InstallationError> {
        self.in_project(
            "harness/runners",
            "the runners",
            "name a manifest's file with --runner ./my-runner.yaml",
        )
    }

    /// The committed matrix.
    ///
    /// # Errors
    /// When there is no source tree around.
    pub fn matrix_file(&self) -> Result<PathBuf, InstallationError> {
        self.in_project(
            "ci/matrix.yaml",
            "the matrix",
            "run this inside the source tree",
        )
    }

    /// The root of the source tree.
    ///
    /// # Errors
    /// When there is no source tree around.
    pub fn sources(&self) -> Result<PathBuf, InstallationError> {
        self.in_project("", "the sources", "run this inside the source tree")
    }

    /// The results of the last full run of the tests.
    #[must_use]
    pub fn test_results(&self) -> PathBuf {
        let target = self.executable.parent().and_then(Path::parent);
        target
            .unwrap_or(Path::new("target"))
            .join("nextest/ci/junit.xml")
    }

    /// The known deviations of the fake CLI.
    ///
    /// # Errors
    /// When there is no source tree around.
    pub fn deviations(&self) -> Result<PathBuf, InstallationError> {
        self.in_project(
            "fake-cli/docs/deviations.md",
            "the deviations of the fake CLI",
            "run this inside the source tree",
        )
    }

    /// Where the evidence of cells goes that did not pass.
    #[must_use]
    pub fn evidence(&self) -> PathBuf {
        match self.executable.parent().and_then(Path::parent) {
            Some(target) if self.project.is_some() => target.join("harness-cells"),
            _ => std::env::temp_dir().join("harness-cells"),
        }
    }

    fn in_project(
        &self,
        path: &str,
        what: &'static str,
        instead: &'static str,
    ) -> Result<PathBuf, InstallationError> {
        let project = self
            .project
            .as_ref()
            .ok_or(InstallationError::NoProject { what, instead })?;
        Ok(project.join(path))
    }
}

fn project_above(start: &Path) -> Option<PathBuf> {
    let is_project = |directory: &&Path| {
        directory.join("harness/runners").is_dir() && directory.join("Cargo.toml").is_file()
    };
    start.ancestors().find(is_project).map(Path::to_owned)
}
