//! The model's script: the tools it names are tools of the agent.

use mock_messages_api::Script;

use super::scope::Scope;
use crate::scenario::ModelScript;
use crate::scenario::problem::Problem;
use crate::scenario::source::{Located, Node};

pub(crate) fn lower(scope: &Scope<'_>, script: &Script, source: &Node) -> Option<ModelScript> {
    if source.items().is_empty() {
        scope.report(
            Problem::new(source.place, "the model answers nothing", "empty")
                .with_help("write at least one exchange: `- user: …` with `reply: [{text: …}]`"),
        );
    }
    for exchange in source.items() {
        if let Some(reply) = exchange.get("reply") {
            check_calls(scope, reply);
        }
        check_results(scope, exchange, source);
    }
    // The places of the script's own mistakes are known by now; this only guards against a second reading that differs.
    match Script::from_json(source.to_value()) {
        Ok(_) => Some(ModelScript::new(script.clone(), source.to_value())),
        Err(error) => {
            scope.report(Problem::new(
                source.place,
                error.to_string(),
                "in this script",
            ));
            None
        }
    }
}

fn check_calls(scope: &Scope<'_>, reply: &Node) {
    for attempt in reply.get("attempts").map(Node::items).unwrap_or_default() {
        check_calls(scope, attempt);
    }
    for block in reply.get("content").unwrap_or(reply).items() {
        if let Some(call) = block.get("call") {
            check_tool(scope, call);
        }
    }
}

fn check_results(scope: &Scope<'_>, exchange: &Node, script: &Node) {
    let Some(expected) = exchange
        .get("expect")
        .and_then(|expect| expect.get("tool_result"))
    else {
        return;
    };
    for result in std::iter::once(expected).chain(expected.items()) {
        if let Some(of) = result.get("of") {
            let is_id = of
                .text()
                .is_some_and(|name| name.starts_with("toolu_") || has_id(script, name));
            if !is_id {
                check_tool(scope, of);
            }
        }
    }
}

/// Whether a call anywhere in the script was given this id.
fn has_id(script: &Node, id: &str) -> bool {
    script.get("id").and_then(Node::text) == Some(id)
        || script.items().iter().any(|node| has_id(node, id))
        || script.entries().iter().any(|(_, node)| has_id(node, id))
}

fn check_tool(scope: &Scope<'_>, node: &Node) {
    if let Some(name) = node.text() {
        let _ = scope.any_tool(Located {
            value: name,
            place: node.place,
        });
    }
}
