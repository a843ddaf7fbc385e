//! The names a scenario defines, and the problems found with them so far.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::scenario::problem::Problem;
use crate::scenario::requirement::Requirements;
use crate::scenario::source::{Located, Place, ScenarioDocument};

/// What names can stand in a scenario, and what was found to be wrong.
pub(crate) struct Scope<'a> {
    document: &'a ScenarioDocument,
    custom_tools: Vec<&'a str>,
    other_tools: Vec<&'a str>,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(document: &'a ScenarioDocument) -> Self {
        let agent = &document.agent;
        let sources = agent
            .tool_sources
            .iter()
            .flat_map(|(_, tools)| tools.names());
        let built_in = agent.options.built_in_tools.iter().map(String::as_str);
        Self {
            document,
            custom_tools: agent.tools.names().chain(sources).collect(),
            other_tools: built_in
                .chain(agent.tool_policies.keys().map(String::as_str))
                .collect(),
            problems: RefCell::default(),
        }
    }

    pub(crate) fn report(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    /// A tool whose handler runs in the harness.
    pub(crate) fn custom_tool(&self, name: Located<&str>) -> Option<String> {
        if self.custom_tools.contains(&name.value) {
            return Some(name.value.to_owned());
        }
        self.report(Problem::unknown(
            name.place,
            "tool",
            name.value,
            self.custom_tools.iter().copied(),
        ));
        None
    }

    /// Any tool of the agent, also one that runs inside the CLI.
    pub(crate) fn any_tool(&self, name: Located<&str>) -> Option<String> {
        if self.knows_tool(name.value) {
            return Some(name.value.to_owned());
        }
        let known: BTreeSet<&str> = self
            .custom_tools
            .iter()
            .chain(&self.other_tools)
            .copied()
            .collect();
        self.report(Problem::unknown(name.place, "tool", name.value, known));
        None
    }

    pub(crate) fn knows_tool(&self, name: &str) -> bool {
        self.custom_tools.contains(&name)
            || self.other_tools.contains(&name)
            || name.starts_with("mcp__")
    }

    /// The variants in the order of the file, or `None` alone for a scenario without variants.
    pub(crate) fn each_variant(&self) -> Vec<Option<&'a str>> {
        let names: Vec<_> = self.document.variants.names().map(Some).collect();
        if names.is_empty() { vec![None] } else { names }
    }

    /// The variants an item belongs to; all of them when it names none.
    pub(crate) fn variants(&self, named: Option<&Located<Vec<Located<String>>>>) -> Presence {
        let Some(named) = named else {
            return Presence::Always;
        };
        if named.value.is_empty() {
            self.report(
                Problem::new(named.place, "`in` names no variant", "empty")
                    .with_help("name at least one variant, or leave `in` out to mean all"),
            );
        }
        for name in &named.value {
            if !self
                .document
                .variants
                .names()
                .any(|known| known == name.value)
            {
                let known: Vec<&str> = self.document.variants.names().collect();
                self.report(Problem::unknown(name.place, "variant", &name.value, known));
            }
        }
        Presence::Only(named.value.iter().map(|name| name.value.clone()).collect())
    }

    /// Requirement ids that exist.
    pub(crate) fn check_requirements(&self, requirements: &Requirements) {
        for id in &self.document.covers {
            if !requirements.contains(&id.value) {
                let near = requirements.near(&id.value);
                let problem = Problem::new(
                    id.place,
                    format!("unknown requirement `{}`", id.value),
                    "unknown requirement",
                );
                self.report(match near {
                    Some(near) => problem.with_help(format!("did you mean `{near}`?")),
                    None => {
                        problem.with_help("the ids are in `requirements.yaml` beside the scenarios")
                    }
                });
            }
        }
    }

    /// A number that counts from 1.
    pub(crate) fn ordinal(&self, number: Option<&Located<usize>>, key: &str) -> Option<usize> {
        let number = number?;
        if number.value == 0 {
            self.report(Problem::new(
                number.place,
                format!("`{key}` counts from 1"),
                "0 is never reached",
            ));
        }
        Some(number.value)
    }

    /// Exactly one of `choices` is present; reports otherwise.
    pub(crate) fn exactly_one(&self, place: Place, what: &str, choices: &[(&str, bool)]) -> bool {
        let present: Vec<&str> = choices
            .iter()
            .filter(|(_, present)| *present)
            .map(|(name, _)| *name)
            .collect();
        let all = || {
            choices
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match present[..] {
            [_] => true,
            [] => {
                let problem =
                    Problem::new(place, format!("{what} says nothing to do"), "nothing here");
                self.report(problem.with_help(format!("write one of {}", all())));
                false
            }
            _ => {
                let problem = Problem::new(
                    place,
                    format!("{what} has `{}` at once", present.join("` and `")),
                    "one at a time",
                );
                self.report(problem.with_help(format!("keep one of {}", all())));
                false
            }
        }
    }
}

/// The variants an item is part of.
#[derive(Debug, Clone)]
pub(crate) enum Presence {
    /// All of them, and a scenario without variants.
    Always,
    /// These.
    Only(Vec<String>),
}

impl Presence {
    pub(crate) fn includes(&self, variant: Option<&str>) -> bool {
        match self {
            Self::Always => true,
            Self::Only(names) => {
                variant.is_some_and(|variant| names.iter().any(|name| name == variant))
            }
        }
    }
}
