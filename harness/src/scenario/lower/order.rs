//! Steps in an order that no session can follow.

use super::scope::Scope;
use crate::scenario::problem::Problem;
use crate::scenario::source::{AwaitDocument, Located, StepDocument};

/// Reports the first step of the file that speaks to a session before it is started, or starts it again.
pub(crate) fn check(scope: &Scope<'_>, steps: &[Located<StepDocument>]) {
    let problem = scope
        .each_variant()
        .into_iter()
        .filter_map(|variant| first_misplaced(steps, variant))
        .min_by_key(|(place, _)| *place);
    if let Some((_, problem)) = problem {
        scope.report(problem);
    }
}

/// The place in the file, and what is wrong there.
fn first_misplaced(
    steps: &[Located<StepDocument>],
    variant: Option<&str>,
) -> Option<(usize, Problem)> {
    let mut is_started = false;
    for step in in_order(steps, variant) {
        let found = if step.value.start.is_some() {
            std::mem::replace(&mut is_started, true).then(|| {
                Problem::new(
                    step.place,
                    "the session is started twice",
                    "it was started before",
                )
                .with_help("a further message is `- send: …`")
            })
        } else {
            (!is_started && needs_session(&step.value)).then(|| {
                Problem::new(
                    step.place,
                    "there is no session yet",
                    "the session was not started before",
                )
                .with_help("begin with `- start: the first user message`")
            })
        };
        if let Some(problem) = found {
            return Some((step.place.offset, problem));
        }
    }
    None
}

/// The steps of one variant, those under `do` in their place.
fn in_order<'a>(
    steps: &'a [Located<StepDocument>],
    variant: Option<&'a str>,
) -> impl Iterator<Item = &'a Located<StepDocument>> {
    steps
        .iter()
        .filter(move |step| is_in(&step.value, variant))
        .flat_map(|step| {
            let held = step.value.actions.iter().flat_map(|actions| &actions.value);
            std::iter::once(step).chain(held)
        })
}

fn is_in(step: &StepDocument, variant: Option<&str>) -> bool {
    let Some(named) = &step.variants else {
        return true;
    };
    named
        .value
        .iter()
        .any(|name| Some(name.value.as_str()) == variant)
}

fn needs_session(step: &StepDocument) -> bool {
    let awaits_session = step
        .awaited
        .as_ref()
        .is_some_and(|awaited| !matches!(awaited.value, AwaitDocument::Point(_)));
    awaits_session
        || step.send.is_some()
        || step.approve.is_some()
        || step.reject.is_some()
        || step.cancel.is_some()
}
