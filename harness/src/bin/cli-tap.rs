//! What an adapter is told to start as the Claude Code CLI.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitCode;

use harness::tap;
use nix::sys::signal::{SigHandler, Signal, raise, signal};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let link = arguments.next().unwrap_or_default();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        eprintln!("cli-tap: failed to start its runtime");
        return ExitCode::from(70);
    };
    let ended = runtime.block_on(tap::run(Path::new(&link), arguments.collect()));
    // A blocked read of stdin must not keep a tap alive whose CLI has ended.
    runtime.shutdown_background();
    match ended {
        Ok(status) => end_like(status),
        Err(error) => {
            eprintln!("cli-tap: {error}");
            ExitCode::from(70)
        }
    }
}

/// Ends with the same exit code, or by the same signal, as the CLI.
fn end_like(status: std::process::ExitStatus) -> ExitCode {
    if let Some(number) = status.signal()
        && let Ok(received) = Signal::try_from(number)
    {
        #[expect(
            unsafe_code,
            reason = "the default action replaces tokio's handler, right before the end"
        )]
        unsafe {
            let _ = signal(received, SigHandler::SigDfl);
        }
        let _ = raise(received);
    }
    status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, |code| {
            std::process::exit(i32::from(code))
        })
}
