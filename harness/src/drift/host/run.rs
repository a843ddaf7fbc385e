//! One process from its start to its end.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::conversation::Conversation;
use super::process::{CliProcess, Happening, Spawn};
use crate::drift::corpus::{Awaited, RunDocument, Step, ToolDocument};
use crate::drift::trace::RunTrace;

/// Starts the CLI and holds the conversation of `run`. Nothing waits longer than `bound`.
pub(in crate::drift) async fn converse(
    spawn: &Spawn,
    run: &RunDocument,
    tools: &BTreeMap<String, ToolDocument>,
    happenings: (UnboundedSender<Happening>, UnboundedReceiver<Happening>),
    bound: Duration,
) -> io::Result<RunTrace> {
    let (sender, receiver) = happenings;
    let process = CliProcess::start(spawn, sender)?;
    let steps = run.steps.clone().unwrap_or_else(|| usual_steps(run));
    Ok(Conversation::new(run, tools, process, receiver, bound)
        .hold(&steps)
        .await)
}

fn usual_steps(run: &RunDocument) -> Vec<Step> {
    let mut steps = vec![Step::Initialize, Step::Await(Awaited::Response)];
    steps.extend(run.prompt.clone().map(Step::User));
    steps.extend([
        Step::Await(Awaited::Result),
        Step::Await(Awaited::Idle),
        Step::Close,
    ]);
    steps
}
