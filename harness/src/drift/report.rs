//! What a person or a program reads of a comparison.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::Table;
use serde_json::{Value, json};

use super::compare::{Difference, DifferenceKind};
use super::comparison::{CaseOutcome, DriftReport};

/// Letters of a value that are shown.
const SHOWN: usize = 160;

impl CaseOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Listed => "listed",
            Self::Differing => "differing",
        }
    }
}

/// The report as one JSON document.
#[must_use]
pub fn drift_json(report: &DriftReport) -> Value {
    let differences: Vec<Value> = report
        .cases
        .iter()
        .flat_map(|verdict| {
            verdict.differences.iter().map(|judged| {
                let difference = &judged.difference;
                json!({
                    "case": verdict.case,
                    "run": difference.run,
                    "lane": difference.lane.name(),
                    "path": difference.path.to_string(),
                    "kind": difference.kind.name(),
                    "left": difference.left,
                    "right": difference.right,
                    "listed": judged.listed,
                })
            })
        })
        .chain(report.stale.iter().map(|deviation| {
            json!({
                "case": deviation.case,
                "lane": deviation.lane.name(),
                "path": deviation.path.as_str(),
                "kind": "stale_deviation",
                "listed": deviation.reason,
            })
        }))
        .chain(report.unmet.iter().map(|rule| {
            json!({"path": rule.path.as_str(), "kind": "stale_normalisation", "listed": null})
        }))
        .collect();
    json!({
        "cases": report.cases.len(),
        "identical": report.count(CaseOutcome::Identical),
        "listed": report.count(CaseOutcome::Listed),
        "differing": report.count(CaseOutcome::Differing),
        "differences": differences,
    })
}

/// The report for a terminal: the cases, then the differences by kind, then what is stale.
#[must_use]
pub fn drift_text(report: &DriftReport) -> String {
    let mut text = cases(report);
    for (listed, title) in [(false, "differences"), (true, "listed differences")] {
        let groups = groups(report, listed);
        if !groups.is_empty() {
            let _ = write!(
                text,
                "\n{title} (left {}, right {}):\n{}",
                report.left,
                report.right,
                rendered(&groups, listed)
            );
        }
    }
    for deviation in &report.stale {
        let _ = writeln!(
            text,
            "\nstale deviation: {} {} {}: no case differs there any more; remove the line",
            deviation.case,
            deviation.lane,
            deviation.path.as_str()
        );
    }
    for rule in &report.unmet {
        let _ = writeln!(
            text,
            "\nstale row of the normalisation table: {}: nothing like it is there any more; remove it",
            rule.path.as_str()
        );
    }
    let count = |outcome| report.count(outcome);
    let _ = writeln!(
        text,
        "\n{} cases: {} identical, {} listed, {} differing; {} stale",
        report.cases.len(),
        count(CaseOutcome::Identical),
        count(CaseOutcome::Listed),
        count(CaseOutcome::Differing),
        report.stale.len() + report.unmet.len()
    );
    text
}

fn cases(report: &DriftReport) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header([
        "case",
        "outcome",
        "differences",
        "listed",
    ]);
    for verdict in &report.cases {
        let listed = verdict
            .differences
            .iter()
            .filter(|judged| judged.listed.is_some())
            .count();
        let open = verdict.differences.len() - listed;
        table.add_row([
            verdict.case.clone(),
            verdict.outcome().name().to_owned(),
            open.to_string(),
            listed.to_string(),
        ]);
    }
    format!("{}\n", table.trim_fmt())
}

/// Differences at one place, over all cases.
struct Group<'a> {
    first: &'a Difference,
    count: usize,
    cases: Vec<&'a str>,
    reason: Option<&'a str>,
}

fn groups(
    report: &DriftReport,
    listed: bool,
) -> BTreeMap<(String, String, DifferenceKind), Group<'_>> {
    let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
    for verdict in &report.cases {
        for judged in verdict
            .differences
            .iter()
            .filter(|judged| judged.listed.is_some() == listed)
        {
            let difference = &judged.difference;
            let place = (
                difference.lane.name().to_owned(),
                difference.path.to_string(),
                difference.kind,
            );
            let group = groups.entry(place).or_insert_with(|| Group {
                first: difference,
                count: 0,
                cases: Vec::new(),
                reason: judged.listed.as_deref(),
            });
            group.count += 1;
            if group.cases.last() != Some(&verdict.case.as_str()) {
                group.cases.push(&verdict.case);
            }
        }
    }
    groups
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn rendered(
    groups: &BTreeMap<(String, String, DifferenceKind), Group<'_>>,
    listed: bool,
) -> String {
    let mut text = String::new();
    for ((lane, path, kind), group) in groups {
        let _ = writeln!(
            text,
            "  {lane} {path}: {} ({} in {}: {})",
            kind.name(),
            counted(group.count, "time"),
            counted(group.cases.len(), "case"),
            some(&group.cases)
        );
        if listed {
            let _ = writeln!(text, "    {}", group.reason.unwrap_or_default());
            continue;
        }
        for (side, value) in [("left ", &group.first.left), ("right", &group.first.right)] {
            if let Some(value) = value {
                let _ = writeln!(text, "    {side} {}", shortened(&value.to_string()));
            }
        }
    }
    text
}

fn some(cases: &[&str]) -> String {
    let more = if cases.len() > 3 { ", …" } else { "" };
    format!(
        "{}{more}",
        cases.iter().take(3).copied().collect::<Vec<_>>().join(", ")
    )
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
