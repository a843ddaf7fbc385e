//! Tells processes on one machine that something changed, without polling.
//!
//! Whoever commits writes to one small file; the kernel tells everybody who watches it. A worker
//! that dies closes its lock file, which is told the same way.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

const FILE_NAME: &str = "bell";

/// Rings for everybody who listens.
#[derive(Debug)]
pub(crate) struct Bell {
    file: File,
}

impl Bell {
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join(FILE_NAME))?;
        Ok(Self { file })
    }

    /// A bell that cannot be rung costs promptness, not correctness: listeners also look on their
    /// own from time to time.
    pub(crate) fn ring(&self) {
        if let Err(error) = self.file.write_all_at(b"!", 0) {
            tracing::warn!(%error, "the bell could not be rung");
        }
    }
}

/// Hears what happens in a state directory.
#[derive(Debug)]
pub(crate) struct Listener {
    inotify: AsyncFd<OwnedFd>,
}

impl Listener {
    /// Hears the bell and deaths; needs a bell to have been opened in the directory.
    pub(crate) fn of_changes(directory: &Path, workers: &Path) -> io::Result<Self> {
        Self::watch([
            (directory.join(FILE_NAME).as_path(), WatchFlags::MODIFY),
            (workers, WatchFlags::CLOSE_WRITE),
        ])
    }

    /// Hears that something was written to a file of the directory.
    pub(crate) fn of_writes(directory: &Path) -> io::Result<Self> {
        Self::watch([(directory, WatchFlags::MODIFY)])
    }

    fn watch<const N: usize>(watched: [(&Path, WatchFlags); N]) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        for (path, flags) in watched {
            inotify::add_watch(&inotify, path, flags)?;
        }
        Ok(Self {
            inotify: register(inotify)?,
        })
    }

    /// Returns when something was heard since the last call.
    pub(crate) async fn heard(&self) -> io::Result<()> {
        loop {
            let mut ready = self.inotify.readable().await?;
            let drained = ready.try_io(|inotify| drain(inotify.get_ref()));
            if let Ok(drained) = drained {
                return drained;
            }
        }
    }
}

#[expect(
    unsafe_code,
    reason = "the runtime asks for a promise about the descriptor"
)]
fn register(inotify: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps its descriptor open and unchanged for as long as it lives.
    Ok(unsafe { AsyncFd::register(inotify) }?)
}

/// Reads what there is: only that something was heard matters.
fn drain(inotify: &OwnedFd) -> io::Result<()> {
    let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
    rustix::io::read(inotify, &mut buffer)?;
    Ok(())
}
