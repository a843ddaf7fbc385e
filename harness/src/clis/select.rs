//! Which CLI is meant by `--cli`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use semver::Version;

use super::cache::{Cache, CacheError};
use crate::cell::CliBinary;
use crate::executable::is_executable;
use crate::installation::Installation;

/// The fake CLI's name in the matrix.
const FAKE: &str = "fake";
/// Its binary.
const FAKE_BINARY: &str = "fake-claude";

/// A CLI as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CliSelector {
    /// The fake one.
    Fake,
    /// A real one in the cache.
    Version(Version),
    /// Any executable.
    Path(PathBuf),
}

/// A text that means no CLI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown CLI `{0}`; write `fake`, a version such as 2.1.316, or the path of an executable")]
pub struct UnknownCli(String);

/// A CLI that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The fake CLI is not built.
    #[error("the fake CLI {} is missing; build it with `cargo run -p harness -- build`", .0.display())]
    NoFake(PathBuf),
    /// The version is not in the cache.
    #[error(
        "the Claude Code CLI {0} is not installed; install it with `cargo run -p harness -- cli install {0}`"
    )]
    NotInstalled(Version),
    /// There is no such executable.
    #[error("there is no executable {}", .0.display())]
    NoExecutable(PathBuf),
    /// The file cannot be started.
    #[error("{path} is not executable; make it so with `chmod +x {path}`", path = .0.display())]
    NotExecutable(PathBuf),
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl FromStr for CliSelector {
    type Err = UnknownCli;

    fn from_str(text: &str) -> Result<Self, UnknownCli> {
        if text == FAKE {
            Ok(Self::Fake)
        } else if text.contains('/') {
            Ok(Self::Path(PathBuf::from(text)))
        } else {
            Version::parse(text)
                .map(Self::Version)
                .map_err(|_| UnknownCli(text.to_owned()))
        }
    }
}

impl fmt::Display for CliSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fake => formatter.write_str(FAKE),
            Self::Version(version) => version.fmt(formatter),
            Self::Path(path) => path.display().fmt(formatter),
        }
    }
}

impl CliSelector {
    /// The binary that the workspace's own build makes for it, if any.
    #[must_use]
    pub fn own_binary(&self) -> Option<&str> {
        (*self == Self::Fake).then_some(FAKE_BINARY)
    }

    /// Finds the CLI.
    ///
    /// # Errors
    /// When it is not there.
    pub fn find(&self, installation: &Installation) -> Result<CliBinary, SelectError> {
        match self {
            Self::Fake => {
                let path = installation.binary(FAKE_BINARY);
                if !path.is_file() {
                    return Err(SelectError::NoFake(path));
                }
                Ok(CliBinary {
                    name: self.to_string(),
                    path,
                    real: false,
                })
            }
            Self::Version(version) => match Cache::of_user()?.find(version)? {
                Some(installed) => Ok(CliBinary {
                    name: version.to_string(),
                    path: installed.path,
                    real: true,
                }),
                None => Err(SelectError::NotInstalled(version.clone())),
            },
            Self::Path(path) => by_path(path),
        }
    }
}

fn by_path(path: &Path) -> Result<CliBinary, SelectError> {
    let absolute = path.canonicalize().ok().filter(|path| path.is_file());
    let path = absolute.ok_or_else(|| SelectError::NoExecutable(path.to_owned()))?;
    if !is_executable(&path) {
        return Err(SelectError::NotExecutable(path));
    }
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(CliBinary {
        real: name != FAKE_BINARY,
        name,
        path,
    })
}
