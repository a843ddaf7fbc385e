//! Taking a real CLI from the npm registry, with the npm client.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use semver::Version;
use sha2::{Digest, Sha256};

use super::cache::{Cache, CacheError, CliRecord, InstalledCli, executable_in, record_in};
use super::version::reported_version;
use crate::runners::hexadecimal;

/// A CLI that could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is no package for this machine.
    #[error("there is no Claude Code package for {architecture} {system}")]
    Platform {
        /// The machine's architecture.
        architecture: &'static str,
        /// The machine's operating system.
        system: &'static str,
    },
    /// A client failed.
    #[error("cannot install the Claude Code CLI {version}: `{command}` {how}")]
    Client {
        /// The version.
        version: Version,
        /// The command.
        command: String,
        /// How it ended.
        how: String,
    },
    /// A file cannot be read or written.
    #[error("cannot install the Claude Code CLI {version}: {what}: {source}")]
    File {
        /// The version.
        version: Version,
        /// What was done.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The package holds another version.
    #[error(
        "cannot install the Claude Code CLI {version}: the package's executable says it is `{reported}`"
    )]
    WrongVersion {
        /// The version.
        version: Version,
        /// What `--version` printed.
        reported: String,
    },
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Installs a version into the cache; one that is there already is left as it is.
///
/// # Errors
/// When npm does not have it, or what it has is not that version.
pub fn install(cache: &Cache, version: &Version) -> Result<InstalledCli, InstallError> {
    if let Some(installed) = cache.find(version)? {
        return Ok(installed);
    }
    let file = |what| {
        move |source| InstallError::File {
            version: version.clone(),
            what,
            source,
        }
    };
    fs::create_dir_all(cache.versions()).map_err(file("the cache directory could not be made"))?;
    // Beside its later place, so that the last move is one rename.
    let staging = tempfile::Builder::new()
        .prefix(".installing-")
        .tempdir_in(cache.versions())
        .map_err(file("a temporary directory could not be made"))?;
    let package = package()?;
    unpack(version, &package, staging.path())?;
    let ready = staging.path().join("ready");
    fs::create_dir(&ready).map_err(file("a temporary directory could not be made"))?;
    let executable = executable_in(&ready);
    fs::rename(staging.path().join("package/claude"), &executable)
        .map_err(file("the package has no `claude`"))?;
    check_version(version, &executable)?;
    let record = CliRecord {
        version: version.clone(),
        package: format!("{package}@{version}"),
        sha256: digest(&executable).map_err(file("the executable could not be read"))?,
        bytes: fs::metadata(&executable)
            .map_err(file("the executable could not be read"))?
            .len(),
    };
    let text = serde_json::to_string_pretty(&record).unwrap_or_default();
    fs::write(record_in(&ready), text).map_err(file("its record could not be written"))?;
    if let Err(error) = fs::rename(&ready, cache.directory(version)) {
        // Another installation of the same version may have come first.
        return cache
            .find(version)?
            .ok_or_else(|| file("it could not be moved into the cache")(error));
    }
    cache
        .find(version)?
        .ok_or_else(|| file("it is not in the cache")(io::ErrorKind::NotFound.into()))
}

fn package() -> Result<String, InstallError> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        architecture => {
            return Err(InstallError::Platform {
                architecture,
                system: std::env::consts::OS,
            });
        }
    };
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        system => {
            return Err(InstallError::Platform {
                architecture: std::env::consts::ARCH,
                system,
            });
        }
    };
    Ok(format!("@anthropic-ai/claude-code-{system}-{architecture}"))
}

fn unpack(version: &Version, package: &str, directory: &Path) -> Result<(), InstallError> {
    let wanted = format!("{package}@{version}");
    client(
        version,
        directory,
        "npm",
        &["pack", "--loglevel=error", &wanted],
    )?;
    let archive = archive(directory).map_err(|source| InstallError::File {
        version: version.clone(),
        what: "npm left no archive",
        source,
    })?;
    client(
        version,
        directory,
        "tar",
        &["-xzf", &archive.to_string_lossy()],
    )
}

fn archive(directory: &Path) -> io::Result<PathBuf> {
    fs::read_dir(directory)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn client(
    version: &Version,
    directory: &Path,
    program: &str,
    arguments: &[&str],
) -> Result<(), InstallError> {
    let failed = |how| InstallError::Client {
        version: version.clone(),
        command: format!("{program} {}", arguments.join(" ")),
        how,
    };
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            failed(format!(
                "could not be started: {error}; is {program} installed?"
            ))
        })?;
    if output.status.success() {
        Ok(())
    } else {
        let said = first_lines(&String::from_utf8_lossy(&output.stderr));
        Err(failed(format!("ended with {}{said}", output.status)))
    }
}

/// The beginning of what a client said: the reason comes first, advice and places of logs after it.
fn first_lines(stderr: &str) -> String {
    stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(4)
        .map(|line| format!("\n  {line}"))
        .collect()
}

fn check_version(version: &Version, executable: &Path) -> Result<(), InstallError> {
    let reported = reported_version(executable).map_err(|source| InstallError::File {
        version: version.clone(),
        what: "the executable does not run",
        source,
    })?;
    if reported.split_whitespace().next() == Some(version.to_string().as_str()) {
        Ok(())
    } else {
        Err(InstallError::WrongVersion {
            version: version.clone(),
            reported,
        })
    }
}

/// SHA-256 of a file, in hexadecimal digits.
pub(crate) fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hasher.finalize())),
            length => hasher.update(&buffer[..length]),
        }
    }
}
