//! The directories of one cell: its own, short, and outside any checkout.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A cell's directories; removed when dropped.
///
/// The root is made under the system's temporary directory, because a Unix socket's path is limited to 108 bytes and
/// because the CLI tells the model about a git checkout around its `cwd`.
#[derive(Debug)]
pub(crate) struct CellDirectories {
    root: tempfile::TempDir,
    /// What there was around the parts before anything ran.
    made: BTreeSet<PathBuf>,
}

const PARTS: [&str; 8] = [
    "home", "config", "cache", "tmp", "work", "state", "bin", "log",
];

impl CellDirectories {
    pub(crate) fn create() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("cell-").tempdir()?;
        for part in PARTS {
            std::fs::create_dir(root.path().join(part))?;
        }
        let mut directories = Self {
            root,
            made: BTreeSet::new(),
        };
        directories.made = directories.entries_around();
        Ok(directories)
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }
    /// `HOME` of everything in the cell.
    pub(crate) fn home(&self) -> PathBuf {
        self.part("home")
    }
    /// `CLAUDE_CONFIG_DIR`, unless the adapter sets another.
    pub(crate) fn config(&self) -> PathBuf {
        self.part("config")
    }
    /// `XDG_CACHE_HOME`; a real CLI keeps logs there.
    pub(crate) fn cache(&self) -> PathBuf {
        self.part("cache")
    }
    /// `TMPDIR`.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.part("tmp")
    }
    /// The agent's `cwd`.
    pub(crate) fn work(&self) -> PathBuf {
        self.part("work")
    }
    /// Where all durable state of the adapter goes.
    pub(crate) fn state(&self) -> PathBuf {
        self.part("state")
    }
    /// Where the link to `cli-tap` is.
    pub(crate) fn binaries(&self) -> PathBuf {
        self.part("bin")
    }
    /// stderr of the processes, and the trace.
    pub(crate) fn log(&self) -> PathBuf {
        self.part("log")
    }

    /// What appeared beside the cell's own parts, which nothing in the cell is told to write to.
    pub(crate) fn written_outside(&self) -> Vec<PathBuf> {
        self.entries_around()
            .difference(&self.made)
            .cloned()
            .collect()
    }

    /// Copies the evidence of a run to `target`.
    pub(crate) fn keep(&self, target: &Path) -> io::Result<()> {
        if target.exists() {
            std::fs::remove_dir_all(target)?;
        }
        std::fs::create_dir_all(target)?;
        for part in ["log", "state", "work", "config"] {
            copy_tree(&self.part(part), &target.join(part))?;
        }
        Ok(())
    }

    fn part(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The places that only a process which ignores its environment would write to: the cell's root
    /// itself, and `HOME`, which stays empty when every process keeps to the config directory, the
    /// temporary directory and the state directory that it was given.
    fn entries_around(&self) -> BTreeSet<PathBuf> {
        [self.root().to_owned(), self.home()]
            .iter()
            .filter_map(|directory| std::fs::read_dir(directory).ok())
            .flatten()
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .collect()
    }
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
