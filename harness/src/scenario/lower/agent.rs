//! The agent and what its tools do.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::scope::Scope;
use crate::protocol::{
    AgentDefinition, AgentOptions, HookDefinition, ToolDefinition, ToolPolicy, ToolSource,
};
use crate::scenario::ToolBehaviour;
use crate::scenario::problem::Problem;
use crate::scenario::source::{
    AgentDocument, Entries, Located, Node, OptionsDocument, ToolDocument,
};

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// What the runner is told, and what the harness does when a tool is called.
pub(crate) struct Agent {
    pub(crate) definition: AgentDefinition,
    pub(crate) behaviours: BTreeMap<String, ToolBehaviour>,
}

pub(crate) fn lower(scope: &Scope<'_>, document: &AgentDocument) -> Agent {
    let mut behaviours = BTreeMap::new();
    let mut lower_tools = |tools: &Entries<ToolDocument>| {
        let mut definitions = Vec::new();
        for (name, tool) in tools.iter() {
            if let Some(behaviour) = behaviour(scope, name, tool)
                && behaviours.insert(name.value.clone(), behaviour).is_some()
            {
                let message = format!("the tool `{}` is defined twice", name.value);
                scope.report(Problem::new(name.place, message, "second time"));
            }
            definitions.push(definition(scope, name, tool));
        }
        definitions
    };
    let definition = AgentDefinition {
        tools: lower_tools(&document.tools),
        tool_sources: document
            .tool_sources
            .iter()
            .map(|(name, tools)| ToolSource {
                name: name.value.clone(),
                tools: lower_tools(tools),
            })
            .collect(),
        tool_policies: document
            .tool_policies
            .iter()
            .map(|(name, policy)| {
                (
                    name.clone(),
                    ToolPolicy {
                        effect: policy.effect,
                        approval: policy.approval,
                    },
                )
            })
            .collect(),
        options: options(&document.options),
        hooks: document
            .hooks
            .iter()
            .map(|hook| HookDefinition {
                event: hook.event.clone(),
                matcher: hook.matcher.clone(),
            })
            .collect(),
    };
    Agent {
        definition,
        behaviours,
    }
}

fn options(document: &OptionsDocument) -> AgentOptions {
    AgentOptions {
        model: document.model.clone(),
        system_prompt: document.system_prompt.clone(),
        permission_mode: Some(document.permission_mode.clone()),
        built_in_tools: document.built_in_tools.clone(),
        allowed_tools: document.allowed_tools.clone(),
        disallowed_tools: document.disallowed_tools.clone(),
        cwd: String::new(),
        env: document.env.clone(),
        max_attempts: document.max_attempts,
        retry_backoff_ms: Some(document.retry_backoff_ms),
    }
}

fn definition(scope: &Scope<'_>, name: &Located<String>, tool: &ToolDocument) -> ToolDefinition {
    ToolDefinition {
        name: name.value.clone(),
        description: tool
            .description
            .clone()
            .unwrap_or_else(|| format!("The tool {}", name.value)),
        input_schema: tool
            .input
            .as_ref()
            .map_or_else(|| schema_of(&[]), |input| input_schema(scope, input)),
        effect: tool.effect,
        approval: tool.approval,
        annotations: tool.annotations.clone(),
    }
}

/// A type for each name, or a whole schema: `type: object` tells them apart.
fn input_schema(scope: &Scope<'_>, input: &Node) -> Map<String, Value> {
    if input.get("type").and_then(Node::text) == Some("object") {
        return whole_schema(scope, input);
    }
    for (name, node) in input.entries() {
        if !node.text().is_some_and(|text| TYPES.contains(&text)) {
            let message = format!("the argument `{}` has no type", name.value);
            let problem = Problem::new(node.place, message, "not a type");
            scope.report(problem.with_help(format!(
                "write one of {}, or give a whole JSON Schema with `type: object`",
                TYPES.join(", ")
            )));
        }
    }
    if input.entries().is_empty() && input.to_value() != json!({}) {
        scope.report(Problem::new(
            input.place,
            "`input` is a mapping from names to types",
            "wrong type",
        ));
    }
    let arguments: Vec<(&str, Value)> = input
        .entries()
        .iter()
        .map(|(name, node)| (name.value.as_str(), node.to_value()))
        .collect();
    schema_of(&arguments)
}

fn schema_of(arguments: &[(&str, Value)]) -> Map<String, Value> {
    let properties: Map<String, Value> = arguments
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({"type": kind})))
        .collect();
    let required: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), json!(required)),
        ("additionalProperties".to_owned(), json!(false)),
    ])
}

fn whole_schema(scope: &Scope<'_>, input: &Node) -> Map<String, Value> {
    let schema = input.to_value();
    if let Err(error) = jsonschema::validator_for(&schema) {
        let message = format!("`input` is no JSON Schema: {error}");
        scope.report(Problem::new(input.place, message, "not a schema"));
    }
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn behaviour(
    scope: &Scope<'_>,
    name: &Located<String>,
    tool: &ToolDocument,
) -> Option<ToolBehaviour> {
    let choices = [
        ("returns", tool.returns.is_some()),
        ("fails", tool.fails.is_some()),
        ("raises", tool.raises.is_some()),
    ];
    if !scope.exactly_one(name.place, &format!("the tool `{}`", name.value), &choices) {
        return None;
    }
    for text in [&tool.returns, &tool.fails, &tool.raises]
        .into_iter()
        .flatten()
    {
        check_placeholders(scope, text, tool);
    }
    if let Some(text) = &tool.returns {
        return Some(ToolBehaviour::Returns(text.value.clone()));
    }
    if let Some(text) = &tool.fails {
        return Some(ToolBehaviour::Fails(text.value.clone()));
    }
    tool.raises
        .as_ref()
        .map(|text| ToolBehaviour::Raises(text.value.clone()))
}

/// `{name}` must be an argument; other braces are text.
fn check_placeholders(scope: &Scope<'_>, text: &Located<String>, tool: &ToolDocument) {
    let known = argument_names(tool);
    for piece in text.value.split('{').skip(1) {
        let Some((name, _)) = piece.split_once('}') else {
            continue;
        };
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_');
        if is_name && !known.contains(&name) {
            scope.report(Problem::unknown(
                text.place,
                "argument",
                name,
                known.iter().copied(),
            ));
        }
    }
}

fn argument_names(tool: &ToolDocument) -> Vec<&str> {
    let Some(input) = &tool.input else {
        return Vec::new();
    };
    let arguments = match input.get("properties") {
        Some(properties) if input.get("type").and_then(Node::text) == Some("object") => properties,
        _ => input,
    };
    arguments
        .entries()
        .iter()
        .map(|(name, _)| name.value.as_str())
        .collect()
}
