//! From transcript entries to the `messages` of a request: a pure function, so that a resumed
//! session and a running one cannot tell the model different stories.

use serde_json::{Value, json};

use crate::permissions::texts;

/// Whether a tool use has a result.
pub(crate) fn has_tool_result(entries: &[Value], tool_use_id: &str) -> bool {
    entries.iter().any(|entry| {
        entry["message"]["content"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|block| block["type"] == "tool_result" && block["tool_use_id"] == *tool_use_id)
    })
}

/// The `messages` of a request over these entries.
///
/// `system_turns` says whether the model takes messages with the role `system`; if not, what the
/// program has to add is told beside the user's words.
pub(crate) fn api_messages(entries: &[Value], system_turns: bool) -> Vec<Value> {
    let mut turns: Vec<Turn> = Vec::new();
    for entry in entries {
        match entry["type"].as_str() {
            Some("user") => add_user(&mut turns, &entry["message"]["content"]),
            // What the program itself said about a failure is not the model's.
            Some("assistant") if entry["isApiErrorMessage"] == true => {}
            Some("assistant") => add_assistant(&mut turns, &entry["message"]),
            Some("attachment") => add_attachment(&mut turns, entry, system_turns),
            _ => {}
        }
    }
    let turns = pair_tool_uses(turns);
    render(&turns)
}

#[derive(Debug, Clone, PartialEq)]
enum Turn {
    User {
        beside: Vec<String>,
        blocks: Vec<Value>,
    },
    System {
        texts: Vec<String>,
    },
    Assistant {
        message_id: Value,
        blocks: Vec<Value>,
    },
}

/// Words of the user that follow each other, with nothing of the model's between them, are one
/// message; what the program had to say in between comes after it.
fn add_user(turns: &mut Vec<Turn>, content: &Value) {
    let added = match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => return,
    };
    let nearest = turns
        .iter_mut()
        .rev()
        .take_while(|turn| !matches!(turn, Turn::Assistant { .. }))
        .find_map(|turn| match turn {
            Turn::User { blocks, .. } => Some(blocks),
            _ => None,
        });
    match nearest {
        Some(blocks) => join_blocks(blocks, added),
        None => {
            // What was said between a call and its result is told after the result.
            let place = turns
                .iter()
                .rposition(|turn| matches!(turn, Turn::Assistant { .. }))
                .map_or(turns.len(), |reply| reply + 1);
            let user = Turn::User {
                beside: Vec::new(),
                blocks: added,
            };
            turns.insert(place, user);
        }
    }
}

/// A text that another text follows ends in a line break (observed on CLI 2.1.316).
fn join_blocks(blocks: &mut Vec<Value>, added: Vec<Value>) {
    let next_is_text = added.first().is_some_and(|block| block["type"] == "text");
    if let Some(last) = blocks.last_mut()
        && next_is_text
        && let Some(text) = last["text"].as_str()
    {
        let text = format!("{text}\n");
        last["text"] = json!(text);
    }
    blocks.extend(added);
}

fn add_assistant(turns: &mut Vec<Turn>, message: &Value) {
    let added: Vec<Value> = message["content"].as_array().cloned().unwrap_or_default();
    let same = turns.iter_mut().rev().find(|turn| {
        matches!(turn, Turn::Assistant { message_id, .. } if *message_id == message["id"]
            && message_id.is_string())
    });
    match same {
        Some(Turn::Assistant { blocks, .. }) => blocks.extend(added),
        _ => turns.push(Turn::Assistant {
            message_id: message["id"].clone(),
            blocks: added,
        }),
    }
}

fn add_attachment(turns: &mut Vec<Turn>, entry: &Value, system_turns: bool) {
    let Some(rendered) = rendered(entry) else {
        return;
    };
    if entry["renderedRole"] == "system" && system_turns {
        match turns.last_mut() {
            Some(Turn::System { texts }) => texts.push(rendered),
            _ => turns.push(Turn::System {
                texts: vec![rendered],
            }),
        }
        return;
    }
    let nearest = turns.iter_mut().rev().find_map(|turn| match turn {
        Turn::User { beside, .. } => Some(beside),
        _ => None,
    });
    if let Some(beside) = nearest {
        beside.push(rendered);
    }
}

/// What the model is told about an attachment.
fn rendered(entry: &Value) -> Option<String> {
    let parts = entry["rendered"].as_array()?;
    let parts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["content"].as_str())
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The API wants a result for every tool use, directly after it. Calls without one get an error
/// result, a second use of an id is dropped (observed on CLI 2.1.316).
fn pair_tool_uses(turns: Vec<Turn>) -> Vec<Turn> {
    let mut paired: Vec<Turn> = Vec::new();
    let mut unanswered: Vec<Value> = Vec::new();
    for turn in turns {
        match turn {
            Turn::Assistant {
                message_id,
                mut blocks,
            } => {
                close_calls(&mut paired, &mut unanswered);
                let mut seen: Vec<Value> = Vec::new();
                blocks.retain(|block| {
                    let duplicate = block["type"] == "tool_use" && seen.contains(&block["id"]);
                    if block["type"] == "tool_use" {
                        seen.push(block["id"].clone());
                    }
                    !duplicate
                });
                unanswered = seen;
                paired.push(Turn::Assistant { message_id, blocks });
            }
            Turn::User { beside, mut blocks } => {
                let mut answered: Vec<Value> = Vec::new();
                blocks.retain(|block| {
                    if block["type"] != "tool_result" {
                        return true;
                    }
                    let known = unanswered.contains(&block["tool_use_id"]);
                    let first = !answered.contains(&block["tool_use_id"]);
                    answered.push(block["tool_use_id"].clone());
                    known && first
                });
                unanswered.retain(|id| !answered.contains(id));
                let missing = missing_results(&mut unanswered);
                blocks.splice(0..0, missing);
                if !blocks.is_empty() {
                    paired.push(Turn::User { beside, blocks });
                }
            }
            system @ Turn::System { .. } => paired.push(system),
        }
    }
    close_calls(&mut paired, &mut unanswered);
    paired
}

