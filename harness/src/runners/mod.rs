//! Runners: adapters behind the runner protocol, each described by a manifest.

mod build;
mod freshness;
mod manifest;

pub(crate) use build::hexadecimal;
pub use build::{BuildError, Builder};
pub use manifest::{MANIFEST_DIRECTORY_PLACEHOLDER, Manifest, ManifestError, manifest_schema};
