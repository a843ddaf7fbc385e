//! Starts children that die with this process.
//!
//! Linux ties the parent-death signal to the *thread* that forked. A thread of the runtime may end
//! long before the process does, so one thread does all the forking and never ends.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::sync::{OnceLock, mpsc};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct SpawnRequest {
    command: Command,
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Child>>,
}

static SPAWNER: OnceLock<mpsc::Sender<SpawnRequest>> = OnceLock::new();

/// Starts the command in a process group of its own, to be killed when this process ends.
pub(crate) async fn spawn(mut command: Command) -> io::Result<Child> {
    command.process_group(0);
    die_with_parent(&mut command);
    let (answer, spawned) = oneshot::channel();
    let request = SpawnRequest {
        command,
        runtime: Handle::current(),
        answer,
    };
    spawner()?
        .send(request)
        .map_err(|_| io::Error::other("the spawner thread ended"))?;
    spawned
        .await
        .map_err(|_| io::Error::other("the spawner thread ended"))?
}

fn spawner() -> io::Result<mpsc::Sender<SpawnRequest>> {
    if let Some(sender) = SPAWNER.get() {
        return Ok(sender.clone());
    }
    let (sender, requests) = mpsc::channel::<SpawnRequest>();
    std::thread::Builder::new()
        .name("cli-spawner".to_owned())
        .spawn(move || serve(&requests))?;
    // A second thread that lost the race ends with its channel, before it has forked anything.
    Ok(SPAWNER.get_or_init(|| sender).clone())
}

fn serve(requests: &mpsc::Receiver<SpawnRequest>) {
    while let Ok(SpawnRequest {
        mut command,
        runtime,
        answer,
    }) = requests.recv()
    {
        let _entered = runtime.enter();
        // A requester that went away drops the child, and with it kills it.
        let _ = answer.send(command.kill_on_drop(true).spawn());
    }
}

#[expect(
    unsafe_code,
    reason = "the parent-death signal can only be set between fork and exec"
)]
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    // SAFETY: the closure makes two system calls and allocates nothing, so it may run between fork
    // and exec of a process with several threads.
    unsafe {
        command.as_std_mut().pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() == Some(parent) {
                Ok(())
            } else {
                Err(io::ErrorKind::NotConnected.into())
            }
        });
    }
}
