//! The environment of the CLI: an allow-list of the worker's, and the application's own variables.

use std::collections::BTreeMap;

/// Variables that pass from the worker to the CLI by name.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "CLOUD_ML_REGION",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
];

/// Variables that pass from the worker to the CLI by the beginning of their name: locale and the
/// credentials that a plain program of the agent SDK would use.
const ALLOWED_PREFIXES: &[&str] = &["LC_", "ANTHROPIC_", "AWS_"];

/// The CLI's environment.
pub(crate) fn cli_environment(
    inherited: impl IntoIterator<Item = (String, String)>,
    application: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = inherited
        .into_iter()
        .filter(|(name, _)| is_allowed(name))
        .collect();
    environment.insert("CLAUDE_CODE_ENTRYPOINT".to_owned(), "sdk-rs".to_owned());
    environment.extend(application.clone());
    environment
}

fn is_allowed(name: &str) -> bool {
    ALLOWED.contains(&name)
        || ALLOWED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// The worker's environment, without variables that are not valid Unicode.
pub(crate) fn worker_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_only_the_allow_list_and_the_application_variables() {
        let inherited = [
            ("PATH", "/bin"),
            ("ANTHROPIC_API_KEY", "worker"),
            ("DATABASE_PASSWORD", "secret"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let application = BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "own".to_owned())]);
        let environment = cli_environment(inherited, &application);
        assert_eq!(environment.get("PATH").map(String::as_str), Some("/bin"));
        assert_eq!(
            environment.get("ANTHROPIC_API_KEY").map(String::as_str),
            Some("own")
        );
        assert!(!environment.contains_key("DATABASE_PASSWORD"));
    }
}
