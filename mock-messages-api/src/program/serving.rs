//! Serving until stopped.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use mock_messages_api::{MockMessagesApi, Script};
use tokio::signal::unix::{SignalKind, signal};

use super::{Arguments, script_file::read_script};

/// Exit code for bad usage or a bad script, as clap uses it.
const BAD_SCRIPT: u8 = 2;

pub(crate) fn run(arguments: Arguments) -> ExitCode {
    if arguments.schema {
        return exit_code(print_schema());
    }
    let script = match arguments.script.as_deref().map(read_script).transpose() {
        Ok(script) => script,
        Err(error) => {
            eprintln!("{:?}", Report::new(error));
            return ExitCode::from(BAD_SCRIPT);
        }
    };
    if arguments.check {
        return ExitCode::SUCCESS;
    }
    exit_code(serve(&arguments, script))
}

fn exit_code(result: Result<(), Report>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            eprintln!("{report:?}");
            ExitCode::FAILURE
        }
    }
}

fn print_schema() -> Result<(), Report> {
    let schema = schemars::schema_for!(Script);
    let text = serde_json::to_string_pretty(&schema).into_diagnostic()?;
    writeln!(io::stdout(), "{text}")
        .into_diagnostic()
        .wrap_err("failed to print the schema")
}

#[tokio::main(flavor = "current_thread")]
async fn serve(arguments: &Arguments, script: Option<Script>) -> Result<(), Report> {
    let mut builder = MockMessagesApi::builder()
        .bind(arguments.listen)
        .control_routes();
    if let Some(key) = &arguments.api_key {
        builder = builder.api_key(key);
    }
    if let Some(path) = &arguments.journal {
        builder = builder.journal_sink(create(path)?);
    }
    let api = builder
        .start()
        .await
        .into_diagnostic()
        .wrap_err_with(|| format!("failed to listen on {}", arguments.listen))?;
    if let Some(script) = script {
        api.mount("", script);
    }
    // The handlers are in place before the line that tells a parent the server is there.
    let stop = Stop::new().into_diagnostic()?;
    writeln!(io::stdout(), "{}", api.root_url())
        .into_diagnostic()
        .wrap_err("failed to print the base URL")?;
    stop.requested().await;
    let verification = api.verify("");
    api.stop().await;
    if arguments.verify {
        verification.map_err(|error| miette!("{error}"))?;
    }
    Ok(())
}

fn create(path: &Path) -> Result<File, Report> {
    File::create(path)
        .into_diagnostic()
        .wrap_err_with(|| format!("failed to create the journal {}", path.display()))
}

struct Stop {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Stop {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn requested(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
