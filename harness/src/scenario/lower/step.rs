//! Steps and actions.

use super::point;
use super::scope::{Presence, Scope};
use crate::scenario::problem::Problem;
use crate::scenario::source::{
    AwaitDocument, CancelTarget, Located, SignalTarget, StepDocument, WorkerTarget,
};
use crate::scenario::{Action, Awaited, Decision, Step, StepKind, Target};

pub(crate) fn lower_all(
    scope: &Scope<'_>,
    steps: &Located<Vec<Located<StepDocument>>>,
) -> Vec<(Presence, Step)> {
    if steps.value.is_empty() {
        scope.report(
            Problem::new(steps.place, "`steps` is empty", "nothing happens")
                .with_help("begin with `- start: the first user message`"),
        );
    }
    steps
        .value
        .iter()
        .filter_map(|step| lower(scope, step))
        .collect()
}

fn lower(scope: &Scope<'_>, step: &Located<StepDocument>) -> Option<(Presence, Step)> {
    let presence = scope.variants(step.value.variants.as_ref());
    check_form(scope, step)?;
    let kind = if let Some(awaited) = &step.value.awaited {
        StepKind::Await(lower_await(scope, awaited)?)
    } else if let Some(held) = &step.value.at {
        StepKind::At {
            actions: lower_actions(scope, step)?,
            point: point::lower_held(scope, held)?,
        }
    } else {
        StepKind::Act(lower_action(scope, &step.value)?)
    };
    Some((
        presence,
        Step {
            line: step.place.line,
            kind,
        },
    ))
}

fn check_form(scope: &Scope<'_>, step: &Located<StepDocument>) -> Option<()> {
    let document = &step.value;
    let choices = [
        ("start", document.start.is_some()),
        ("send", document.send.is_some()),
        ("await", document.awaited.is_some()),
        ("approve", document.approve.is_some()),
        ("reject", document.reject.is_some()),
        ("cancel", document.cancel.is_some()),
        ("stop", document.stop.is_some()),
        ("launch", document.launch.is_some()),
        ("kill", document.kill.is_some()),
        ("terminate", document.terminate.is_some()),
        ("freeze", document.freeze.is_some()),
        ("thaw", document.thaw.is_some()),
        ("at", document.at.is_some()),
    ];
    if !scope.exactly_one(step.place, "the step", &choices) {
        return None;
    }
    if let Some(actions) = document.actions.as_ref().filter(|_| document.at.is_none()) {
        scope.report(Problem::new(
            actions.place,
            "`do` goes with `at`",
            "nothing is held here",
        ));
    }
    let answers = document.send.is_some()
        || document.approve.is_some()
        || document.reject.is_some()
        || document.cancel.is_some();
    if let Some(accepted) = document.accepted.as_ref().filter(|_| !answers) {
        let message = "`accepted` means nothing here";
        scope.report(Problem::new(
            accepted.place,
            message,
            "belongs to send, approve, reject or cancel",
        ));
    }
    Some(())
}

fn lower_await(scope: &Scope<'_>, awaited: &Located<AwaitDocument>) -> Option<Awaited> {
    match &awaited.value {
        AwaitDocument::Status(status) => Some(Awaited::Status(*status)),
        AwaitDocument::Interrupt { tool, arguments } => Some(Awaited::Interrupt {
            tool: scope.any_tool(tool.as_str())?,
            arguments: arguments.as_ref().map(|arguments| arguments.to_value()),
        }),
        AwaitDocument::Point(document) => {
            point::lower(scope, awaited.place, document).map(Awaited::Point)
        }
    }
}

fn lower_actions(scope: &Scope<'_>, step: &Located<StepDocument>) -> Option<Vec<Action>> {
    let Some(actions) = &step.value.actions else {
        let problem = Problem::new(
            step.place,
            "`at` holds something and lets it go at once",
            "`do` is missing",
        );
        scope.report(problem.with_help("add `do: [{kill: worker}, …]`, or wait with `await`"));
        return None;
    };
    if actions.value.is_empty() {
        scope.report(Problem::new(
            actions.place,
            "`do` is empty",
            "nothing happens",
        ));
    }
    actions
        .value
        .iter()
        .map(|action| lower_held_action(scope, action))
        .collect()
}

fn lower_held_action(scope: &Scope<'_>, action: &Located<StepDocument>) -> Option<Action> {
    check_form(scope, action)?;
    if action.value.at.is_some() || action.value.awaited.is_some() {
        let problem = Problem::new(
            action.place,
            "only actions can stand under `do`",
            "not an action",
        );
        scope.report(problem.with_help("make it a step of its own after this one"));
        return None;
    }
    if let Some(variants) = &action.value.variants {
        let problem = Problem::new(
            variants.place,
            "`in` cannot stand under `do`",
            "belongs to the step",
        );
        scope.report(problem.with_help("write one `at` step for each variant, each with `in`"));
    }
    lower_action(scope, &action.value)
}

fn lower_action(scope: &Scope<'_>, step: &StepDocument) -> Option<Action> {
    let accepted = step.accepted.as_ref().is_none_or(|accepted| accepted.value);
    if let Some(start) = &step.start {
        return Some(Action::StartSession(start.value.message.clone()));
    }
    if let Some(send) = &step.send {
        return Some(Action::Send {
            text: send.value.clone(),
            accepted,
        });
    }
    if let Some(tool) = &step.approve {
        let tool = scope.any_tool(tool.as_str())?;
        return Some(Action::Resolve {
            tool,
            decision: Decision::Approve,
            accepted,
        });
    }
    if let Some(rejected) = &step.reject {
        let tool = scope.any_tool(Located {
            value: rejected.value.tool.as_str(),
            place: rejected.place,
        })?;
        return Some(Action::Resolve {
            tool,
            decision: Decision::Reject(rejected.value.message.clone()),
            accepted,
        });
    }
    if let Some(CancelTarget::Turn) = step.cancel.as_ref().map(|cancel| cancel.value) {
        return Some(Action::CancelTurn { accepted });
    }
    if let Some(WorkerTarget::Worker) = step.stop.as_ref().map(|stop| stop.value) {
        return Some(Action::StopWorker);
    }
    if let Some(WorkerTarget::Worker) = step.launch.as_ref().map(|launch| launch.value) {
        return Some(Action::LaunchWorker);
    }
    let signals: [(_, SignalAction); 4] = [
        (&step.kill, Action::Kill),
        (&step.terminate, Action::Terminate),
        (&step.freeze, Action::Freeze),
        (&step.thaw, Action::Thaw),
    ];
    signals.into_iter().find_map(|(target, action)| {
        target
            .as_ref()
            .map(|target| action(signalled(target.value)))
    })
}

type SignalAction = fn(Target) -> Action;

fn signalled(target: SignalTarget) -> Target {
    match target {
        SignalTarget::Worker => Target::WorkerTree,
        SignalTarget::WorkerOnly => Target::WorkerOnly,
        SignalTarget::Cli => Target::Cli,
    }
}
