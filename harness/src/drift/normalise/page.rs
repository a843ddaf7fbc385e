//! The table for people.

use std::fmt::Write as _;

use super::rule::REST;
use super::rule::Treatment::{Embedded, LeadIn, LeftOut, List, Measured, Text};
use super::table::rules;

/// The table as a page.
#[must_use]
pub fn rules_page() -> String {
    let mut page =
        String::from("| lanes | field | looks like | becomes | why |\n|---|---|---|---|---|\n");
    for rule in rules() {
        let lanes = if rule.lanes.is_empty() {
            "all".to_owned()
        } else {
            rule.lanes
                .iter()
                .map(|lane| lane.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let text = rule.text.as_ref().map_or_else(String::new, |text| {
            format!("`{}`", text.as_str().replace('|', "\\|"))
        });
        let becomes = match rule.treatment {
            Text(kind) => format!("`[text:{kind}]`"),
            List(kind) => format!("`[list:{kind}]`"),
            Measured => "`[measured]`".to_owned(),
            LeadIn => format!("its beginning, then `{REST}`"),
            Embedded => "the JSON it holds".to_owned(),
            LeftOut => "left out of the comparison".to_owned(),
        };
        let _ = writeln!(
            page,
            "| {lanes} | `{}` | {text} | {becomes} | {} |",
            rule.path.as_str(),
            rule.reason
        );
    }
    page
}
