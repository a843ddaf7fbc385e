//! Drift: the same scripted conversations with two Claude Code CLIs, or with one and the golden traces of another,
//! and everything in which they differ.

mod arguments;
mod bless;
mod compare;
mod comparison;
mod corpus;
mod deviations;
mod error;
mod golden;
mod host;
mod normalise;
mod path;
mod report;
mod side;
mod stage;
mod surroundings;
mod trace;
mod transcripts;

pub use bless::Objection;
pub(crate) use bless::{Blessing, bless, real_manifest};
pub use compare::{Difference, DifferenceKind, compare_traces};
pub(crate) use comparison::Comparison;
pub use comparison::{CaseOutcome, CaseVerdict, DriftReport, JudgedDifference};
pub use corpus::{Case, CaseDocument, CorpusError, corpus_schema, read_corpus};
pub use deviations::{Deviation, read_deviations};
pub use error::DriftError;
pub use golden::{GoldenManifest, GoldenTraces};
pub use normalise::{LEFT_OUT, MetRules, Rule, Treatment, rules, rules_page};
pub use path::{FieldPath, PathPattern};
pub use report::{drift_json, drift_text};
pub(crate) use side::{Side, SideSelector, subject};
pub(crate) use stage::Stage;
pub use trace::{CaseTrace, Lane, RunTrace};
