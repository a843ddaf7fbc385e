//! Process trees on Linux: who descends from whom, and how to end all of them at once.

use std::collections::{BTreeMap, BTreeSet};
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
    state: char,
    name: String,
}

impl Process {
    /// Its command line, or its name when it has none. Read on demand: most processes are only counted.
    pub(crate) fn command(&self) -> String {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let line = String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .trim()
            .to_owned();
        if line.is_empty() {
            self.name.clone()
        } else {
            line
        }
    }
}

/// All processes that `/proc` shows.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(read_process)
        .collect()
}

fn read_process(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold spaces and parentheses itself.
    let (before, rest) = stat.rsplit_once(')')?;
    let name = before
        .split_once('(')
        .map_or(before, |(_, name)| name)
        .to_owned();
    let mut rest = rest.split_whitespace();
    let state = rest.next()?.chars().next()?;
    let parent = rest.next()?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        state,
        name,
    })
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
            .flat_map(|root| {
                std::iter::once(*root)
                    .chain(descendants(*root).into_iter().map(|process| process.pid))
            })
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
    kill_trees(
        &own_descendants()
            .iter()
            .map(|process| process.pid)
            .collect::<Vec<_>>(),
    );
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
    for process in processes()
        .into_iter()
        .filter(|process| process.parent == own && process.state == 'Z')
    {
        let _ = waitpid(Pid::from_raw(process.pid), Some(WaitPidFlag::WNOHANG));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_found_and_ended_whatever_its_groups() {
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", "setsid sleep 600 & sleep 600 & wait"])
            .stdout(std::process::Stdio::null());
        let mut child = shell.spawn().expect("sh starts");
        let root = i32::try_from(child.id()).expect("a pid");
        let named = |processes: &[Process]| {
            processes
                .iter()
                .filter(|process| process.command() == "sleep 600")
                .count()
        };
        while named(&descendants(root)) < 2 {
            std::thread::yield_now();
        }
        assert!(kill_trees(&[root]).len() >= 3);
        child.wait().expect("it ends");
        while named(&descendants(own_pid())) > 0 {
            std::thread::yield_now();
        }
    }
}
