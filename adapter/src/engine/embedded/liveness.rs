//! Which workers live: each holds a file lock that the kernel releases when the process dies.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

/// The directory of the workers' lock files.
pub(crate) fn workers_directory(state_directory: &Path) -> PathBuf {
    state_directory.join("workers")
}

/// A living worker's proof of life, and a directory for what must not outlive the worker.
#[derive(Debug)]
pub(crate) struct WorkerLock {
    name: String,
    state_directory: PathBuf,
    /// Holds the lock until it is closed.
    _file: File,
}

impl WorkerLock {
    /// Takes a new name and its lock.
    pub(crate) fn take(state_directory: &Path) -> io::Result<Self> {
        let name = Uuid::new_v4().to_string();
        let lock = lock_path(state_directory, &name);
        // Locked before it has its name, so that it is never taken for a dead worker's.
        let unready = lock.with_extension("new");
        let file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .open(&unready)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        DirBuilder::new()
            .mode(0o700)
            .create(scratch_path(state_directory, &name))?;
        fs::rename(&unready, lock)?;
        Ok(Self {
            name,
            state_directory: state_directory.to_owned(),
            _file: file,
        })
    }

    /// Where the worker may put what is of no use after its end.
    pub(crate) fn scratch_directory(&self) -> PathBuf {
        scratch_path(&self.state_directory, &self.name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for WorkerLock {
    fn drop(&mut self) {
        bury(&self.state_directory, &self.name);
    }
}

/// Whether the worker of this name has died.
pub(crate) fn is_dead(state_directory: &Path, worker: &str) -> bool {
    match File::open(lock_path(state_directory, worker)) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The names of all workers that have died and left something.
pub(crate) fn dead_workers(state_directory: &Path) -> io::Result<Vec<String>> {
    let mut dead = Vec::new();
    for entry in fs::read_dir(workers_directory(state_directory))? {
        let name = entry?.file_name();
        let worker = name.to_str().and_then(|name| name.strip_suffix(".lock"));
        dead.extend(
            worker
                .filter(|worker| is_dead(state_directory, worker))
                .map(str::to_owned),
        );
    }
    Ok(dead)
}

/// Removes what a worker left.
pub(crate) fn bury(state_directory: &Path, worker: &str) {
    // Another worker may have been faster, and what stays behind is only litter: its lock is free.
    let _ = fs::remove_dir_all(scratch_path(state_directory, worker));
    let _ = fs::remove_file(lock_path(state_directory, worker));
}

fn lock_path(state_directory: &Path, worker: &str) -> PathBuf {
    workers_directory(state_directory).join(format!("{worker}.lock"))
}

fn scratch_path(state_directory: &Path, worker: &str) -> PathBuf {
    workers_directory(state_directory).join(worker)
}
