//! Coverage for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

use super::assessment::{Assessment, Carrier, Coverage, State};
use super::results::Verdict;

#[derive(Serialize)]
struct CoverageForm<'a> {
    requirements: Vec<RequirementForm<'a>>,
}

#[derive(Serialize)]
struct RequirementForm<'a> {
    id: &'a str,
    layer: &'a str,
    must: bool,
    scenarios: Vec<String>,
    tests: Vec<String>,
}

/// The report for programs: of each requirement, the scenarios and tests that carry it and passed.
#[must_use]
pub fn coverage_json(coverage: &Coverage) -> String {
    let form = CoverageForm {
        requirements: coverage.rows.iter().map(form).collect(),
    };
    serde_json::to_string_pretty(&form).unwrap_or_default()
}

fn form(row: &Assessment) -> RequirementForm<'_> {
    let passed = || {
        row.evidence
            .iter()
            .filter(|one| one.verdict == Verdict::Passed)
    };
    let names = |is_scenario: bool| {
        passed()
            .filter(|one| matches!(one.carrier, Carrier::Scenario(_)) == is_scenario)
            .map(|one| one.carrier.to_string())
            .collect()
    };
    RequirementForm {
        id: &row.requirement.id,
        layer: &row.requirement.layer,
        must: row.requirement.must,
        scenarios: names(true),
        tests: names(false),
    }
}

/// The report for people: every requirement with what carries it, then the sums by layer.
#[must_use]
pub fn coverage_table(coverage: &Coverage) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["requirement", "must", "carried by", "state"]);
    for row in &coverage.rows {
        table.add_row([
            row.requirement.id.clone(),
            if row.requirement.must { "must" } else { "" }.to_owned(),
            carriers(row),
            row.state().to_string(),
        ]);
    }
    format!("{table}\n\n{}", sums(coverage))
}

fn carriers(row: &Assessment) -> String {
    let lines = row.evidence.iter().map(|one| match one.verdict {
        Verdict::Passed => one.carrier.to_string(),
        Verdict::NotRun => format!("{} (not run)", one.carrier),
        Verdict::Failed => format!("{} (failed)", one.carrier),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn sums(coverage: &Coverage) -> String {
    let mut layers: BTreeMap<&str, BTreeMap<(bool, State), usize>> = BTreeMap::new();
    for row in &coverage.rows {
        let layer = layers.entry(&row.requirement.layer).or_default();
        *layer
            .entry((row.requirement.must, row.state()))
            .or_default() += 1;
    }
    let mut text = String::new();
    for (layer, counts) in layers {
        let count = |must, state| counts.get(&(must, state)).copied().unwrap_or_default();
        let all: usize = counts
            .iter()
            .filter(|((must, _), _)| *must)
            .map(|(_, count)| count)
            .sum();
        let _ = writeln!(
            text,
            "{layer}: {} of {all} binding requirements covered, {} not run, {} failed, {} uncovered; beside them {} others covered",
            count(true, State::Covered),
            count(true, State::NotRun),
            count(true, State::Failed),
            count(true, State::Uncovered),
            count(false, State::Covered),
        );
    }
    text
}
