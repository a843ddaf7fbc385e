//! Process trees on Linux: who descends from whom, and how to end all of them at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};

/// One process, as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) state: char,
    pub(crate) command: String,
}

/// All processes that `/proc` shows.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(read_process)
        .collect()
}

fn read_process(pid: i32) -> Option<Process> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let stat = std::fs::read_to_string(directory.join("stat")).ok()?;
    // The name is in parentheses and may hold spaces and parentheses itself.
    let (name, rest) = stat.rsplit_once(')')?;
    let mut rest = rest.split_whitespace();
    let state = rest.next()?.chars().next()?;
    let parent = rest.next()?.parse().ok()?;
    let command = std::fs::read(directory.join("cmdline"))
        .map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned())
        .ok()
        .filter(|line| !line.is_empty())
        .unwrap_or_else(|| name.split_once('(').map_or_else(String::new, |(_, name)| name.to_owned()));
    Some(Process { pid, parent, state, command })
}

/// The living descendants of `root`, without `root`.
pub(crate) fn descendants(root: i32) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in processes() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            open.push(process.pid);
            if process.state != 'Z' {
                found.push(process);
            }
        }
    }
    found
}

/// Sends `signal` to one process; one that is gone already is no error.
pub(crate) fn signal_process(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Stops `roots` and all their descendants, again and again until no new one appears: a frozen
/// process cannot fork, so the set that is returned is complete.
pub(crate) fn freeze_trees(roots: &[i32]) -> BTreeSet<i32> {
    let mut frozen = BTreeSet::new();
    loop {
        let fresh: Vec<i32> = roots
            .iter()
            .flat_map(|root| std::iter::once(*root).chain(descendants(*root).into_iter().map(|process| process.pid)))
            .filter(|pid| !frozen.contains(pid))
            .collect();
        if fresh.is_empty() {
            return frozen;
        }
        for pid in fresh {
            signal_process(pid, Signal::SIGSTOP);
            frozen.insert(pid);
        }
    }
}

/// Freezes, then kills, `roots` and all their descendants, whatever their group or session.
pub(crate) fn kill_trees(roots: &[i32]) -> BTreeSet<i32> {
    let frozen = freeze_trees(roots);
    for pid in &frozen {
        signal_process(*pid, Signal::SIGKILL);
    }
    frozen
}

/// The living descendants of this process, after those on their way out had `bound` to go.
pub(crate) async fn remaining_descendants(bound: Duration) -> Vec<Process> {
    let deadline = Instant::now() + bound;
    let mut children = signal(SignalKind::child()).ok();
    loop {
        reap_orphans();
        let remaining = own_descendants();
        if remaining.is_empty() || Instant::now() >= deadline {
            return remaining;
        }
        // Every end below this subreaper arrives here as a SIGCHLD sooner or later.
        let ended = async {
            match &mut children {
                Some(children) => drop(children.recv().await),
                None => std::future::pending().await,
            }
        };
        let _ = tokio::time::timeout_at(deadline.into(), ended).await;
    }
}

/// Kills and reaps everything below this process.
pub(crate) async fn end_all_descendants(bound: Duration) {
    kill_trees(&own_descendants().iter().map(|process| process.pid).collect::<Vec<_>>());
    remaining_descendants(bound).await;
}

fn own_descendants() -> Vec<Process> {
    descendants(own_pid())
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

/// Reaps dead children that were born to others and came to this subreaper. Its own children, which
/// the runtime waits for, may be among the dead too: the runtime then sees them as gone.
fn reap_orphans() {
    let own = own_pid();
    for process in processes().into_iter().filter(|process| process.parent == own && process.state == 'Z') {
        let _ = waitpid(Pid::from_raw(process.pid), Some(WaitPidFlag::WNOHANG));
    }
}
