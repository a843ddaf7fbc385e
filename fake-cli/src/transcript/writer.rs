//! Appends entries to the session's file.

use std::cell::{Cell, RefCell};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::output::Output;

/// A session's file. Entries are held back for a moment, as the real program does: what a SIGKILL
/// loses is part of the contract.
pub(crate) struct Transcript {
    path: PathBuf,
    persistent: bool,
    mirror: Option<Rc<Output>>,
    /// Whether the mirror misses what the model said.
    lossy_mirror: bool,
    entries: RefCell<Vec<Value>>,
    unwritten: RefCell<Vec<Value>>,
    /// Entries of another session, to be written before the first of this one.
    inherited: RefCell<Vec<Value>>,
    parent: RefCell<Value>,
    waiting: Notify,
    failed: Cell<bool>,
}

impl Transcript {
    pub(crate) fn new(
        path: PathBuf,
        persistent: bool,
        mirror: Option<Rc<Output>>,
        lossy_mirror: bool,
    ) -> Self {
        Self {
            path,
            persistent,
            mirror,
            lossy_mirror,
            entries: RefCell::default(),
            unwritten: RefCell::default(),
            inherited: RefCell::default(),
            parent: RefCell::new(Value::Null),
            waiting: Notify::new(),
            failed: Cell::new(false),
        }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Takes over the entries of an earlier process without writing them again.
    pub(crate) fn adopt(&self, entries: Vec<Value>) {
        let last = entries.iter().rev().find(|entry| entry["uuid"].is_string());
        *self.parent.borrow_mut() = last.map_or(Value::Null, |entry| entry["uuid"].clone());
        *self.entries.borrow_mut() = entries;
    }

    /// Takes over the entries of another session, which become this one's with its first own.
    pub(crate) fn inherit(&self, entries: Vec<Value>) {
        *self.inherited.borrow_mut() = entries.clone();
        self.adopt(entries);
    }

    /// Runs a function over the conversation's entries so far.
    pub(crate) fn read<T>(&self, reader: impl FnOnce(&[Value]) -> T) -> T {
        reader(&self.entries.borrow())
    }

    /// Appends a link of the conversation's chain.
    pub(crate) fn chain(&self, mut entry: Value) {
        entry["parentUuid"] = self.parent.borrow().clone();
        self.link(entry);
    }

    /// Appends a link whose parent is not the entry before it: a tool result belongs to its call.
    pub(crate) fn chain_to(&self, parent: Option<&str>, mut entry: Value) {
        entry["parentUuid"] = parent.map_or_else(|| self.parent.borrow().clone(), |id| json!(id));
        self.link(entry);
    }

    fn link(&self, entry: Value) {
        for inherited in self.inherited.take() {
            self.note(inherited);
        }
        *self.parent.borrow_mut() = entry["uuid"].clone();
        self.entries.borrow_mut().push(entry.clone());
        self.note(entry);
    }

    /// Appends an entry beside the chain.
    pub(crate) fn note(&self, entry: Value) {
        self.unwritten.borrow_mut().push(entry);
        self.waiting.notify_one();
    }

    /// Forgets the last reply, unwritten and as far as the model is concerned: it made no sense
    /// (observed on CLI 2.1.316). Returns the uuids of its entries.
    pub(crate) fn retract_last_reply(&self) -> Vec<Value> {
        let mut entries = self.entries.borrow_mut();
        let is_reply = |entry: &Value| entry["type"] == "assistant";
        let Some(message_id) = entries
            .iter()
            .rev()
            .find(|entry| is_reply(entry))
            .map(|entry| entry["message"]["id"].clone())
        else {
            return Vec::new();
        };
        let stays = |entry: &Value| !is_reply(entry) || entry["message"]["id"] != message_id;
        let retracted = entries
            .iter()
            .filter(|entry| !stays(entry))
            .map(|entry| entry["uuid"].clone())
            .collect();
        entries.retain(stays);
        self.unwritten.borrow_mut().retain(stays);
        let last = entries.last().map(|entry| entry["uuid"].clone());
        *self.parent.borrow_mut() = last.unwrap_or(Value::Null);
        retracted
    }

    /// The uuid of the chain's last entry.
    pub(crate) fn leaf(&self) -> Value {
        self.parent.borrow().clone()
    }

    /// Writes what is held back, and mirrors it.
    pub(crate) fn flush(&self) {
        let entries = std::mem::take(&mut *self.unwritten.borrow_mut());
        if entries.is_empty() || !self.persistent {
            return;
        }
        if let Err(error) = self.append_to_file(&entries)
            && !self.failed.replace(true)
        {
            eprintln!("failed to write {}: {error}", self.path.display());
        }
        // Records of requests stay on the disk (observed on CLI 2.1.316).
        let is_mirrored = |entry: &Value| {
            let kind = entry["type"].as_str();
            let lost = self.lossy_mirror && kind == Some("assistant");
            !lost && !kind.is_some_and(|kind| kind.starts_with("api-request"))
        };
        let entries: Vec<Value> = entries.into_iter().filter(is_mirrored).collect();
        if let Some(output) = self.mirror.as_ref().filter(|_| !entries.is_empty()) {
            output.frame(&json!({
                "type": "transcript_mirror",
                "filePath": self.path,
                "entries": entries,
            }));
        }
    }

    fn append_to_file(&self, entries: &[Value]) -> std::io::Result<()> {
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut lines = String::new();
        for entry in entries {
            lines.push_str(&entry.to_string());
            lines.push('\n');
        }
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?
            .write_all(lines.as_bytes())
    }

    /// Flushes a while after each first unwritten entry, for as long as the process lives (about
    /// 100 ms, observed on CLI 2.1.316).
    pub(crate) async fn flush_in_the_background(&self) {
        loop {
            self.waiting.notified().await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            self.flush();
        }
    }
}
