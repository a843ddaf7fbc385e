//! Writing the golden traces anew, from the real CLI only.

use std::path::Path;

use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::compare::{Difference, compare_traces};
use super::corpus::Case;
use super::error::DriftError;
use super::golden::{GoldenManifest, GoldenTraces};
use super::host::IN_VAIN;
use super::normalise::LEFT_OUT;
use super::path::FieldPath;
use super::stage::{Stage, Subject};
use super::trace::{CaseTrace, Lane, kind};
use crate::clis::{Cache, digest};

/// Letters that a text of the CLI may have to be kept.
const LONGEST_KEPT: usize = 240;

/// What keeps a case from being blessed.
#[derive(Debug)]
pub enum Objection {
    /// The CLI does not do the same twice.
    Unsteady {
        /// The case.
        case: String,
        /// In what two runs differ.
        differences: Vec<Difference>,
    },
    /// A step of the case did not come about.
    Incomplete {
        /// The case.
        case: String,
        /// What the host waited for.
        steps: String,
    },
    /// A long text of the CLI's own would be kept.
    LongText {
        /// The case.
        case: String,
        /// Where.
        lane: Lane,
        /// Where.
        path: FieldPath,
        /// How it begins.
        beginning: String,
    },
}

/// Only a binary that is the one npm has of its version, as recorded when it was installed.
pub(crate) fn real_manifest(
    subject: &Subject,
    cache: &Cache,
) -> Result<GoldenManifest, DriftError> {
    let not_real = |reason: String| DriftError::NotReal {
        path: subject.cli.path.clone(),
        reason,
    };
    let sha256 = digest(&subject.cli.path).map_err(|error| not_real(error.to_string()))?;
    let installed = cache
        .list()?
        .into_iter()
        .find(|installed| installed.record.sha256 == sha256);
    match installed {
        Some(installed) if installed.record.version.to_string() == subject.version => Ok(GoldenManifest {
            version: installed.record.version,
            package: installed.record.package,
            sha256,
        }),
        _ => Err(not_real(
            "it is none of the installed CLIs; `cargo run -p harness -- cli install VERSION` installs one".to_owned(),
        )),
    }
}

/// What is to be blessed.
pub(crate) struct Blessing<'a> {
    pub(crate) golden: &'a Path,
    pub(crate) manifest: GoldenManifest,
    pub(crate) cases: &'a [Case],
    /// The cases are all there are: golden traces of others are removed.
    pub(crate) complete: bool,
    pub(crate) jobs: usize,
}

/// Runs every case twice and writes the golden traces of those that came out alike.
pub(crate) async fn bless(
    stage: &Stage,
    subject: &Subject,
    blessing: Blessing<'_>,
    progress: impl Fn(&str),
) -> Result<Vec<Objection>, DriftError> {
    let Blessing {
        golden,
        manifest,
        cases,
        complete,
        jobs,
    } = blessing;
    let traces = GoldenTraces::begin(golden, manifest)?;
    if complete {
        traces.remove_others(cases)?;
    }
    let mut objections = Vec::new();
    let mut running = stream::iter(cases.iter().enumerate())
        .map(|(index, case)| async move {
            let first = stage.run(case, subject, &format!("first-{index}")).await?;
            let second = stage.run(case, subject, &format!("second-{index}")).await?;
            Ok::<_, DriftError>((case, first, second))
        })
        .buffer_unordered(jobs);
    while let Some(outcome) = running.next().await {
        let (case, first, second) = outcome?;
        let differences = compare_traces(&first, &second);
        let incomplete = incomplete(case, &first);
        let long = long_text(case, &first);
        progress(&case.id.to_string());
        if differences.is_empty() && long.is_none() && incomplete.is_none() {
            traces.write(case, &first)?;
        }
        if !differences.is_empty() {
            objections.push(Objection::Unsteady {
                case: case.id.to_string(),
                differences,
            });
        }
        objections.extend(incomplete);
        objections.extend(long);
    }
    Ok(objections)
}

/// A host that waits in vain shows a mistake in the case, not what the CLI does.
fn incomplete(case: &Case, trace: &CaseTrace) -> Option<Objection> {
    trace
        .runs
        .iter()
        .flat_map(|run| run.lane(Lane::Process))
        .find_map(|entry| {
            let steps = entry["steps"].as_str()?.strip_prefix(IN_VAIN)?.to_owned();
            Some(Objection::Incomplete {
                case: case.id.to_string(),
                steps,
            })
        })
}

/// The first text that is long and not the case's own.
fn long_text(case: &Case, trace: &CaseTrace) -> Option<Objection> {
    let own = case.texts();
    trace
        .runs
        .iter()
        .flat_map(|run| Lane::ALL.map(|lane| (lane, run.lane(lane))))
        .find_map(|(lane, entries)| {
            entries.iter().find_map(|entry| {
                let (path, text) =
                    long_text_in(&own, &FieldPath::of_kind(kind(lane, entry)), entry)?;
                let beginning = text.chars().take(80).collect();
                Some(Objection::LongText {
                    case: case.id.to_string(),
                    lane,
                    path,
                    beginning,
                })
            })
        })
}

fn long_text_in(own: &str, path: &FieldPath, value: &Value) -> Option<(FieldPath, String)> {
    match value {
        Value::String(text) => {
            let kept = text.chars().count() <= LONGEST_KEPT
                || text == LEFT_OUT
                || own.contains(text.as_str());
            (!kept).then(|| (path.clone(), text.clone()))
        }
        Value::Array(items) => items
            .iter()
            .find_map(|item| long_text_in(own, &path.element_of(item), item)),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, field)| long_text_in(own, &path.key(name), field)),
        _ => None,
    }
}
