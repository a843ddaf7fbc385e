//! Whether a file can be started.

use std::path::Path;

use nix::unistd::{AccessFlags, access};

/// Whether this is a file that this user may execute.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}
