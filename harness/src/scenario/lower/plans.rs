//! A document to the plans of its variants.

use std::collections::BTreeMap;
use std::time::Duration;

use super::scope::{Presence, Scope};
use super::{agent, expectations, fault, model, order, step};
use crate::scenario::problem::Problem;
use crate::scenario::requirement::Requirements;
use crate::scenario::source::{ModelSource, ScenarioDocument};
use crate::scenario::{Expectations, Plan};

/// The plan of each variant, in the order of the file; one plan when it has no variants.
pub(crate) fn lower(
    id: &str,
    document: &ScenarioDocument,
    source: &ModelSource,
    requirements: &Requirements,
) -> Result<Vec<Plan>, Vec<Problem>> {
    let scope = Scope::new(document);
    scope.check_requirements(requirements);
    check_title(&scope, document);
    let agent = agent::lower(&scope, &document.agent);
    let model = model::lower(&scope, &document.model, &source.model);
    let faults: Vec<_> = document
        .faults
        .iter()
        .filter_map(|fault| fault::lower(&scope, fault))
        .collect();
    let steps = step::lower_all(&scope, &document.steps);
    order::check(&scope, &document.steps.value);
    let (expect, frames) = expectations::lower(&scope, &document.expect);

    let plan = |variant: Option<&str>, model| Plan {
        scenario: id.to_owned(),
        variant: variant.map(str::to_owned),
        title: document.title.value.clone(),
        covers: document.covers.iter().map(|id| id.value.clone()).collect(),
        requires: document.requires.clone(),
        clis: document.clis.clone(),
        agent: agent.definition.clone(),
        tools: BTreeMap::clone(&agent.behaviours),
        model,
        faults: present(&faults, variant),
        steps: present(&steps, variant),
        expect: Expectations {
            frames: present(&frames, variant),
            ..expect.clone()
        },
        step_timeout: document.step_timeout_seconds.map(Duration::from_secs),
    };
    let plans = model.map(|model| {
        scope
            .each_variant()
            .into_iter()
            .map(|variant| plan(variant, model.clone()))
            .collect()
    });
    match (plans, scope.into_problems()) {
        (Some(plans), problems) if problems.is_empty() => Ok(plans),
        (_, problems) => Err(problems),
    }
}

fn check_title(scope: &Scope<'_>, document: &ScenarioDocument) {
    if document.title.value.trim().is_empty() {
        scope.report(
            Problem::new(document.title.place, "the title is empty", "empty")
                .with_help("write the sentence that the scenario proves"),
        );
    }
}

fn present<T: Clone>(items: &[(Presence, T)], variant: Option<&str>) -> Vec<T> {
    items
        .iter()
        .filter(|(presence, _)| presence.includes(variant))
        .map(|(_, item)| item.clone())
        .collect()
}
