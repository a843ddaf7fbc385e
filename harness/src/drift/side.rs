//! The two sides of a comparison: a CLI that is run, or golden traces.

use std::path::Path;
use std::str::FromStr;

use semver::Version;

use super::corpus::Case;
use super::error::DriftError;
use super::golden::GoldenTraces;
use super::stage::{Stage, Subject};
use super::trace::CaseTrace;
use crate::cell::CliBinary;
use crate::clis::{CliSelector, UnknownCli, reported_version};
use crate::installation::Installation;

/// A side of a comparison.
#[derive(Debug)]
pub(crate) enum Side {
    Cli(Subject),
    Golden(GoldenTraces),
}

/// A side as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SideSelector {
    Cli(CliSelector),
    /// The golden traces of a version, or of the newest one.
    Golden(Option<Version>),
}

impl SideSelector {
    /// The binary that the workspace's own build makes for it, if any.
    pub(crate) fn own_binary(&self) -> Option<&str> {
        match self {
            Self::Cli(selector) => selector.own_binary(),
            Self::Golden(_) => None,
        }
    }
}

impl FromStr for SideSelector {
    type Err = UnknownCli;

    fn from_str(text: &str) -> Result<Self, UnknownCli> {
        let version = text
            .strip_prefix("golden:")
            .and_then(|version| Version::parse(version).ok());
        if text == "golden" || version.is_some() {
            Ok(Self::Golden(version))
        } else {
            text.parse().map(Self::Cli)
        }
    }
}

impl Side {
    /// Finds the side that is asked for.
    pub(crate) fn find(
        selector: &SideSelector,
        golden: &Path,
        installation: &Installation,
    ) -> Result<Self, DriftError> {
        match selector {
            SideSelector::Golden(version) => {
                GoldenTraces::open(golden, version.as_ref()).map(Self::Golden)
            }
            SideSelector::Cli(selector) => subject(selector.find(installation)?).map(Self::Cli),
        }
    }

    pub(crate) fn is_fake(&self) -> bool {
        matches!(self, Self::Cli(subject) if !subject.cli.real)
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Cli(subject) => subject.cli.name.clone(),
            Self::Golden(traces) => format!("golden {}", traces.manifest.version),
        }
    }

    /// What this side says to a case. `session` is a name that no other run has.
    pub(crate) async fn trace(
        &self,
        stage: &Stage,
        case: &Case,
        session: &str,
    ) -> Result<CaseTrace, DriftError> {
        match self {
            Self::Cli(subject) => stage.run(case, subject, session).await,
            Self::Golden(traces) => traces.read(case),
        }
    }
}

/// A CLI with the version that it tells of itself.
pub(crate) fn subject(cli: CliBinary) -> Result<Subject, DriftError> {
    let reported = reported_version(&cli.path).map_err(|source| DriftError::Start {
        cli: cli.path.clone(),
        source,
    })?;
    let version = reported
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    Ok(Subject { cli, version })
}
