//! One task owns a runner's pipe and its kill, so that what was still in the pipe when the process
//! died is known to have had no effect.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::super::context::CellContext;
use super::super::error::CellError;
use super::super::process_tree;
use super::incoming::{self, Incoming, Refusal};
use super::process::stderr_tail;
use super::requests::{self, Reply};
use crate::trace::{Lane, Observation};

/// How long a line of a runner may be, in bytes. A snapshot of a long session is a few megabytes.
const LONGEST_LINE: usize = 64 << 20;

type RunnerLines = FramedRead<ChildStdout, LinesCodec>;

/// What the owner of a runner's pipe can be told.
pub(super) enum Order {
    Ask {
        method: String,
        params: Value,
        answer: oneshot::Sender<Result<Value, Refusal>>,
    },
    /// The process is about to end, as it should.
    ExpectEnd,
    /// Kill the process `alone`, or the whole tree with the trees of `also`.
    Kill {
        also: Vec<i32>,
        alone: Option<i32>,
        done: oneshot::Sender<()>,
    },
}

/// Opens the pipe of a started child.
pub(super) fn open(
    context: Arc<CellContext>,
    name: String,
    mut child: Child,
) -> (mpsc::UnboundedSender<Order>, watch::Receiver<bool>) {
    let (sender, orders) = mpsc::unbounded_channel();
    let (ended_sender, ended) = watch::channel(false);
    let lines = child
        .stdout
        .take()
        .map(|stdout| FramedRead::new(stdout, LinesCodec::new_with_max_length(LONGEST_LINE)));
    let writer = child.stdin.take().map(start_writer);
    if let (Some(lines), Some(writer)) = (lines, writer) {
        let pipe = Pipe {
            context,
            name,
            child,
            writer,
            asked: HashMap::new(),
            next_id: 0,
            serving: JoinSet::new(),
            end_expected: false,
            ended: ended_sender,
        };
        tokio::spawn(pipe.run(lines, orders));
    }
    (sender, ended)
}

/// Writes lines in a task of its own: a runner that does not read must not stop its reader.
fn start_writer(mut stdin: ChildStdin) -> mpsc::UnboundedSender<Value> {
    let (sender, mut messages) = mpsc::unbounded_channel::<Value>();
    tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            let mut line = message.to_string().into_bytes();
            line.push(b'\n');
            if stdin.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    sender
}

struct Pipe {
    context: Arc<CellContext>,
    name: String,
    child: Child,
    writer: mpsc::UnboundedSender<Value>,
    asked: HashMap<u64, (String, oneshot::Sender<Result<Value, Refusal>>)>,
    next_id: u64,
    serving: JoinSet<(Value, String, Result<Reply, String>)>,
    end_expected: bool,
    ended: watch::Sender<bool>,
}

