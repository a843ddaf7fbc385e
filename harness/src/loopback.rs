//! What keeps a CLI on this machine.

use std::collections::BTreeMap;

/// The variables that every CLI gets, whatever else it is told: nothing beyond loopback can be reached, and nothing
/// is looked for there.
pub(crate) fn enforced_environment() -> BTreeMap<String, String> {
    const REFUSED: &str = "http://127.0.0.1:1";
    const LOOPBACK: &str = "127.0.0.1,localhost";
    [
        ("HTTPS_PROXY", REFUSED),
        ("https_proxy", REFUSED),
        ("HTTP_PROXY", REFUSED),
        ("http_proxy", REFUSED),
        ("NO_PROXY", LOOPBACK),
        ("no_proxy", LOOPBACK),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}
