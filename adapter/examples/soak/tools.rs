//! The agent of a worker process; its tools write to a ledger that every process shares.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use adapter::{
    ClaudeAgent, ClaudeAgentOptions, EmbeddedEngine, OptionsContext, Tool, ToolEffect, ToolError,
    ToolOutput, ToolPolicy, Worker, current_deferred_tool_execution,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;

use crate::Failure;

/// One run of a handler.
#[derive(Serialize, Deserialize)]
pub(crate) struct Effect {
    pub(crate) tool: String,
    pub(crate) item: String,
    pub(crate) key: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Input {
    item: String,
}

pub(crate) fn ledger_path(directory: &Path) -> PathBuf {
    directory.join("ledger")
}

pub(crate) async fn work(directory: &Path, cli: &Path) -> Result<(), Failure> {
    let engine = EmbeddedEngine::open(directory.join("state"))?;
    let worker = Worker::builder(&engine, &agent(directory, cli)?).start();
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    worker.stop().await?;
    // The runtime's reading thread would wait for more.
    std::process::exit(0);
}

fn agent(directory: &Path, cli: &Path) -> Result<ClaudeAgent, Failure> {
    let home = directory.join("home");
    std::fs::create_dir_all(&home)?;
    let options = ClaudeAgentOptions {
        tools: Some(Vec::new()),
        setting_sources: Some(Vec::new()),
        cwd: Some(home.clone()),
        env: BTreeMap::from([("HOME".to_owned(), home.to_string_lossy().into_owned())]),
        extra_args: BTreeMap::from([("prompt-commands".to_owned(), None)]),
        ..ClaudeAgentOptions::default()
    };
    let publish = ToolPolicy::new(ToolEffect::NonIdempotentWrite);
    Ok(
        ClaudeAgent::builder(move |_: OptionsContext| Ok(options.clone()))
            .cli(cli)
            .tool(tool("publish", directory))
            .tool_policy("publish", publish)
            .tool(tool("post", directory))
            .tool_policy("post", publish.without_approval())
            .tool(tool("store", directory))
            .tool_policy("store", ToolPolicy::new(ToolEffect::IdempotentWrite))
            .tool(tool("look_up", directory))
            .tool_policy("look_up", ToolPolicy::new(ToolEffect::Read))
            .build()?,
    )
}

fn tool(name: &'static str, directory: &Path) -> Tool {
    let ledger = ledger_path(directory);
    Tool::typed(name, "Writes to the ledger", move |input: Input| {
        let entered = enter(&ledger, name, input.item);
        async move {
            entered?;
            // A worker that is killed now has had the effect and tells nobody.
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            Ok(ToolOutput::text("done"))
        }
    })
}

fn enter(ledger: &Path, tool: &str, item: String) -> Result<(), ToolError> {
    let effect = Effect {
        tool: tool.to_owned(),
        item,
        key: current_deferred_tool_execution().map(|execution| execution.idempotency_key),
    };
    let mut line = serde_json::to_vec(&effect)?;
    line.push(b'\n');
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(ledger)
        .and_then(|mut file| file.write_all(&line));
    written.map_err(|error| ToolError::new(error.to_string()))
}
