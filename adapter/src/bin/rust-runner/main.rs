//! Puts the adapter behind the runner protocol, on standard input and output.

mod definition;
mod peer;
mod service;

use std::sync::Arc;

use adapter::Sabotage;
use clap::Parser;

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
    let (peer, incoming) = peer::Peer::open();
    let service = Arc::new(service::Service::new(Arc::clone(&peer), arguments.sabotage));
    peer.serve(incoming, service).await;
    // Standard input is closed or a shutdown was answered. What still runs dies with this process.
    std::process::exit(0);
}
