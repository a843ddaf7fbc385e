//! One line of a runner, understood or refused.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A message from a runner.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The answer to a request of ours.
    Answer {
        id: u64,
        result: Result<Value, Refusal>,
    },
    /// A request to us.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification.
    Notification { method: String, params: Value },
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Refusal {
    /// JSON-RPC code.
    pub(crate) code: i64,
    /// A sentence.
    pub(crate) message: String,
    /// `data.kind` when the runner gave one.
    #[serde(default)]
    pub(crate) data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    jsonrpc: String,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Refusal>,
}

/// A result that is there may be `null`; only one that is missing is none.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads one line.
///
/// # Errors
/// A fragment that says what the runner did wrong.
pub(super) fn read(line: &str) -> Result<Incoming, String> {
    let envelope: Envelope = serde_json::from_str(line)
        .map_err(|error| format!("it wrote {} ({error})", quoted(line)))?;
    if envelope.jsonrpc != "2.0" {
        return Err(format!(
            "it wrote a message that is not JSON-RPC 2.0: {}",
            quoted(line)
        ));
    }
    let params = envelope.params.unwrap_or(Value::Null);
    match (
        envelope.id,
        envelope.method,
        envelope.result,
        envelope.error,
    ) {
        (Some(id), Some(method), None, None) => Ok(Incoming::Request { id, method, params }),
        (None, Some(method), None, None) => Ok(Incoming::Notification { method, params }),
        (Some(id), None, Some(result), None) => Ok(Incoming::Answer {
            id: own_id(&id)?,
            result: Ok(result),
        }),
        (Some(id), None, None, Some(refusal)) => Ok(Incoming::Answer {
            id: own_id(&id)?,
            result: Err(refusal),
        }),
        _ => Err(format!(
            "it wrote a message that is no request, answer or notification: {}",
            quoted(line)
        )),
    }
}

fn own_id(id: &Value) -> Result<u64, String> {
    id.as_u64()
        .ok_or_else(|| format!("it answered a request with the id {id}, which was never asked"))
}

fn quoted(line: &str) -> String {
    const SHOWN: usize = 200;
    let cut: String = line.chars().take(SHOWN).collect();
    let dots = if cut.len() < line.len() { "…" } else { "" };
    format!("`{cut}{dots}`, which is not a line of the protocol")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_three_kinds() {
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":3,"result":null}"#),
            Ok(Incoming::Answer {
                id: 3,
                result: Ok(Value::Null)
            })
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"tool/call","params":{}}"#),
            Ok(Incoming::Request { .. })
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","method":"event","params":{}}"#),
            Ok(Incoming::Notification { .. })
        ));
    }

    #[test]
    fn names_what_is_wrong() {
        for line in [
            "hello",
            "[1]",
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"method":"x"}"#,
        ] {
            assert!(read(line).is_err(), "{line} was understood");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line in ".*") {
            let _ = read(&line);
        }
    }
}
