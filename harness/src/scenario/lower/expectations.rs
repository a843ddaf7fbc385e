//! What must hold at the end.

use super::scope::{Presence, Scope};
use crate::scenario::source::{
    ExpectDocument, FrameCountDocument, LedgerDocument, Located, Node, ToolCallDocument,
    TurnErrorDocument,
};
use crate::scenario::{
    Expectations, ExpectedFrames, ExpectedLedger, ExpectedToolCall, ExpectedTurnError, Point,
    Subject,
};

/// The expectations, and apart from them the frame counts, which can belong to variants.
pub(crate) fn lower(
    scope: &Scope<'_>,
    document: &ExpectDocument,
) -> (Expectations, Vec<(Presence, ExpectedFrames)>) {
    let tool_calls = document.tool_calls.as_ref();
    let expectations = Expectations {
        ledger: document
            .ledger
            .iter()
            .filter_map(|(tool, ledger)| lower_ledger(scope, tool, ledger))
            .collect(),
        tool_calls: tool_calls.map(|calls| {
            calls
                .iter()
                .filter_map(|call| lower_call(scope, call))
                .collect()
        }),
        requests: document.requests,
        segments: document.segments,
        frames: Vec::new(),
        steps: document.steps.clone(),
        last_message: document.last_message.clone(),
        last_turn_error: document.last_turn_error.as_ref().map(|error| match error {
            TurnErrorDocument::None => ExpectedTurnError::None,
            TurnErrorDocument::Contains(text) => ExpectedTurnError::Contains(text.clone()),
        }),
        status: document.status,
    };
    let frames = document
        .frames
        .iter()
        .map(|frames| lower_frames(scope, frames))
        .collect();
    (expectations, frames)
}

fn lower_ledger(
    scope: &Scope<'_>,
    tool: &Located<String>,
    ledger: &LedgerDocument,
) -> Option<(String, ExpectedLedger)> {
    let tool = scope.custom_tool(tool.as_str())?;
    let arguments = ledger
        .arguments
        .as_ref()
        .map(|arguments| arguments.iter().map(Node::to_value).collect());
    Some((
        tool,
        ExpectedLedger {
            effects: ledger.effects,
            calls: ledger.calls,
            arguments,
        },
    ))
}

fn lower_call(scope: &Scope<'_>, call: &ToolCallDocument) -> Option<ExpectedToolCall> {
    Some(ExpectedToolCall {
        tool: scope.any_tool(call.tool.as_str())?,
        outcome: call.outcome,
        output: call.output.clone(),
        arguments: call.arguments.as_ref().map(Node::to_value),
    })
}

fn lower_frames(
    scope: &Scope<'_>,
    frames: &Located<FrameCountDocument>,
) -> (Presence, ExpectedFrames) {
    let document = &frames.value;
    let point = Point {
        subject: Subject::Frame {
            direction: document.frame,
            frame_type: document.frame_type.clone(),
            subtype: document.subtype.clone(),
        },
        nth: None,
        spawn: scope.ordinal(document.spawn.as_ref(), "spawn"),
        matching: document
            .matching
            .iter()
            .map(|(name, node)| (name.value.clone(), node.to_value()))
            .collect(),
    };
    let presence = scope.variants(document.variants.as_ref());
    (
        presence,
        ExpectedFrames {
            line: frames.place.line,
            point,
            count: document.count,
        },
    )
}
