//! Worker processes, and their deaths.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use crate::Failure;

pub(crate) struct Workers {
    directory: PathBuf,
    cli: PathBuf,
    children: Vec<Child>,
}

impl Workers {
    pub(crate) fn start(directory: &Path, cli: &Path, number: usize) -> Result<Self, Failure> {
        let mut workers = Self {
            directory: directory.to_owned(),
            cli: cli.to_owned(),
            children: Vec::new(),
        };
        for _ in 0..number {
            let child = workers.spawn()?;
            workers.children.push(child);
        }
        Ok(workers)
    }

    fn spawn(&self) -> Result<Child, Failure> {
        Ok(Command::new(std::env::current_exe()?)
            .arg("worker")
            .args([&self.directory, &self.cli])
            .stdin(Stdio::piped())
            .spawn()?)
    }

    /// Kills one worker after another and starts a new one in its place; says how many.
    pub(crate) async fn kill_for(
        &mut self,
        time: Duration,
        random: &mut fastrand::Rng,
    ) -> Result<u32, Failure> {
        let end = Instant::now() + time;
        let mut kills = 0;
        while Instant::now() < end {
            // The rhythm of the faults, not a wait for anything.
            tokio::time::sleep(Duration::from_millis(random.u64(100..2500))).await;
            let victim = random.usize(..self.children.len());
            let child = self.spawn()?;
            self.children[victim].kill()?;
            self.children[victim].wait()?;
            self.children[victim] = child;
            kills += 1;
        }
        Ok(kills)
    }

    /// Stops all workers and waits for their ends.
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        for child in &mut self.children {
            drop(child.stdin.take());
        }
        for child in &mut self.children {
            let status = child.wait()?;
            if !status.success() {
                return Err(format!("stop a worker: it ended with {status}").into());
            }
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended, which is what is wanted.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
