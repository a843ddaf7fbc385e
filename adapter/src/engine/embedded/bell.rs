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

/// Hears the bell of a state directory, and deaths of its workers.
#[derive(Debug)]
pub(crate) struct Listener {
    inotify: AsyncFd<OwnedFd>,
}

impl Listener {
    /// Needs a bell to have been opened in the directory.
    pub(crate) fn open(directory: &Path, workers: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        inotify::add_watch(&inotify, directory.join(FILE_NAME), WatchFlags::MODIFY)?;
        inotify::add_watch(&inotify, workers, WatchFlags::CLOSE_WRITE)?;
        Ok(Self {
            inotify: register(inotify)?,
        })
    }

    /// Returns when the bell has rung since the last call.
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
