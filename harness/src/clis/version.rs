//! Asking a CLI for its version, without letting it reach anything.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::loopback::enforced_environment;

/// The first line of what `--version` prints. The CLI gets a home of its own, no key, and no way out.
pub(crate) fn reported_version(executable: &Path) -> io::Result<String> {
    let home = tempfile::tempdir()?;
    let output = Command::new(executable)
        .arg("--version")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("CLAUDE_CONFIG_DIR", home.path().join("config"))
        .envs(enforced_environment())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let reason = format!(
            "it ended with {}: {}",
            output.status,
            stderr.lines().last().unwrap_or_default()
        );
        return Err(io::Error::other(reason));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}
