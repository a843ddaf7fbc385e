//! Puts the adapter behind the runner protocol, on standard input and output.

mod agent;
mod peer;
mod service;

use adapter::Sabotage;
use clap::Parser;
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Speaks the runner protocol, version 1, on standard input and output.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Breaks one promise of the adapter on purpose: for testing the harness only.
    #[arg(long, value_name = "FAULT")]
    sabotage: Option<Sabotage>,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let service = service::Service::new(arguments.sabotage);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(message) => service.take(message),
            Err(error) => tracing::warn!(%error, "skipped a line that is no message"),
        }
    }
    // The other side is gone. What still runs dies with this process.
    std::process::exit(0);
}
