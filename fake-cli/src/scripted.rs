//! Replies without any API: the prompt itself says what the model is to do.
//!
//! Every line of a prompt is a command; a line that is none is said back. A `call` ends a reply; what
//! follows it belongs to the reply after its result.

use serde_json::{Value, json};

/// The commands, for the help text.
pub(crate) const COMMANDS: &str = "\
  say TEXT           the model says TEXT
  recall             the model says every earlier prompt, one a line
  call TOOL [JSON]   the model calls TOOL with JSON as its input, and later says its result
  stall              the model never answers
  fail [STATUS]      the request fails with STATUS, 500 if none is given";

/// What a scripted model does next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScriptedReply {
    Blocks(Vec<Value>),
    Stall,
    Fail(u16),
}

/// Decides the next reply from the conversation alone.
pub(crate) fn next_reply(entries: &[Value]) -> ScriptedReply {
    let prompts: Vec<(usize, String)> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry["type"] == "user" && entry["isMeta"] != true)
        .filter_map(|(index, entry)| Some((index, prompt_text(&entry["message"]["content"])?)))
        .collect();
    let Some((position, prompt)) = prompts.last() else {
        return ScriptedReply::Blocks(vec![say("")]);
    };
    let results: Vec<String> = entries[*position..]
        .iter()
        .filter_map(result_text)
        .collect();
    let earlier: Vec<&str> = prompts
        .iter()
        .rev()
        .skip(1)
        .rev()
        .map(|(_, text)| text.as_str())
        .collect();
    let mut lines = prompt.lines();
    for _ in 0..results.len() {
        // Everything up to the call that is answered already has been said.
        lines.by_ref().find(|line| line.starts_with("call "));
    }
    let mut blocks = Vec::new();
    for line in lines {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "say" => blocks.push(say(rest)),
            "recall" => blocks.push(say(&earlier.join("\n"))),
            "call" => {
                blocks.push(call(rest, prompts.len(), results.len()));
                return ScriptedReply::Blocks(blocks);
            }
            "stall" => return ScriptedReply::Stall,
            "fail" => return ScriptedReply::Fail(rest.trim().parse().unwrap_or(500)),
            _ => blocks.push(say(line)),
        }
    }
    if blocks.is_empty() {
        blocks.push(say(results.last().map_or("", String::as_str)));
    }
    ScriptedReply::Blocks(blocks)
}

/// The words of a prompt, those of several blocks on lines of their own; `None` for a result.
fn prompt_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .filter_map(|block| block["text"].as_str())
                .collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

fn result_text(entry: &Value) -> Option<String> {
    let block = entry["message"]["content"].get(0)?;
    if block["type"] != "tool_result" {
        return None;
    }
    let content = &block["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str());
    Some(text.map_or_else(|| content.to_string(), str::to_owned))
}

fn say(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The id follows from the position alone, so that the same prompts give the same ids.
fn call(command: &str, prompt: usize, step: usize) -> Value {
    let (tool, input) = command.split_once(' ').unwrap_or((command, "{}"));
    let input = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
    json!({
        "type": "tool_use",
        "id": format!("toolu_scripted_{prompt}_{step}"),
        "name": tool,
        "input": input,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(content: Value) -> Value {
        json!({"type": "user", "message": {"content": content}})
    }

    fn texts(reply: ScriptedReply) -> Vec<String> {
        match reply {
            ScriptedReply::Blocks(blocks) => blocks
                .iter()
                .map(|block| block["text"].as_str().unwrap_or("call").to_owned())
                .collect(),
            other => panic!("no blocks: {other:?}"),
        }
    }

    #[test]
    fn commands_are_followed_in_order() {
        let prompt = user(json!("say one\ncall refund {\"order\": 7}\nsay two"));
        let first = next_reply(std::slice::from_ref(&prompt));
        assert_eq!(texts(first), ["one", "call"]);
        let result = user(json!([{"type": "tool_result", "content": "refunded"}]));
        assert_eq!(texts(next_reply(&[prompt, result])), ["two"]);
    }

    #[test]
    fn a_result_is_said_when_nothing_else_is_left() {
        let prompt = user(json!("call refund"));
        let result = user(json!([{"type": "tool_result", "content": [{"text": "refunded"}]}]));
        assert_eq!(texts(next_reply(&[prompt, result])), ["refunded"]);
    }

    #[test]
    fn earlier_prompts_are_recalled() {
        let entries = [user(json!("my name is Ada")), user(json!("recall"))];
        assert_eq!(texts(next_reply(&entries)), ["my name is Ada"]);
    }

    #[test]
    fn stalls_and_failures_have_no_blocks() {
        assert_eq!(next_reply(&[user(json!("stall"))]), ScriptedReply::Stall);
        assert_eq!(
            next_reply(&[user(json!("fail 529"))]),
            ScriptedReply::Fail(529)
        );
    }
}
