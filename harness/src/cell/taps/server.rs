//! Numbers the CLI processes of a cell and tells each tap what to start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::super::context::CellContext;
use super::super::error::CellError;
use super::super::messages_api::CellApi;
use super::arguments::is_probe;
use super::connection::Tap;
use crate::tap::{FromTap, ToTap};
use crate::trace::{Lane, Observation};

/// The CLI processes of a cell.
pub(crate) struct TapServer {
    pub(super) context: Arc<CellContext>,
    pub(super) api: Arc<CellApi>,
    pub(super) cli: PathBuf,
    /// What every CLI gets, whatever its adapter passed on: it must never reach beyond loopback.
    enforced: BTreeMap<String, String>,
    /// What a CLI gets when its adapter passed on nothing.
    defaults: BTreeMap<String, String>,
    spawns: Mutex<Vec<Spawn>>,
}

/// One CLI process.
#[derive(Debug, Clone)]
pub(crate) struct Spawn {
    /// The runner's process that started it, if that could be seen.
    pub(crate) worker: Option<String>,
    pub(crate) tap_pid: i32,
    pub(crate) cli_pid: Option<i32>,
    pub(crate) ended: bool,
}

impl TapServer {
    pub(crate) fn new(
        context: Arc<CellContext>,
        api: Arc<CellApi>,
        cli: PathBuf,
        enforced: BTreeMap<String, String>,
        defaults: BTreeMap<String, String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            context,
            api,
            cli,
            enforced,
            defaults,
            spawns: Mutex::default(),
        })
    }

    /// Serves taps until it is aborted.
    pub(crate) async fn serve(self: Arc<Self>, listener: UnixListener) {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(Arc::clone(&self).serve_tap(stream));
        }
    }

    /// The CLI processes that worker `name` started and that still run, with their numbers.
    pub(crate) fn running_of(&self, name: &str) -> Vec<(usize, Spawn)> {
        let mine = |spawn: &Spawn| !spawn.ended && spawn.worker.as_deref() == Some(name);
        self.numbered()
            .into_iter()
            .filter(|(_, spawn)| mine(spawn))
            .collect()
    }

    /// The newest CLI process that still runs.
    pub(crate) fn newest_running(&self) -> Option<Spawn> {
        self.numbered()
            .into_iter()
            .rev()
            .map(|(_, spawn)| spawn)
            .find(|spawn| !spawn.ended)
    }

    fn numbered(&self) -> Vec<(usize, Spawn)> {
        self.lock()
            .iter()
            .cloned()
            .enumerate()
            .map(|(index, spawn)| (index + 1, spawn))
            .collect()
    }

    pub(super) fn worker_of(&self, number: usize) -> Option<String> {
        self.lock()[number - 1].worker.clone()
    }

    pub(super) fn runs(&self, number: usize, cli_pid: i32) {
        self.lock()[number - 1].cli_pid = Some(cli_pid);
    }

    /// Marks a CLI process as ended, and says whether it was not already.
    pub(super) fn end(&self, number: usize) -> bool {
        !std::mem::replace(&mut self.lock()[number - 1].ended, true)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Spawn>> {
        self.spawns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve_tap(self: Arc<Self>, stream: UnixStream) {
        let (reader, writer) = stream.into_split();
        let answers = start_writer(writer);
        let mut lines = BufReader::new(reader).lines();
        let Some(FromTap::Started {
            pid,
            arguments,
            cwd,
            environment,
        }) = next(&mut lines).await
        else {
            return;
        };
        if is_probe(&arguments) {
            self.context
                .recorder
                .record(Observation::new(Lane::Cli, "probed"));
            let _ = answers.send(self.start(arguments, BTreeMap::new(), true));
            return;
        }
        let number = self.add_spawn(pid);
        let tap = Tap::new(&self, number, answers);
        tap.started(arguments, cwd, environment).await;
        while let Some(message) = next(&mut lines).await {
            tap.take(message);
        }
        tap.gone();
    }

    fn add_spawn(&self, tap_pid: i32) -> usize {
        let worker = self.context.runner_of(tap_pid);
        let mut spawns = self.lock();
        spawns.push(Spawn {
            worker,
            tap_pid,
            cli_pid: None,
            ended: false,
        });
        spawns.len()
    }

    pub(super) fn start(
        &self,
        arguments: Vec<String>,
        set: BTreeMap<String, String>,
        probe: bool,
    ) -> ToTap {
        let mut enforced = self.enforced.clone();
        enforced.extend(set);
        ToTap::Start {
            program: self.cli.to_string_lossy().into_owned(),
            arguments,
            set: enforced,
            set_if_missing: self.defaults.clone(),
            probe,
        }
    }
}

/// Writes in a task of its own: a tap that does not read must not stop the reading of its lines.
fn start_writer(mut writer: OwnedWriteHalf) -> mpsc::UnboundedSender<ToTap> {
    let (answers, mut outgoing) = mpsc::unbounded_channel::<ToTap>();
    tokio::spawn(async move {
        while let Some(answer) = outgoing.recv().await {
            let mut line = serde_json::to_vec(&answer).unwrap_or_default();
            line.push(b'\n');
            if writer.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    answers
}

async fn next(lines: &mut Lines<BufReader<OwnedReadHalf>>) -> Option<FromTap> {
    let line = lines.next_line().await.ok().flatten()?;
    serde_json::from_str(&line).ok()
}

/// The taps and the CLIs of some processes, to be killed with their worker.
pub(crate) fn process_ids(spawns: &[(usize, Spawn)]) -> Vec<i32> {
    spawns
        .iter()
        .flat_map(|(_, spawn)| std::iter::once(spawn.tap_pid).chain(spawn.cli_pid))
        .collect()
}

/// A listener at `path`.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, CellError> {
    UnixListener::bind(path).map_err(CellError::surroundings(
        "the tap's socket could not be made",
    ))
}
