//! Lines from the host, read without a thread.
//!
//! A read happens only after the descriptor said that it would not block, so the flags of a
//! descriptor that is shared with the parent stay untouched, and "what is readable now" has an exact
//! answer: the start of a resumed call depends on it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The host's side of the conversation, line by line.
#[derive(Debug)]
pub(crate) struct Input {
    source: Source,
    buffered: Vec<u8>,
    ended: bool,
}

#[derive(Debug)]
enum Source {
    /// Pipes, sockets and terminals.
    Pollable(AsyncFd<OwnedFd>),
    /// Files, which are always ready and which epoll refuses.
    AlwaysReady(OwnedFd),
}

impl Input {
    /// Takes over a descriptor. Must be called inside a runtime.
    pub(crate) fn new(descriptor: OwnedFd) -> std::io::Result<Self> {
        let second = descriptor.try_clone()?;
        // SAFETY: the descriptor is owned, and lives as long as its registration.
        #[expect(
            unsafe_code,
            reason = "tokio offers no safe registration of a descriptor"
        )]
        let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
        let source = match registered {
            Ok(pollable) => Source::Pollable(pollable),
            Err(_) => Source::AlwaysReady(second),
        };
        Ok(Self {
            source,
            buffered: Vec::new(),
            ended: false,
        })
    }

    /// The next line without its end, or `None` at the end of the input.
    pub(crate) async fn next_line(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            self.wait_readable().await?;
            self.read_ready()?;
        }
    }

    /// The next line if it can be had without waiting.
    pub(crate) fn next_ready_line(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            if self.ended || !self.read_ready()? {
                return Ok(None);
            }
        }
    }

    async fn wait_readable(&self) -> std::io::Result<()> {
        let Source::Pollable(pollable) = &self.source else {
            return Ok(());
        };
        loop {
            let mut guard = pollable.readable().await?;
            if would_not_block(pollable.get_ref())? {
                return Ok(());
            }
            guard.clear_ready();
        }
    }

    /// Reads once if that does not block; says whether anything changed.
    fn read_ready(&mut self) -> std::io::Result<bool> {
        let descriptor = match &self.source {
            Source::Pollable(pollable) => pollable.get_ref(),
            Source::AlwaysReady(file) => file,
        };
        if !would_not_block(descriptor)? {
            return Ok(false);
        }
        let mut chunk = [0_u8; 16 * 1024];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(descriptor, &mut chunk))?;
        if count == 0 {
            self.ended = true;
        }
        self.buffered.extend_from_slice(&chunk[..count]);
        Ok(true)
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        if let Some(end) = self.buffered.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<u8> = self.buffered.drain(..=end).collect();
            line.pop();
            return Some(line);
        }
        if self.ended && !self.buffered.is_empty() {
            return Some(std::mem::take(&mut self.buffered));
        }
        None
    }
}

fn would_not_block(descriptor: impl AsFd) -> std::io::Result<bool> {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::io::retry_on_intr(|| poll(&mut polled, Some(&now)))?;
    Ok(!polled[0].revents().is_empty())
}
