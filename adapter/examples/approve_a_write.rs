//! An agent whose one tool asks a person first.
//!
//! ```text
//! cargo run --example approve_a_write -- "Publish: all is well." [state directory]
//! ```
//!
//! The CLI is `claude` on the search path, or what `CLAUDE_CLI` names; its credentials come from
//! the environment, as for any program of the agent SDK. With `ANTHROPIC_BASE_URL` it talks to any
//! server that speaks the Messages API, such as a scripted one.
//!
//! Stop the program while it asks and start it again with the same state directory: it asks again,
//! and what was approved runs once.

use std::io::{BufRead as _, Write as _};

use adapter::{
    ClaudeAgent, ClaudeAgentOptions, EmbeddedEngine, EngineError, OptionsContext, Resolution,
    SessionClient, SessionStatus, Tool, ToolEffect, ToolOutput, ToolPolicy, Worker,
    current_deferred_tool_execution,
};
use schemars::JsonSchema;
use serde::Deserialize;

const SESSION: &str = "example";

#[derive(Deserialize, JsonSchema)]
struct Publish {
    /// What the world is to read.
    message: String,
}

fn agent() -> Result<ClaudeAgent, Box<dyn std::error::Error>> {
    let publish = Tool::typed(
        "publish",
        "Publish a message",
        |input: Publish| async move {
            let key = current_deferred_tool_execution().map(|execution| execution.idempotency_key);
            println!("[published under key {key:?}] {}", input.message);
            Ok(ToolOutput::text("published"))
        },
    );
    let cli = std::env::var_os("CLAUDE_CLI").unwrap_or_else(|| "claude".into());
    Ok(ClaudeAgent::builder(|_: OptionsContext| {
        Ok(ClaudeAgentOptions {
            system_prompt: Some("You publish what you are asked to publish.".to_owned()),
            tools: Some(Vec::new()),
            setting_sources: Some(Vec::new()),
            ..ClaudeAgentOptions::default()
        })
    })
    .cli(cli)
    .tool(publish)
    .tool_policy("publish", ToolPolicy::new(ToolEffect::NonIdempotentWrite))
    .build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let message = arguments
        .next()
        .ok_or("the first argument is the message")?;
    let state = arguments
        .next()
        .unwrap_or_else(|| ".agent-state".to_owned());
    let engine = EmbeddedEngine::open(state)?;
    let client = SessionClient::new(&engine);
    let mut changes = client.changes().await?;
    match client.start(SESSION, Some(message)).await {
        Ok(()) | Err(EngineError::SessionExists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let worker = Worker::builder(&engine, &agent()?).start();
    loop {
        let snapshot = client.snapshot(SESSION).await?;
        for interrupt in &snapshot.pending_interrupts {
            let resolution = ask(&interrupt.tool, &interrupt.arguments.to_string())?;
            client
                .resolve(SESSION, &interrupt.interrupt_id, resolution)
                .await?;
        }
        if snapshot.status == SessionStatus::Idle {
            for message in &snapshot.messages {
                println!("{}: {}", message.role.as_str(), message.text);
            }
            if let Some(error) = snapshot.last_turn_error {
                eprintln!("the turn failed: {error}");
            }
            break;
        }
        if snapshot.pending_interrupts.is_empty() {
            changes.recv().await?;
        }
    }
    worker.stop().await?;
    Ok(())
}

fn ask(tool: &str, arguments: &str) -> std::io::Result<Resolution> {
    print!("Run {tool} with {arguments}? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(if answer.trim() == "y" {
        Resolution::Approved
    } else {
        Resolution::Rejected { message: None }
    })
}
