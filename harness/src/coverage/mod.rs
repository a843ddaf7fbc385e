//! Which requirements are shown to hold, by which scenarios and tests of the last full run.

mod assessment;
mod report;
mod results;
mod sources;
mod tag;
mod test_name;

pub use assessment::{Assessment, Carrier, Coverage, Evidence, State};
pub use report::{coverage_json, coverage_table};
pub use results::{ResultsError, RunResults, Verdict};
pub use sources::{SourcesError, TestTag, tags_of_sources};
pub use tag::{MisplacedTag, TaggedTest, tagged_tests};
pub use test_name::TestName;
