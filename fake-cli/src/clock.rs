//! Wall-clock time as the wire wants it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, as RFC 3339 in UTC with milliseconds.
pub(crate) fn timestamp() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// Today's date in UTC.
pub(crate) fn date() -> String {
    timestamp().chars().take(10).collect()
}

/// Milliseconds since the epoch.
pub(crate) fn epoch_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
