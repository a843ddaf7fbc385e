//! The cache of real CLIs.

use std::fs;
use std::path::{Path, PathBuf};

use semver::Version;
use serde::{Deserialize, Serialize};

/// The directory that keeps real CLIs, one directory for each version.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// A real CLI in the cache.
#[derive(Debug, Clone)]
pub struct InstalledCli {
    /// The executable.
    pub path: PathBuf,
    /// What was recorded when it came.
    pub record: CliRecord,
}

/// What is kept beside a CLI.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CliRecord {
    /// The version it prints.
    pub version: Version,
    /// The npm package it is from.
    pub package: String,
    /// SHA-256 of the executable, in hexadecimal digits.
    pub sha256: String,
    /// Bytes of the executable.
    pub bytes: u64,
}

/// The cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No directory is known for it.
    #[error("cannot tell where to keep CLIs; set HARNESS_CACHE_DIR or HOME")]
    NoDirectory,
    /// A version is damaged.
    #[error("the cached CLI {} is damaged: {reason}; delete the directory and install it again", .path.display())]
    Damaged {
        /// Its directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

const EXECUTABLE: &str = "claude";
const RECORD: &str = "cli.json";

impl Cache {
    /// The cache named by `HARNESS_CACHE_DIR`, else in the user's cache directory.
    ///
    /// # Errors
    /// When neither is known.
    pub fn of_user() -> Result<Self, CacheError> {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let root = variable("HARNESS_CACHE_DIR").or_else(|| {
            let caches =
                variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
            Some(caches.join("claude-adapter-harness"))
        });
        Ok(Self {
            root: root.ok_or(CacheError::NoDirectory)?,
        })
    }

    /// The directory of a version.
    pub(crate) fn directory(&self, version: &Version) -> PathBuf {
        self.versions().join(version.to_string())
    }

    pub(crate) fn versions(&self) -> PathBuf {
        self.root.join("cli")
    }

    /// The CLI of this version, if it is there.
    ///
    /// # Errors
    /// When it is there but damaged.
    pub fn find(&self, version: &Version) -> Result<Option<InstalledCli>, CacheError> {
        let directory = self.directory(version);
        if directory.is_dir() {
            read(&directory).map(Some)
        } else {
            Ok(None)
        }
    }

    /// All CLIs, oldest version first.
    ///
    /// # Errors
    /// When one of them is damaged.
    pub fn list(&self) -> Result<Vec<InstalledCli>, CacheError> {
        let Ok(entries) = fs::read_dir(self.versions()) else {
            return Ok(Vec::new());
        };
        let directories = entries.filter_map(Result::ok).map(|entry| entry.path());
        let is_version = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| Version::parse(name).is_ok())
        };
        let mut found: Vec<InstalledCli> = directories
            .filter(is_version)
            .map(|path| read(&path))
            .collect::<Result<_, _>>()?;
        found.sort_by(|one, other| one.record.version.cmp(&other.record.version));
        Ok(found)
    }
}

pub(crate) fn executable_in(directory: &Path) -> PathBuf {
    directory.join(EXECUTABLE)
}

pub(crate) fn record_in(directory: &Path) -> PathBuf {
    directory.join(RECORD)
}

/// A full digest of an executable of this size would cost more than a cell: its size shows an interrupted copy.
fn read(directory: &Path) -> Result<InstalledCli, CacheError> {
    let damaged = |reason: String| CacheError::Damaged {
        path: directory.to_owned(),
        reason,
    };
    let text = fs::read_to_string(record_in(directory))
        .map_err(|error| damaged(format!("{RECORD}: {error}")))?;
    let record: CliRecord =
        serde_json::from_str(&text).map_err(|error| damaged(format!("{RECORD}: {error}")))?;
    let path = executable_in(directory);
    let bytes = fs::metadata(&path)
        .map_err(|error| damaged(format!("{EXECUTABLE}: {error}")))?
        .len();
    if bytes != record.bytes {
        return Err(damaged(format!(
            "{EXECUTABLE} has {bytes} bytes in place of {}",
            record.bytes
        )));
    }
    Ok(InstalledCli { path, record })
}
