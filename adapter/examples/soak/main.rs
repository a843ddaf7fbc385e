//! Many sessions on a few workers that are killed at random.
//!
//! ```text
//! cargo build -p fake-cli --bin fake-claude
//! cargo run -p adapter --example soak -- --seconds 120
//! ```
//!
//! The CLI is `fake-claude`, whose prompts say what the model does. In the end every session has
//! to be idle, and what the tools did, what the records say and what was sent have to agree. The
//! program prints its figures and ends with 1 if anything is amiss.

mod checks;
mod load;
mod tools;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error>;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    /// How long workers are killed.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    #[arg(long, default_value_t = 200)]
    sessions: usize,
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Decides what is killed when; the rest is up to the machine.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The `fake-claude` to be run; the one of this build unless given.
    #[arg(long)]
    cli: Option<PathBuf>,
    /// Keep the state and the ledger.
    #[arg(long)]
    keep: bool,
}

#[derive(Subcommand)]
enum Role {
    /// Works until its standard input ends.
    #[command(hide = true)]
    Worker { directory: PathBuf, cli: PathBuf },
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let arguments = Arguments::parse();
    let done = match &arguments.role {
        Some(Role::Worker { directory, cli }) => {
            tools::work(directory, cli).await.map(|()| Vec::new())
        }
        None => soak(&arguments).await,
    };
    match done {
        Ok(amiss) if amiss.is_empty() => ExitCode::SUCCESS,
        Ok(amiss) => {
            for finding in amiss {
                eprintln!("amiss: {finding}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("failed to {error}");
            ExitCode::FAILURE
        }
    }
}

async fn soak(arguments: &Arguments) -> Result<Vec<String>, Failure> {
    let mut directory = tempfile::tempdir()?;
    directory.disable_cleanup(arguments.keep);
    let cli = match &arguments.cli {
        Some(cli) => cli.clone(),
        None => std::env::current_exe()?
            .ancestors()
            .nth(2)
            .ok_or("find fake-claude: pass --cli")?
            .join("fake-claude"),
    };
    if !cli.exists() {
        return Err(format!(
            "find {}: build it with cargo build -p fake-cli --bin fake-claude, or pass --cli",
            cli.display()
        )
        .into());
    }
    println!("directory {}", directory.path().display());
    let mut load = load::Load::start(directory.path(), arguments.sessions).await?;
    let mut workers = workers::Workers::start(directory.path(), &cli, arguments.workers)?;
    let time = Duration::from_secs(arguments.seconds);
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    let stop = CancellationToken::new();
    let killing = async {
        let kills = workers.kill_for(time, &mut random).await;
        stop.cancel();
        kills
    };
    let (kills, loaded) = tokio::join!(killing, load.run(&stop));
    loaded?;
    let kills = kills?;
    let stuck = load.drain().await?;
    workers.stop()?;
    let mut amiss = checks::check(&load, directory.path()).await?;
    amiss.extend(stuck);
    println!("workers killed  {kills}");
    Ok(amiss)
}
