//! Comparing two sides over the corpus.

use futures::{StreamExt as _, stream};

use super::compare::{Difference, compare_traces};
use super::corpus::Case;
use super::deviations::Deviation;
use super::error::DriftError;
use super::normalise::{MetRules, Rule};
use super::side::Side;
use super::stage::Stage;
use super::trace::CaseTrace;

/// What came of comparing two sides.
#[derive(Debug)]
pub struct DriftReport {
    /// The name of the left side.
    pub left: String,
    /// The name of the right side.
    pub right: String,
    /// One verdict for each case, in their order.
    pub cases: Vec<CaseVerdict>,
    /// Deviations that no difference has met, when every case was compared.
    pub stale: Vec<Deviation>,
    /// Rows of the normalisation table that nothing has met, when every case was compared.
    pub unmet: Vec<&'static Rule>,
}

/// What came of one case.
#[derive(Debug)]
pub struct CaseVerdict {
    /// The case.
    pub case: String,
    /// Its differences.
    pub differences: Vec<JudgedDifference>,
}

/// A difference, and why it is accepted, if it is.
#[derive(Debug)]
pub struct JudgedDifference {
    /// What differs.
    pub difference: Difference,
    /// The reason of the deviation that lists it.
    pub listed: Option<String>,
}

/// What a verdict comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseOutcome {
    /// No difference.
    Identical,
    /// Only differences that are listed.
    Listed,
    /// At least one that is not.
    Differing,
}

impl CaseVerdict {
    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> CaseOutcome {
        if self.differences.is_empty() {
            CaseOutcome::Identical
        } else if self
            .differences
            .iter()
            .all(|judged| judged.listed.is_some())
        {
            CaseOutcome::Listed
        } else {
            CaseOutcome::Differing
        }
    }
}

impl DriftReport {
    /// How many cases came to this.
    #[must_use]
    pub fn count(&self, outcome: CaseOutcome) -> usize {
        self.cases
            .iter()
            .filter(|verdict| verdict.outcome() == outcome)
            .count()
    }

    /// Whether nothing differs that is not listed, and nothing is listed that does not differ.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.count(CaseOutcome::Differing) == 0 && self.stale.is_empty() && self.unmet.is_empty()
    }
}

/// What is compared, and how.
pub(crate) struct Comparison<'a> {
    pub(crate) left: &'a Side,
    pub(crate) right: &'a Side,
    pub(crate) cases: &'a [Case],
    /// The cases are all there are: a deviation that none of them shows is stale.
    pub(crate) complete: bool,
    /// Known deviations; they count when one of the sides is the fake CLI.
    pub(crate) deviations: Vec<Deviation>,
    pub(crate) jobs: usize,
}

impl Comparison<'_> {
    /// Runs and compares; `progress` hears of each case that is done.
    pub(crate) async fn run(
        &self,
        stage: &Stage,
        progress: impl Fn(&CaseVerdict),
    ) -> Result<DriftReport, DriftError> {
        let mut used = vec![false; self.deviations.len()];
        let mut cases = Vec::new();
        let mut met = MetRules::default();
        let mut running = stream::iter(self.cases.iter().enumerate())
            .map(|(index, case)| self.case(stage, index, case))
            .buffer_unordered(self.jobs);
        while let Some(outcome) = running.next().await {
            let (index, left, right) = outcome?;
            let differences = compare_traces(&left, &right);
            met.look_through(&left);
            met.look_through(&right);
            let case = self.cases[index].id.to_string();
            let differences = differences
                .into_iter()
                .map(|difference| self.judged(&case, difference, &mut used))
                .collect();
            let verdict = CaseVerdict { case, differences };
            progress(&verdict);
            cases.push(verdict);
        }
        drop(running);
        cases.sort_by(|one, other| one.case.cmp(&other.case));
        let stale = self
            .deviations
            .iter()
            .zip(used)
            .filter(|(_, used)| !used && self.complete);
        let stale = stale.map(|(deviation, _)| deviation.clone()).collect();
        let unmet = if self.complete {
            met.unmet()
        } else {
            Vec::new()
        };
        Ok(DriftReport {
            left: self.left.name(),
            right: self.right.name(),
            cases,
            stale,
            unmet,
        })
    }

    async fn case(
        &self,
        stage: &Stage,
        index: usize,
        case: &Case,
    ) -> Result<(usize, CaseTrace, CaseTrace), DriftError> {
        let left = self
            .left
            .trace(stage, case, &format!("left-{index}"))
            .await?;
        let right = self
            .right
            .trace(stage, case, &format!("right-{index}"))
            .await?;
        Ok((index, left, right))
    }

    fn judged(&self, case: &str, difference: Difference, used: &mut [bool]) -> JudgedDifference {
        let mut listed = None;
        for (deviation, used) in self.deviations.iter().zip(used) {
            if deviation.covers(case, &difference) {
                *used = true;
                listed.get_or_insert_with(|| deviation.reason.clone());
            }
        }
        JudgedDifference { difference, listed }
    }
}
