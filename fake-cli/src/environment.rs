//! The environment variables that steer the program, read once.

use std::collections::HashMap;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// A snapshot of the environment; the rest of the crate never reads it again.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    variables: HashMap<String, String>,
    /// Where sessions are kept.
    pub(crate) config_directory: PathBuf,
    /// The working directory with symbolic links resolved.
    pub(crate) working_directory: PathBuf,
}

/// How requests to the Messages API say who sends them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    ApiKey(String),
    Bearer(String),
}

impl Environment {
    /// Reads the variables and the working directory of this process.
    ///
    /// # Errors
    /// When the working directory cannot be determined.
    pub(crate) fn of_process() -> std::io::Result<Self> {
        let working_directory = std::env::current_dir()?;
        let working_directory = working_directory
            .canonicalize()
            .unwrap_or(working_directory);
        Ok(Self::new(std::env::vars(), working_directory))
    }

    fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        working_directory: PathBuf,
    ) -> Self {
        let variables: HashMap<String, String> = variables.into_iter().collect();
        let config_directory = match variables.get("CLAUDE_CONFIG_DIR") {
            Some(directory) if !directory.is_empty() => PathBuf::from(directory),
            _ => {
                let home = variables.get("HOME").map_or("/", String::as_str);
                PathBuf::from(home).join(".claude")
            }
        };
        Self {
            variables,
            config_directory,
            working_directory,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some("1" | "true" | "yes" | "on"))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    pub(crate) fn entrypoint(&self) -> &str {
        self.get("CLAUDE_CODE_ENTRYPOINT").unwrap_or("sdk-cli")
    }

    /// Session state frames appear only for hosts that say they read them (observed on CLI
    /// 2.1.316).
    pub(crate) fn host_reads_session_state(&self) -> bool {
        self.flag("CLAUDE_CODE_SDK_READS_SESSION_STATE")
    }

    pub(crate) fn credential(&self) -> Option<Credential> {
        if let Some(key) = self.get("ANTHROPIC_API_KEY") {
            return Some(Credential::ApiKey(key.to_owned()));
        }
        self.get("ANTHROPIC_AUTH_TOKEN")
            .map(|token| Credential::Bearer(token.to_owned()))
    }

    /// Stands for the installation, which is its config directory: 64 hexadecimal digits.
    pub(crate) fn device_id(&self) -> String {
        let directory = self.config_directory.as_os_str().as_encoded_bytes();
        let digest = Sha256::digest(directory);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The user's shell, without its directory.
    pub(crate) fn shell_name(&self) -> &str {
        let shell = self.get("SHELL").unwrap_or("unknown");
        shell.rsplit('/').next().unwrap_or(shell)
    }

    pub(crate) fn base_url(&self) -> &str {
        self.get("ANTHROPIC_BASE_URL")
            .unwrap_or("https://api.anthropic.com")
            .trim_end_matches('/')
    }

    /// How often a failed model request is repeated; the real program caps it at 15.
    pub(crate) fn max_retries(&self) -> u64 {
        self.number("CLAUDE_CODE_MAX_RETRIES").unwrap_or(10).min(15)
    }
}
