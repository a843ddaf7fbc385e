//! Standing faults.

use super::point;
use super::scope::{Presence, Scope};
use crate::scenario::problem::Problem;
use crate::scenario::source::{FaultDocument, Located, NodeKind};
use crate::scenario::{CliPhase, Fault, FaultEffect, Point, Subject};

pub(crate) fn lower(
    scope: &Scope<'_>,
    document: &Located<FaultDocument>,
) -> Option<(Presence, Fault)> {
    let fault = &document.value;
    let presence = scope.variants(fault.variants.as_ref());
    let choices = [
        ("argv", fault.argv.is_some()),
        ("hold_until", fault.hold_until.is_some()),
        ("drop", fault.drop.is_some()),
        ("duplicate", fault.duplicate.is_some()),
        ("inject", fault.inject.is_some()),
        ("split", fault.split.is_some()),
        ("reset", fault.reset.is_some()),
        ("truncate", fault.truncate.is_some()),
    ];
    let has_effect = scope.exactly_one(document.place, "the fault", &choices);
    let point = if fault.hold_until.is_some() {
        point::lower_held(scope, &fault.on)
    } else {
        point::lower(scope, fault.on.place, &fault.on.value)
    };
    let effect = if has_effect {
        effect(scope, fault)
    } else {
        None
    };
    let (point, effect) = (point?, effect?);
    check_target(scope, fault, &point, &effect);
    Some((
        presence,
        Fault {
            line: document.place.line,
            point,
            effect,
        },
    ))
}

fn effect(scope: &Scope<'_>, fault: &FaultDocument) -> Option<FaultEffect> {
    if let Some(argv) = &fault.argv {
        return Some(FaultEffect::Argv {
            drop: argv.value.drop.clone(),
            add: argv.value.add.clone(),
        });
    }
    if let Some(points) = &fault.hold_until {
        let until: Option<Vec<Point>> = points
            .value
            .iter()
            .map(|document| point::lower(scope, document.place, &document.value))
            .collect();
        if points.value.is_empty() {
            scope.report(Problem::new(
                points.place,
                "`hold_until` names nothing to wait for",
                "empty",
            ));
        }
        return until.map(FaultEffect::HoldUntil);
    }
    if let Some(times) = &fault.duplicate {
        if times.value < 2 {
            scope.report(Problem::new(
                times.place,
                "`duplicate` is the number of times in all, at least 2",
                "too few",
            ));
        }
        return Some(FaultEffect::Duplicate { times: times.value });
    }
    if let Some(lines) = &fault.inject {
        let lines = lines.value.iter().map(|node| match &node.kind {
            NodeKind::Scalar(value) if value.is_string() => {
                node.text().unwrap_or_default().to_owned()
            }
            _ => node.to_value().to_string(),
        });
        return Some(FaultEffect::Inject {
            lines: lines.collect(),
        });
    }
    if let Some(after) = &fault.split {
        return Some(FaultEffect::Split {
            after: scope.ordinal(Some(after), "split")?,
        });
    }
    let switches = [
        ("drop", &fault.drop, FaultEffect::Drop),
        ("reset", &fault.reset, FaultEffect::Reset),
        ("truncate", &fault.truncate, FaultEffect::Truncate),
    ];
    let (name, switch, effect) = switches
        .into_iter()
        .find(|(_, switch, _)| switch.is_some())?;
    if let Some(off) = switch.as_ref().filter(|switch| !switch.value) {
        scope.report(Problem::new(
            off.place,
            format!("`{name}: false` does nothing"),
            "leave the fault out instead",
        ));
    }
    Some(effect)
}

/// Refuses an effect on something that it cannot have.
fn check_target(scope: &Scope<'_>, fault: &FaultDocument, point: &Point, effect: &FaultEffect) {
    let is_frame = matches!(point.subject, Subject::Frame { .. });
    let is_api = matches!(
        point.subject,
        Subject::ApiRequest | Subject::ApiEvent { .. }
    );
    let (fits, needs) = match effect {
        FaultEffect::Argv { .. } => (
            point.subject == Subject::Cli(CliPhase::Spawned),
            "`cli: spawned`",
        ),
        FaultEffect::HoldUntil(_) => (true, ""),
        FaultEffect::Drop
        | FaultEffect::Duplicate { .. }
        | FaultEffect::Inject { .. }
        | FaultEffect::Split { .. } => (is_frame, "a `frame`"),
        FaultEffect::Reset | FaultEffect::Truncate => (is_api, "`api`"),
    };
    if !fits {
        let message = format!("this fault cannot be applied to {point}");
        scope.report(Problem::new(
            fault.on.place,
            message,
            format!("needs {needs}"),
        ));
    }
}
