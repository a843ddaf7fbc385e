//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::Parser;

/// A scripted Anthropic Messages API, for tests.
///
/// Prints its base URL on the first line of stdout and serves until it gets SIGINT or SIGTERM.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The script to answer from, in YAML or JSON; without it every request gets a 403 until one is posted
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,

    /// Write each request as a line of JSON to this file once its response is over
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Accept only this API key; any key is accepted without it
    #[arg(
        long,
        value_name = "KEY",
        env = "MOCK_MESSAGES_API_KEY",
        hide_env_values = true
    )]
    pub(crate) api_key: Option<String>,

    /// When stopped, list on stderr what departed from the script, and exit with 1 if anything did
    #[arg(long)]
    pub(crate) verify: bool,

    /// Read the script, report what is wrong with it, and exit
    #[arg(long, requires = "script", conflicts_with = "schema")]
    pub(crate) check: bool,

    /// Print the JSON Schema of scripts and exit
    #[arg(long)]
    pub(crate) schema: bool,
}

const EXAMPLES: &str = "\
Example:
  $ cat hello.yaml
  - user: hello
    reply: [{text: Hello.}, {call: Bash, input: {command: date}}]
  - reply: [{text: Done.}]
  $ mock-messages-api --script hello.yaml
  http://127.0.0.1:40123

While it runs:
  GET    /__mock/journal[/SESSION]       the requests so far
  GET    /__mock/verification[/SESSION]  what departed from the script
  POST   /__mock/scripts/SESSION         mount a script at /SESSION (also /SESSION/CLIENT)
  DELETE /__mock/scripts/SESSION         forget it

Exit codes: 0 fine, 1 failed to serve or departed from the script, 2 bad usage or script.";
