//! Which CLI is meant by `--cli`.

use std::path::{Path, PathBuf};

use semver::Version;

use super::cache::{Cache, CacheError};
use crate::cell::CliBinary;
use crate::installation::Installation;

/// The fake CLI's name in the matrix.
const FAKE: &str = "fake";
/// Its binary.
const FAKE_BINARY: &str = "fake-claude";

/// A CLI that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The selector means nothing.
    #[error(
        "unknown CLI `{0}`; write `fake`, a version such as 2.1.316, or the path of an executable"
    )]
    Unknown(String),
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
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Finds the CLI that `selector` means: `fake`, a version, or the path of an executable.
///
/// # Errors
/// When there is none.
pub fn select(selector: &str, installation: &Installation) -> Result<CliBinary, SelectError> {
    if selector == FAKE {
        let path = installation.binary(FAKE_BINARY);
        return if path.is_file() {
            Ok(CliBinary {
                name: FAKE.to_owned(),
                path,
                real: false,
            })
        } else {
            Err(SelectError::NoFake(path))
        };
    }
    if selector.contains('/') {
        return by_path(Path::new(selector));
    }
    let version =
        Version::parse(selector).map_err(|_| SelectError::Unknown(selector.to_owned()))?;
    match Cache::of_user()?.find(&version)? {
        Some(installed) => Ok(CliBinary {
            name: version.to_string(),
            path: installed.path,
            real: true,
        }),
        None => Err(SelectError::NotInstalled(version)),
    }
}

fn by_path(path: &Path) -> Result<CliBinary, SelectError> {
    let absolute = path.canonicalize().ok().filter(|path| path.is_file());
    let path = absolute.ok_or_else(|| SelectError::NoExecutable(path.to_owned()))?;
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
