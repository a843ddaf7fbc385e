//! What a tool of an MCP server returned, as the model sees it.

use serde_json::{Value, json};

/// The result of a call, before it becomes a `tool_result` block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallOutcome {
    Content {
        content: Value,
        /// What hosts and hooks see.
        structured: Value,
    },
    Error(String),
}

/// Reads a `tools/call` result (observed on CLI 2.1.316).
pub(crate) fn read_call_result(tool: &str, result: &Value) -> CallOutcome {
    let blocks: Vec<Value> = result["content"]
        .as_array()
        .into_iter()
        .flatten()
        .map(content_block)
        .collect();
    if result["isError"] == true {
        let texts: Vec<&str> = blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect();
        return CallOutcome::Error(texts.join("\n"));
    }
    if let Some(structured) = result
        .get("structuredContent")
        .filter(|value| !value.is_null())
    {
        let content = json!(structured.to_string());
        return CallOutcome::Content {
            structured: json!({"content": content, "structuredContent": structured}),
            content,
        };
    }
    let structured = Value::Array(blocks);
    let content = if structured == json!([]) {
        json!(format!("({tool} completed with no output)"))
    } else {
        structured.clone()
    };
    CallOutcome::Content {
        content,
        structured,
    }
}

fn content_block(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("image") => json!({
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": block["mimeType"],
                "data": block["data"],
            },
        }),
        _ => block.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_follow_the_observed_rules() {
        let read = |result: Value| match read_call_result("mcp__s__t", &result) {
            CallOutcome::Content { content, .. } => content,
            CallOutcome::Error(text) => json!({"error": text}),
        };
        let text = json!([{"type": "text", "text": "done"}]);
        assert_eq!(read(json!({"content": text})), text);
        assert_eq!(
            read(json!({"content": text, "isError": true})),
            json!({"error": "done"})
        );
        assert_eq!(
            read(json!({"content": text, "structuredContent": {"a": 1}})),
            json!("{\"a\":1}")
        );
        assert_eq!(
            read(json!({"content": []})),
            json!("(mcp__s__t completed with no output)")
        );
    }
}
