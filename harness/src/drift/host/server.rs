//! The SDK MCP server of a case, behind control frames.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answers::{Answer, call_answer, listed_tool, nth, rpc_error, rpc_result};
use crate::drift::corpus::{CallAnswer, ServerAnswer, ServerDocument, ToolDocument};

/// The server named `tools`.
pub(super) struct ToolServer<'a> {
    tools: BTreeMap<&'a str, &'a ToolDocument>,
    behaviour: &'a ServerDocument,
    calls: BTreeMap<String, usize>,
}

impl<'a> ToolServer<'a> {
    pub(super) fn new(
        tools: &'a BTreeMap<String, ToolDocument>,
        behaviour: &'a ServerDocument,
    ) -> Self {
        let has = |name: &str| {
            behaviour
                .tools
                .as_ref()
                .is_none_or(|listed| listed.iter().any(|tool| tool == name))
        };
        let tools = tools
            .iter()
            .map(|(name, tool)| (name.as_str(), tool))
            .filter(|(name, _)| has(name))
            .collect();
        Self {
            tools,
            behaviour,
            calls: BTreeMap::new(),
        }
    }

    pub(super) fn answer(&mut self, message: &Value) -> Answer {
        let id = &message["id"];
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => by_behaviour(self.behaviour.initialize, id, || {
                json!({
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": false}},
                    "serverInfo": {"name": "tools", "version": "1.0.0"},
                })
            }),
            "tools/list" => by_behaviour(
                self.behaviour.list,
                id,
                || json!({"tools": self.tools.iter().map(|(name, tool)| listed_tool(name, tool)).collect::<Vec<_>>()}),
            ),
            "tools/call" => self.call(message),
            notification if notification.starts_with("notifications/") => {
                Answer::Success(json!({"mcp_response": {"jsonrpc": "2.0", "result": {}}}))
            }
            method => rpc_error(id, -32601, &format!("method not found: {method}")),
        }
    }

    fn call(&mut self, message: &Value) -> Answer {
        let name = message["params"]["name"].as_str().unwrap_or_default();
        let Some(tool) = self.tools.get(name) else {
            return rpc_error(&message["id"], -32602, &format!("unknown tool: {name}"));
        };
        let calls = self.calls.entry(name.to_owned()).or_default();
        let answer = nth(&tool.returns, *calls).unwrap_or(&CallAnswer::Never);
        *calls += 1;
        call_answer(answer, &message["id"])
    }
}

fn by_behaviour(behaviour: ServerAnswer, id: &Value, result: impl FnOnce() -> Value) -> Answer {
    match behaviour {
        ServerAnswer::Answer => rpc_result(id, &result()),
        ServerAnswer::Error => rpc_error(id, -32000, "out of order"),
        ServerAnswer::Never => Answer::Silence,
    }
}