fn close_calls(paired: &mut Vec<Turn>, unanswered: &mut Vec<Value>) {
    let blocks = missing_results(unanswered);
    if !blocks.is_empty() {
        paired.push(Turn::User {
            beside: Vec::new(),
            blocks,
        });
    }
}

fn missing_results(unanswered: &mut Vec<Value>) -> Vec<Value> {
    unanswered
        .drain(..)
        .map(|id| {
            json!({
                "type": "tool_result",
                "tool_use_id": id,
                "content": texts::RESULT_MISSING,
                "is_error": true,
            })
        })
        .collect()
}

/// Older content is sent as plain strings where that is possible; the newest message as blocks whose
/// last one is marked for the cache (observed on CLI 2.1.316).
fn render(turns: &[Turn]) -> Vec<Value> {
    let mut messages: Vec<Value> = turns.iter().map(render_turn).collect();
    if let Some(message) = messages.last_mut() {
        if let Some(text) = message["content"].as_str() {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
        let last = message["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut());
        if let Some(Value::Object(block)) = last {
            block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
        }
    }
    messages
}

fn render_turn(turn: &Turn) -> Value {
    match turn {
        Turn::User { beside, blocks } => {
            let only_text = match blocks.as_slice() {
                [block] if beside.is_empty() && block["type"] == "text" => block["text"].as_str(),
                _ => None,
            };
            if let Some(text) = only_text {
                return json!({"role": "user", "content": text});
            }
            let beside = beside
                .iter()
                .map(|text| json!({"type": "text", "text": format!("{text}\n")}));
            let position = blocks
                .iter()
                .position(|block| block["type"] != "tool_result")
                .unwrap_or(blocks.len());
            let mut content = blocks.clone();
            content.splice(position..position, beside);
            json!({"role": "user", "content": content})
        }
        Turn::System { texts } => {
            json!({"role": "system", "content": texts.join("\n")})
        }
        Turn::Assistant { blocks, .. } => json!({"role": "assistant", "content": blocks}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(content: Value) -> Value {
        json!({"type": "user", "message": {"content": content}})
    }

    fn assistant(id: &str, block: Value) -> Value {
        json!({"type": "assistant", "message": {"id": id, "content": [block]}})
    }

    fn tool_use(id: &str) -> Value {
        json!({"type": "tool_use", "id": id, "name": "refund", "input": {}})
    }

    fn tool_result(id: &str) -> Value {
        json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
    }

    fn told(text: &str) -> Value {
        json!({"type": "attachment", "rendered": [{"content": text}], "renderedRole": "system"})
    }

    #[test]
    fn blocks_of_one_reply_become_one_message() {
        let messages = api_messages(
            &[
                user(json!("go")),
                told("context"),
                assistant("m1", tool_use("one")),
                assistant("m1", tool_use("two")),
                user(json!([tool_result("two")])),
                user(json!([tool_result("one")])),
                user(json!("Continue from where you left off.")),
            ],
            true,
        );
        let roles: Vec<_> = messages
            .iter()
            .map(|message| message["role"].clone())
            .collect();
        assert_eq!(roles, ["user", "system", "assistant", "user"]);
        assert_eq!(messages[0]["content"], "go");
        assert_eq!(
            messages[2]["content"],
            json!([tool_use("one"), tool_use("two")])
        );
        let last = &messages[3]["content"];
        assert_eq!(last[0], tool_result("two"));
        assert_eq!(last[1], tool_result("one"));
        assert_eq!(last[2]["cache_control"], json!({"type": "ephemeral"}));
    }

    #[test]
    fn a_call_without_a_result_is_repaired() {
        let messages = api_messages(
            &[
                user(json!("go")),
                assistant("m1", tool_use("one")),
                user(json!("never mind")),
            ],
            true,
        );
        assert_eq!(messages[2]["content"][0]["content"], texts::RESULT_MISSING);
        assert_eq!(messages[2]["content"][1]["text"], "never mind");
    }

    #[test]
    fn a_model_without_system_turns_is_told_beside_the_prompt() {
        let messages = api_messages(&[user(json!("go")), told("context")], false);
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["content"][0]["text"], "context\n");
        assert_eq!(messages[0]["content"][1]["text"], "go");
    }
}
