//! The transcript files below a config directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// How far each file was read.
#[derive(Debug, Default)]
pub(crate) struct TranscriptReader {
    read: BTreeMap<PathBuf, usize>,
}

impl TranscriptReader {
    /// The entries that are new since the last reading, each file's behind a `file` entry.
    pub(crate) fn fresh_entries(&mut self, config: &Path) -> Vec<Value> {
        let mut files: Vec<(bool, String, PathBuf, Vec<Value>)> = Vec::new();
        for path in transcript_files(&config.join("projects")) {
            let entries = read_entries(&path);
            let known = self.read.insert(path.clone(), entries.len());
            let fresh = entries[known.unwrap_or(0).min(entries.len())..].to_vec();
            if !fresh.is_empty() {
                // The names of the files are random: what they hold tells their order.
                let first = fresh
                    .iter()
                    .find_map(|entry| entry["timestamp"].as_str())
                    .unwrap_or_default()
                    .to_owned();
                files.push((known.is_none(), first, path, fresh));
            }
        }
        files.sort_by(|one, other| (one.0, &one.1, &one.2).cmp(&(other.0, &other.1, &other.2)));
        files
            .into_iter()
            .flat_map(|(_, _, path, entries)| {
                std::iter::once(json!({"type": "file", "path": path.to_string_lossy()}))
                    .chain(entries)
            })
            .collect()
    }

    /// What is in the files of `config` now is not new.
    pub(crate) fn skip(&mut self, config: &Path) {
        self.fresh_entries(config);
    }
}

fn read_entries(path: &Path) -> Vec<Value> {
    let text = fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!({"line": line})))
        .collect()
}

fn transcript_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for path in fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        {
            if path.is_dir() {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                found.push(path);
            }
        }
    }
    found
}

/// Builds the transcript files that `mirrored`, the entries of a mirror lane, tell of, below `config`.
pub(crate) fn write_mirrored(
    mirrored: &[Value],
    old_config: &Path,
    config: &Path,
    keep: impl Fn(&Value) -> bool,
) -> io::Result<()> {
    let mut path = None;
    for entry in mirrored {
        if entry["type"] == "file" {
            let below = entry["path"]
                .as_str()
                .and_then(|path| Path::new(path).strip_prefix(old_config).ok());
            path = below.map(|below| config.join(below));
        } else if let Some(path) = path.as_ref().filter(|_| keep(entry)) {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)?;
            io::Write::write_all(&mut file, format!("{entry}\n").as_bytes())?;
        }
    }
    Ok(())
}