impl Pipe {
    async fn run(mut self, mut lines: RunnerLines, mut orders: mpsc::UnboundedReceiver<Order>) {
        loop {
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Ask { method, params, answer }) => self.ask(method, params, answer),
                    Some(Order::ExpectEnd) => self.end_expected = true,
                    Some(Order::Kill { also, alone, done }) => {
                        self.kill(&also, alone, lines).await;
                        let _ = done.send(());
                        return;
                    }
                    None => return,
                },
                Some(Ok((id, method, reply))) = self.serving.join_next() => self.reply(id, &method, reply),
                line = lines.next() => match line {
                    Some(Ok(line)) => self.take(&line),
                    Some(Err(error)) => return self.violated(unreadable(&error)),
                    None => return self.end().await,
                },
                _ = self.child.wait() => {
                    self.drain(&mut lines).await;
                    return self.end().await;
                }
            }
        }
    }

    fn ask(
        &mut self,
        method: String,
        params: Value,
        answer: oneshot::Sender<Result<Value, Refusal>>,
    ) {
        self.next_id += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.observe("sent", &method, &params);
        self.asked.insert(self.next_id, (method, answer));
        let _ = self.writer.send(message);
    }

    fn take(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let taken = incoming::read(line).and_then(|message| match message {
            Incoming::Answer { id, result } => self.take_answer(id, result),
            Incoming::Request { id, method, params } => {
                self.observe("received", &method, &params);
                self.serve(id, method, params);
                Ok(())
            }
            Incoming::Notification { method, params } => {
                self.observe("received", &method, &params);
                requests::note(&self.context, &self.name, &method, params)
            }
        });
        if let Err(what) = taken {
            self.violated(what);
        }
    }

    fn take_answer(&mut self, id: u64, result: Result<Value, Refusal>) -> Result<(), String> {
        let (method, answer) = self
            .asked
            .remove(&id)
            .ok_or_else(|| format!("it answered request {id}, which is not open"))?;
        self.observe("answered", &method, result.as_ref().unwrap_or(&Value::Null));
        let _ = answer.send(result);
        Ok(())
    }

    fn serve(&mut self, id: Value, method: String, params: Value) {
        let served = requests::serve(
            Arc::clone(&self.context),
            self.name.clone(),
            method.clone(),
            params,
        );
        self.serving
            .spawn(async move { (id, method, served.await) });
    }

    fn reply(&mut self, id: Value, method: &str, reply: Result<Reply, String>) {
        let message = match reply {
            Ok(Reply::Result(result)) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Ok(Reply::Error { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
            Err(what) => return self.violated(what),
        };
        if method == "tool/call" {
            self.observe_replied(&message);
        }
        let _ = self.writer.send(message);
    }

    fn observe_replied(&self, message: &Value) {
        self.context.recorder.record(
            Observation::new(Lane::Tool, "replied")
                .worker(&self.name)
                .payload(message.clone()),
        );
    }

    fn observe(&self, kind: &str, method: &str, payload: &Value) {
        let observation = Observation::new(Lane::Runner, kind)
            .worker(&self.name)
            .field("method", method);
        self.context
            .recorder
            .record(observation.payload(payload.clone()));
    }

    fn violated(&self, what: String) {
        self.context.fail(requests::violation(
            &self.name,
            what,
            stderr_tail(&self.context.log, &self.name),
        ));
    }

    /// Freezes everything, forgets what is being served (each open call is then on record as
    /// dropped), kills, and notes what was still in the pipe.
    async fn kill(mut self, also: &[i32], alone: Option<i32>, mut lines: RunnerLines) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        let roots: Vec<i32> = pid.into_iter().chain(also.iter().copied()).collect();
        if let Some(worker) = alone {
            process_tree::signal_process(worker, Signal::SIGKILL);
            self.serving.shutdown().await;
        } else {
            process_tree::freeze_trees(&roots);
            self.serving.shutdown().await;
            process_tree::kill_trees(&roots);
        }
        let status = self.child.wait().await;
        self.observe_end(status);
        let end = self.context.bounds.end;
        let drained = async {
            while let Some(Ok(line)) = lines.next().await {
                if let Ok(Incoming::Request { method, params, .. }) = incoming::read(&line) {
                    self.observe("dropped", &method, &params);
                }
            }
        };
        // A child that was left alive may hold the pipe open; it has nothing more to say.
        let _ = tokio::time::timeout(end, drained).await;
        self.ended.send_replace(true);
    }

    /// Takes what a process that has ended left in its pipe. That is there already; only a child of it
    /// that holds the pipe open makes this wait.
    async fn drain(&mut self, lines: &mut RunnerLines) {
        const BOUND: Duration = Duration::from_millis(200);
        let take_all = async {
            while let Some(Ok(line)) = lines.next().await {
                self.take(&line);
            }
        };
        let _ = tokio::time::timeout(BOUND, take_all).await;
    }

    /// The process closed its stdout: it has ended, or is about to.
    async fn end(mut self) {
        let status = match tokio::time::timeout(self.context.bounds.end, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => return self.violated("it closed its stdout and lives on".to_owned()),
        };
        let words = status
            .as_ref()
            .map_or_else(ToString::to_string, ToString::to_string);
        let orderly = self.end_expected && status.as_ref().is_ok_and(ExitStatus::success);
        self.observe_end(status);
        if !orderly {
            let stderr = stderr_tail(&self.context.log, &self.name);
            self.context.fail(CellError::RunnerEnded {
                name: self.name.clone(),
                status: words,
                stderr,
            });
        }
        self.ended.send_replace(true);
    }

    fn observe_end(&self, status: std::io::Result<ExitStatus>) {
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        self.context.recorder.record(
            Observation::new(Lane::Runner, "ended")
                .worker(&self.name)
                .field("status", status),
        );
    }
}

/// What a runner did whose line cannot be read.
fn unreadable(error: &LinesCodecError) -> String {
    match error {
        LinesCodecError::MaxLineLengthExceeded => {
            format!("it wrote a line of more than {} MiB", LONGEST_LINE >> 20)
        }
        LinesCodecError::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            "it wrote a line that is not UTF-8".to_owned()
        }
        LinesCodecError::Io(error) => format!("its stdout cannot be read: {error}"),
    }
}
