//! The user of all sessions: sends messages and answers interrupts.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use adapter::{EmbeddedEngine, Resolution, SessionChange, SessionClient, SessionStatus, Snapshot};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::Failure;

/// How long the sessions may take to become idle once nobody is killed any more.
const DRAIN: Duration = Duration::from_secs(180);

pub(crate) struct Load {
    pub(crate) client: SessionClient,
    changes: Receiver<SessionChange>,
    /// What was accepted, by session.
    pub(crate) sent: BTreeMap<String, Vec<String>>,
}

impl Load {
    pub(crate) async fn start(directory: &Path, sessions: usize) -> Result<Self, Failure> {
        let client = SessionClient::new(&EmbeddedEngine::open(directory.join("state"))?);
        let mut load = Self {
            changes: client.changes().await?,
            client,
            sent: BTreeMap::new(),
        };
        for number in 0..sessions {
            let session = format!("session-{number}");
            let text = message(&session, 0);
            load.client.start(&session, Some(text.clone())).await?;
            load.sent.insert(session, vec![text]);
        }
        Ok(load)
    }

    /// Keeps all sessions busy until it is told to stop; never in the middle of a command.
    pub(crate) async fn run(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        loop {
            let changed = tokio::select! {
                changed = self.changed() => changed?,
                () = stop.cancelled() => return Ok(()),
            };
            for session in changed {
                let snapshot = self.client.snapshot(&session).await?;
                self.answer(&snapshot).await?;
                // Now and then a message comes while a turn runs.
                if snapshot.status == SessionStatus::Idle || fastrand::u8(..) == 0 {
                    self.send(&session).await?;
                }
            }
        }
    }

    /// Only answers, until all sessions are idle; names those that do not become so.
    pub(crate) async fn drain(&mut self) -> Result<Vec<String>, Failure> {
        let deadline = tokio::time::Instant::now() + DRAIN;
        loop {
            let mut busy = Vec::new();
            for session in self.sent.keys() {
                let snapshot = self.client.snapshot(session).await?;
                self.answer(&snapshot).await?;
                if snapshot.status != SessionStatus::Idle {
                    busy.push(snapshot);
                }
            }
            if busy.is_empty() {
                return Ok(Vec::new());
            }
            if tokio::time::timeout_at(deadline, self.changed())
                .await
                .is_err()
            {
                let stuck = |it: Snapshot| format!("{} is stuck: {:?}", it.session_id, it.status);
                return Ok(busy.into_iter().map(stuck).collect());
            }
        }
    }

    async fn changed(&mut self) -> Result<Vec<String>, Failure> {
        match self.changes.recv().await {
            Ok(change) => Ok(vec![change.session_id]),
            Err(RecvError::Lagged(_)) => Ok(self.sent.keys().cloned().collect()),
            Err(RecvError::Closed) => Err("hear of changes: the engine is gone".into()),
        }
    }

    async fn send(&mut self, session: &str) -> Result<(), Failure> {
        let Some(sent) = self.sent.get_mut(session) else {
            return Ok(());
        };
        let text = message(session, sent.len());
        if self.client.send(session, text.clone()).await? {
            sent.push(text);
        }
        Ok(())
    }

    async fn answer(&self, snapshot: &Snapshot) -> Result<(), Failure> {
        for interrupt in &snapshot.pending_interrupts {
            let item = interrupt.arguments["item"].as_str().unwrap_or_default();
            let resolution = if is_approved(item) {
                Resolution::Approved
            } else {
                Resolution::Rejected { message: None }
            };
            let session = &snapshot.session_id;
            let interrupt = &interrupt.interrupt_id;
            self.client.resolve(session, interrupt, resolution).await?;
        }
        Ok(())
    }
}

/// The same item is always answered in the same way.
pub(crate) fn is_approved(item: &str) -> bool {
    !item.ends_with('4')
}

fn message(session: &str, number: usize) -> String {
    let item = format!("{session}/{number}");
    let call = |tool: &str| format!("call mcp__tools__{tool} {{\"item\": \"{item}\"}}");
    match number % 5 {
        0 => format!("say Publishing.\n{}\nsay Published.", call("publish")),
        1 => format!("{}\n{}\nsay Stored.", call("look_up"), call("store")),
        2 => format!("{}\n{}\nsay Posted.", call("post"), call("store")),
        3 => "say Nothing to do.".to_owned(),
        _ => format!("{}\n{}\nsay Over.", call("publish"), call("look_up")),
    }
}
