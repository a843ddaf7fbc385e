//! Claude Code CLIs: the fake one, and real ones in a cache outside the repository.

mod cache;
mod install;
mod select;
mod version;

pub use cache::{Cache, CacheError, InstalledCli};
pub(crate) use install::digest;
pub use install::{InstallError, install};
pub use select::{CliSelector, SelectError, UnknownCli};
pub(crate) use version::reported_version;
