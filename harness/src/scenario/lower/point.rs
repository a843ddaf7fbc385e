//! Observation points.

use super::scope::Scope;
use crate::scenario::problem::{Problem, suggest};
use crate::scenario::source::{ApiMoment, Located, Place, PointDocument};
use crate::scenario::{GatePhase, Point, RunnerPhase, Subject, ToolPhase};

const STEP_TYPES: [&str; 5] = [
    "RunModel",
    "AwaitToolApproval",
    "CallTool",
    "CallSingleAttemptTool",
    "ResumeTurn",
];

pub(crate) fn lower(scope: &Scope<'_>, place: Place, document: &PointDocument) -> Option<Point> {
    let choices = [
        ("api", document.api.is_some()),
        ("frame", document.frame.is_some()),
        ("cli", document.cli.is_some()),
        ("tool", document.tool.is_some()),
        ("step", document.step.is_some()),
        ("runner", document.runner.is_some()),
    ];
    if !scope.exactly_one(place, "the observation", &choices) {
        return None;
    }
    refuse_strays(scope, document);
    Some(Point {
        subject: subject(scope, place, document)?,
        nth: scope.ordinal(document.nth.as_ref(), "nth"),
        spawn: scope.ordinal(document.spawn.as_ref(), "spawn"),
        matching: document
            .matching
            .iter()
            .map(|(name, node)| (name.value.clone(), node.to_value()))
            .collect(),
    })
}

/// A point that can be held; the reason why not is reported.
pub(crate) fn lower_held(scope: &Scope<'_>, document: &Located<PointDocument>) -> Option<Point> {
    let point = lower(scope, document.place, &document.value)?;
    if !point.can_hold() {
        let problem = Problem::new(
            document.place,
            format!("{point} cannot be held"),
            "only observed",
        );
        scope.report(problem.with_help(match &point.subject {
            Subject::Tool { .. } => "hold `called` or `effect_done`, or wait for this with `await`",
            Subject::Cli(_) => "hold `spawned`, or wait for this with `await`",
            _ => "wait for it with `await`",
        }));
        return None;
    }
    Some(point)
}

fn refuse_strays(scope: &Scope<'_>, document: &PointDocument) {
    let is_event = document
        .api
        .as_ref()
        .is_some_and(|api| api.value == ApiMoment::Event);
    let has_frame = document.frame.is_some();
    let has_phase = document.tool.is_some() || document.step.is_some() || document.runner.is_some();
    let stray = |key: &str, place: Option<Place>, belongs: bool, owner: &str| {
        if let Some(place) = place.filter(|_| !belongs) {
            let message = format!("`{key}` means nothing here");
            scope.report(Problem::new(place, message, format!("belongs to {owner}")));
        }
    };
    let place = |field: &Option<Located<String>>| field.as_ref().map(|field| field.place);
    stray(
        "type",
        place(&document.event_type),
        has_frame || is_event,
        "`frame` or `api: event`",
    );
    stray("subtype", place(&document.subtype), has_frame, "`frame`");
    stray(
        "phase",
        place(&document.phase),
        has_phase,
        "`tool`, `step` or `runner`",
    );
}

fn subject(scope: &Scope<'_>, place: Place, document: &PointDocument) -> Option<Subject> {
    let text = |field: &Option<Located<String>>| field.as_ref().map(|field| field.value.clone());
    if let Some(api) = &document.api {
        return match (api.value, &document.event_type) {
            (ApiMoment::Request, _) => Some(Subject::ApiRequest),
            (ApiMoment::Event, Some(event)) => Some(Subject::ApiEvent {
                event: event.value.clone(),
            }),
            (ApiMoment::Event, None) => missing(scope, place, "type", "such as `message_stop`"),
        };
    }
    if let Some(frame) = &document.frame {
        return Some(Subject::Frame {
            direction: frame.value,
            frame_type: text(&document.event_type),
            subtype: text(&document.subtype),
        });
    }
    if let Some(cli) = &document.cli {
        return Some(Subject::Cli(cli.value));
    }
    if let Some(tool) = &document.tool {
        let name = scope.custom_tool(tool.as_str());
        let phases = [ToolPhase::Called, ToolPhase::EffectDone, ToolPhase::Replied];
        let phase = phase(scope, place, document, &phases, ToolPhase::wire_name);
        return Some(Subject::Tool {
            tool: name?,
            phase: phase?,
        });
    }
    if let Some(step) = &document.step {
        let known = STEP_TYPES.contains(&step.value.as_str());
        if !known {
            scope.report(Problem::unknown(
                step.place,
                "Step type",
                &step.value,
                STEP_TYPES,
            ));
        }
        let phases = [
            GatePhase::BeforePerform,
            GatePhase::Performed,
            GatePhase::BeforeCommit,
            GatePhase::Committed,
        ];
        let at = phase(scope, place, document, &phases, GatePhase::wire_name)?;
        return known.then(|| Subject::Gate {
            step: step.value.clone(),
            at,
        });
    }
    let method = document.runner.as_ref()?;
    let phases = [
        RunnerPhase::Sent,
        RunnerPhase::Answered,
        RunnerPhase::Received,
    ];
    let phase = phase(scope, place, document, &phases, RunnerPhase::wire_name)?;
    Some(Subject::Runner {
        method: method.value.clone(),
        phase,
    })
}

fn phase<T: Copy>(
    scope: &Scope<'_>,
    place: Place,
    document: &PointDocument,
    phases: &[T],
    name: impl Fn(T) -> String,
) -> Option<T> {
    let names: Vec<String> = phases.iter().map(|phase| name(*phase)).collect();
    let Some(written) = &document.phase else {
        return missing(
            scope,
            place,
            "phase",
            &format!("one of {}", names.join(", ")),
        );
    };
    let found = phases
        .iter()
        .zip(&names)
        .find(|(_, name)| **name == written.value)
        .map(|(phase, _)| *phase);
    if found.is_none() {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let problem = Problem::new(
            written.place,
            format!("unknown phase `{}`", written.value),
            "unknown phase",
        );
        scope.report(problem.with_help(suggest(&written.value, &known)));
    }
    found
}

fn missing<T>(scope: &Scope<'_>, place: Place, key: &str, what: &str) -> Option<T> {
    let problem = Problem::new(
        place,
        format!("the key `{key}` is missing"),
        "missing in this mapping",
    );
    scope.report(problem.with_help(format!("add `{key}: …`, {what}")));
    None
}
