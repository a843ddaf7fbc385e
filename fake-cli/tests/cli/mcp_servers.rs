//! Servers that are processes of their own.

use serde_json::json;

use super::api::{Api, call, says, text};
use super::host::{Place, Run};

/// A server with one tool, in a few lines of shell.
const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*) result='{"tools":[{"name":"greet","description":"Greets","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"hello from '"$GREETER"'"}]}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[tokio::test]
async fn a_tool_of_a_server_process_is_called() {
    let greet = call("toolu_01", "mcp__local__greet", &json!({}));
    let api = Api::replying([says(&[greet]), says(&[text("Done.")])]).await;
    let config = json!({"mcpServers": {"local": {
        "command": "/bin/sh",
        "args": ["-c", SERVER],
        "env": {"GREETER": "the shell"},
    }}});
    let mut run = Run::prompt("go").deciding("allow");
    run.servers = false;
    let run = run.with(&["--mcp-config", &config.to_string()]);
    let outcome = Place::new(&api).run(run).await;
    let results = outcome.tool_results();
    assert_eq!(
        results[0]["content"][0]["text"], "hello from the shell",
        "{}",
        outcome.stderr
    );
    let init = outcome
        .frames
        .iter()
        .find(|frame| frame["subtype"] == "init")
        .unwrap();
    assert_eq!(
        init["mcp_servers"],
        json!([{"name": "local", "status": "connected"}])
    );
}

#[tokio::test]
async fn a_server_that_does_not_start_has_failed() {
    let api = Api::replying([says(&[text("Hello.")])]).await;
    let config = json!({"mcpServers": {"local": {"command": "/no/such/program"}}});
    let mut run = Run::prompt("hi");
    run.servers = false;
    let run = run.with(&["--mcp-config", &config.to_string()]);
    let outcome = Place::new(&api).run(run).await;
    let init = outcome
        .frames
        .iter()
        .find(|frame| frame["subtype"] == "init")
        .unwrap();
    assert_eq!(init["mcp_servers"][0]["status"], "failed");
    assert_eq!(outcome.result()["result"], "Hello.");
}
