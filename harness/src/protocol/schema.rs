//! The JSON Schema of the runner protocol.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::*;

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The harness.
    Harness,
    /// The runner.
    Runner,
}

/// One method of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Who sends it.
    pub sender: Sender,
    /// The name of the type of its parameters; `None` for `{}`.
    pub params: Option<&'static str>,
    /// The name of the type of its result: `Some(None)` for `{}`, `None` for a notification.
    pub result: Option<Option<&'static str>>,
    /// What it is for, in one line.
    pub purpose: &'static str,
}

const fn request(
    name: &'static str,
    sender: Sender,
    params: Option<&'static str>,
    result: Option<&'static str>,
    purpose: &'static str,
) -> Method {
    Method {
        name,
        sender,
        params,
        result: Some(result),
        purpose,
    }
}

const fn notification(name: &'static str, params: &'static str, purpose: &'static str) -> Method {
    Method {
        name,
        sender: Sender::Runner,
        params: Some(params),
        result: None,
        purpose,
    }
}

/// Every method of version 1, in the order in which a runner usually meets them.
pub const METHODS: &[Method] = {
    use Sender::{Harness, Runner};
    &[
        request(
            "initialize",
            Harness,
            Some("InitializeParams"),
            Some("InitializeResult"),
            "The first request to each process: what it is for, and who it is",
        ),
        request(
            "agent/define",
            Harness,
            Some("AgentDefinition"),
            None,
            "The agent to build",
        ),
        request(
            "worker/start",
            Harness,
            None,
            None,
            "From now on, work on whatever is due",
        ),
        request(
            "worker/stop",
            Harness,
            None,
            None,
            "Finish what is in flight, take nothing new, lose nothing",
        ),
        request(
            "session/start",
            Harness,
            Some("SessionStartParams"),
            None,
            "Start a session, with or without a first message",
        ),
        request(
            "session/send",
            Harness,
            Some("SessionSendParams"),
            Some("Accepted"),
            "A user message",
        ),
        request(
            "session/resolve",
            Harness,
            Some("SessionResolveParams"),
            Some("Accepted"),
            "A person's answer to a pending interrupt",
        ),
        request(
            "session/cancel",
            Harness,
            Some("SessionParams"),
            Some("Accepted"),
            "Cancel the turn",
        ),
        request(
            "session/snapshot",
            Harness,
            Some("SessionParams"),
            Some("Snapshot"),
            "The session as it is",
        ),
        request("shutdown", Harness, None, None, "Answer, then exit with 0"),
        request(
            "tool/call",
            Runner,
            Some("ToolCallParams"),
            Some("ToolCallResult"),
            "A handler of a custom tool was entered",
        ),
        request(
            "hook/call",
            Runner,
            Some("HookCallParams"),
            Some("HookCallResult"),
            "An application hook was called",
        ),
        request(
            "options/call",
            Runner,
            Some("OptionsCallParams"),
            Some("OptionsCallResult"),
            "The options of this attempt are needed (capability `options_factory`)",
        ),
        request(
            "step/gate",
            Runner,
            Some("StepGateParams"),
            None,
            "A Step is at a commit boundary and waits (capability `gates`)",
        ),
        notification("event", "EventParams", "A live event (capability `events`)"),
        notification(
            "session/changed",
            "SessionChangedParams",
            "A session's snapshot has changed",
        ),
    ]
};

/// The schema: every type under `$defs`, and under `methods` who sends what.
#[must_use]
pub fn protocol_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    register::<InitializeParams>(&mut generator);
    register::<InitializeResult>(&mut generator);
    register::<AgentDefinition>(&mut generator);
    register::<SessionStartParams>(&mut generator);
    register::<SessionSendParams>(&mut generator);
    register::<SessionResolveParams>(&mut generator);
    register::<SessionParams>(&mut generator);
    register::<Accepted>(&mut generator);
    register::<Snapshot>(&mut generator);
    register::<ToolCallParams>(&mut generator);
    register::<ToolCallResult>(&mut generator);
    register::<HookCallParams>(&mut generator);
    register::<HookCallResult>(&mut generator);
    register::<OptionsCallParams>(&mut generator);
    register::<OptionsCallResult>(&mut generator);
    register::<StepGateParams>(&mut generator);
    register::<EventParams>(&mut generator);
    register::<SessionChangedParams>(&mut generator);
    let mut definitions = generator.take_definitions(true);
    definitions.sort_keys();
    let methods: Map<String, Value> = METHODS
        .iter()
        .map(|method| (method.name.to_owned(), described(method)))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Runner protocol",
        "description": "JSON-RPC 2.0 over stdin and stdout, one message a line, both ways.",
        "protocol_version": PROTOCOL_VERSION,
        "methods": methods,
        "$defs": definitions,
    })
}

fn register<T: JsonSchema>(generator: &mut SchemaGenerator) {
    let _ = generator.subschema_for::<T>();
}

fn described(method: &Method) -> Value {
    let reference = |name: Option<&str>| match name {
        Some(name) => json!({"$ref": format!("#/$defs/{name}")}),
        None => json!({"type": "object", "maxProperties": 0}),
    };
    let mut described = json!({
        "sender": match method.sender {
            Sender::Harness => "harness",
            Sender::Runner => "runner",
        },
        "purpose": method.purpose,
        "params": reference(method.params),
    });
    if let Some(result) = method.result {
        described["result"] = reference(result);
    }
    described
}
