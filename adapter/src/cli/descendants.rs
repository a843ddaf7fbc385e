//! The processes below a process, whatever their group or session: the CLI's shell commands run in
//! sessions of their own (observed on CLI 2.1.316), so killing a group is not killing the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Processes that were below a process when it was looked at.
#[derive(Debug, Default)]
pub(crate) struct Descendants {
    /// A descriptor means the process itself; a number could mean another one by now.
    processes: Vec<OwnedFd>,
}

impl Descendants {
    /// Looks at the processes below the given one.
    pub(crate) fn of(root: Pid) -> Self {
        let parents = parents();
        let mut below = BTreeSet::from([root.as_raw_nonzero().get()]);
        // A child may have a lower number than its parent, so look until nothing is found.
        loop {
            let found: Vec<i32> = parents
                .iter()
                .filter(|(child, parent)| below.contains(parent) && !below.contains(child))
                .map(|(child, _)| *child)
                .collect();
            if found.is_empty() {
                break;
            }
            below.extend(found);
        }
        below.remove(&root.as_raw_nonzero().get());
        let processes = below
            .into_iter()
            .filter_map(Pid::from_raw)
            .filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
            .collect();
        Self { processes }
    }

    /// Kills those that still live.
    pub(crate) fn kill(&self) {
        for process in &self.processes {
            // One that has ended is what is wanted.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// Every process's parent.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    processes
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parent_in(&stat)?))
        })
        .collect()
}

/// The parent's number in a line of `/proc/<pid>/stat`; the program's name may hold anything.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_parent_behind_an_odd_name() {
        assert_eq!(parent_in("12 (a ) S 99 b) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in("nonsense"), None);
    }
}
