//! What each requirement comes to.

use std::collections::BTreeMap;
use std::fmt;

use super::results::{RunResults, Verdict};
use super::sources::TestTag;
use super::test_name::TestName;
use crate::catalogue::{Catalogue, CatalogueError, ScenarioId};
use crate::matrix::{CellName, CommittedMatrix};
use crate::scenario::Requirement;

/// The binary of the tests that are cells.
const CELLS: &str = "harness::cells";

/// What shows that a requirement holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// A scenario, with all its cells in the committed matrix.
    Scenario(ScenarioId),
    /// A test.
    Test(TestName),
}

impl fmt::Display for Carrier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(id) => id.fmt(formatter),
            Self::Test(name) => name.fmt(formatter),
        }
    }
}

/// A carrier and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Which.
    pub carrier: Carrier,
    /// How; of a scenario the worst of its cells.
    pub verdict: Verdict,
}

/// What a requirement comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Something that carries it passed, and nothing failed.
    Covered,
    /// Nothing that carries it was run.
    NotRun,
    /// Something that carries it failed.
    Failed,
    /// Nothing carries it.
    Uncovered,
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Covered => "covered",
            Self::NotRun => "not run",
            Self::Failed => "failed",
            Self::Uncovered => "uncovered",
        })
    }
}

/// One requirement with everything that carries it.
#[derive(Debug, Clone)]
pub struct Assessment {
    /// The requirement.
    pub requirement: Requirement,
    /// What carries it, scenarios first.
    pub evidence: Vec<Evidence>,
}

impl Assessment {
    /// What it comes to.
    #[must_use]
    pub fn state(&self) -> State {
        let has = |verdict| self.evidence.iter().any(|one| one.verdict == verdict);
        if self.evidence.is_empty() {
            State::Uncovered
        } else if has(Verdict::Failed) {
            State::Failed
        } else if has(Verdict::Passed) {
            State::Covered
        } else {
            State::NotRun
        }
    }
}

/// All requirements, by id.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// One row for each.
    pub rows: Vec<Assessment>,
}

impl Coverage {
    /// Brings together what is required, what claims to show it, and how that ended.
    ///
    /// # Errors
    /// When a scenario cannot be used, or the matrix names what there is not.
    pub fn assess(
        catalogue: &Catalogue,
        matrix: &CommittedMatrix,
        tags: &[TestTag],
        results: &RunResults,
    ) -> Result<Self, CatalogueError> {
        let mut evidence: BTreeMap<String, Vec<Evidence>> = BTreeMap::new();
        let verdicts = verdicts(catalogue, matrix, results)?;
        for (id, covers) in scenarios(catalogue)? {
            let one = Evidence {
                verdict: verdicts.get(&id).copied().unwrap_or(Verdict::NotRun),
                carrier: Carrier::Scenario(id),
            };
            for requirement in covers {
                evidence.entry(requirement).or_default().push(one.clone());
            }
        }
        for tag in tags {
            let carriers = evidence.entry(tag.requirement.clone()).or_default();
            carriers.push(Evidence {
                verdict: results.verdict(&tag.test),
                carrier: Carrier::Test(tag.test.clone()),
            });
        }
        let rows = catalogue
            .requirements()
            .iter()
            .map(|requirement| Assessment {
                requirement: requirement.clone(),
                evidence: evidence.remove(&requirement.id).unwrap_or_default(),
            });
        Ok(Self {
            rows: rows.collect(),
        })
    }

    /// Only the requirements of this layer.
    #[must_use]
    pub fn of_layer(mut self, layer: &str) -> Self {
        self.rows.retain(|row| row.requirement.layer == layer);
        self
    }

    /// The binding requirements of a layer that are not covered.
    #[must_use]
    pub fn gaps(&self, layer: &str) -> Vec<&Assessment> {
        let rows = self.rows.iter();
        rows.filter(|row| row.requirement.must && row.requirement.layer == layer)
            .filter(|row| row.state() != State::Covered)
            .collect()
    }
}

/// Every scenario with the requirements it names.
fn scenarios(catalogue: &Catalogue) -> Result<Vec<(ScenarioId, Vec<String>)>, CatalogueError> {
    let mut scenarios = Vec::new();
    for id in catalogue.ids()? {
        let covers = catalogue
            .plans(&id)?
            .into_iter()
            .next()
            .map(|plan| plan.covers);
        scenarios.push((id, covers.unwrap_or_default()));
    }
    Ok(scenarios)
}

/// The worst verdict of each scenario's cells in the committed matrix; a scenario without any was not run.
fn verdicts(
    catalogue: &Catalogue,
    matrix: &CommittedMatrix,
    results: &RunResults,
) -> Result<BTreeMap<ScenarioId, Verdict>, CatalogueError> {
    let mut verdicts: BTreeMap<ScenarioId, Verdict> = BTreeMap::new();
    for pair in &matrix.pairs {
        for selector in pair.cells(catalogue)? {
            if pair.is_not_applicable(&selector) {
                continue;
            }
            let scenario = selector.scenario.clone();
            let cell = CellName {
                runner: pair.runner.clone(),
                cli: pair.cli.clone(),
                selector,
            };
            let verdict = results.verdict(&TestName {
                binary: CELLS.to_owned(),
                path: cell.to_string(),
            });
            let worst = verdicts.entry(scenario).or_insert(verdict);
            *worst = verdict.max(*worst);
        }
    }
    Ok(verdicts)
}
