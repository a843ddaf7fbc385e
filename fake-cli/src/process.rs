//! The process: start-up, input, signals, exit code.

use std::io::Write;
use std::os::fd::AsFd;
use std::rc::Rc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::arguments::{Arguments, Invocation, Privileges};
use crate::control;
use crate::environment::Environment;
use crate::input::Input;
use crate::mcp::read_configs;
use crate::output::Output;
use crate::quirks::{QUIRKS, Quirk, Quirks};
use crate::session::{Identity, Prompt, Session};
use crate::transcript::{self, LoadedSession, PendingDeferral};
use crate::turn;

/// Neither stdin nor the command line has a prompt.
const NO_INPUT: &str =
    "Error: Input must be provided either through stdin or as a prompt argument when using --print";

/// The exit code of a process that SIGTERM ended.
const TERMINATED: i32 = 143;

/// Runs the program with the process's own arguments, environment and streams, and returns its exit
/// code.
#[must_use]
pub fn run_process() -> i32 {
    let privileges = Privileges {
        root: rustix::process::geteuid().is_root(),
        sandbox: std::env::var_os("IS_SANDBOX").is_some_and(|value| value == "1"),
    };
    match Invocation::parse(std::env::args().skip(1), privileges) {
        Err(error) => fail(&error),
        Ok(Invocation::Version { imitate }) => print_line(&format!("{imitate} (Claude Code)")),
        Ok(Invocation::Help) => print_line(&crate::arguments::help()),
        Ok(Invocation::ListQuirks) => {
            let lines: Vec<String> = QUIRKS.iter().map(ToString::to_string).collect();
            print_line(&lines.join("\n"))
        }
        Ok(Invocation::Session(arguments)) => run_session(*arguments),
    }
}

fn print_line(text: &str) -> i32 {
    // Whoever closed stdout wants no output.
    let _ = writeln!(std::io::stdout(), "{text}");
    0
}

fn fail(error: &dyn std::fmt::Display) -> i32 {
    eprintln!("{error}");
    1
}

fn run_session(arguments: Arguments) -> i32 {
    let environment = match Environment::of_process() {
        Ok(environment) => environment,
        Err(error) => return fail(&format!("failed to find the working directory: {error}")),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("failed to start: {error}")),
    };
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async move {
        match Opened::open(arguments, environment) {
            Ok(opened) => opened.serve().await,
            Err(code) => code,
        }
    })
}

/// A session that may begin.
struct Opened {
    session: Rc<Session>,
    deferral: Option<PendingDeferral>,
    servers: Vec<crate::mcp::ServerConfig>,
}

impl Opened {
    fn open(arguments: Arguments, environment: Environment) -> Result<Self, i32> {
        let named = environment.get("FAKE_CLAUDE_QUIRKS").unwrap_or_default();
        let names = arguments.quirks.iter().map(String::as_str);
        let quirks = Quirks::parse(names.chain([named])).map_err(|error| fail(&error))?;
        let servers = read_configs(&arguments.mcp_configs, &environment.working_directory)
            .map_err(|error| fail(&error))?;
        let output = Rc::new(Output::new(
            Box::new(std::io::stdout()),
            quirks.clone(),
            arguments.output_format,
        ));
        let (identity, loaded) = match choose_session(&arguments, &environment) {
            Ok(chosen) => chosen,
            Err(refused) => {
                let RefusedSession { session, error } = refused;
                if let Some(session) = session {
                    output.frame(&turn::fail_session(&session, &error));
                }
                return Err(fail(&error));
            }
        };
        let mut loaded = loaded.unwrap_or_default();
        let deferral = loaded.deferral.take();
        let session = Rc::new(Session::new(
            arguments,
            environment,
            quirks,
            identity,
            output,
        ));
        session.adopt(loaded);
        if deferral.is_some() {
            turn::hold_prompts(&session);
        }
        Ok(Self {
            session,
            deferral,
            servers,
        })
    }

    async fn serve(self) -> i32 {
        let session = Rc::clone(&self.session);
        let descriptor = std::io::stdin().as_fd().try_clone_to_owned();
        let input = match descriptor.and_then(Input::new) {
            Ok(input) => input,
            Err(error) => return fail(&format!("failed to read stdin: {error}")),
        };
        let signals = signal(SignalKind::terminate()).and_then(|terminate| {
            signal(SignalKind::interrupt()).map(|interrupt| (terminate, interrupt))
        });
        let (mut terminate, mut interrupt) = match signals {
            Ok(signals) => signals,
            Err(error) => return fail(&format!("failed to listen for signals: {error}")),
        };
        let (ask_for_ready_lines, ready_lines_wanted) = mpsc::channel(1);
        let reading = read_input(Rc::clone(&session), input, ready_lines_wanted);
        let working = self.work(ask_for_ready_lines);
        // Whatever is pending at the end must not withdraw itself with a last frame, so both outlive
        // the choice below.
        tokio::pin!(reading, working);
        let flushing = session.transcript.flush_in_the_background();
        let reader_gone = session.output.reader_gone().clone();
        let code = tokio::select! {
            biased;
            _ = terminate.recv() => TERMINATED,
            code = interrupted(&session, &mut interrupt) => code,
            code = &mut reading => code,
            code = &mut working => code,
            () = reader_gone.cancelled() => 1,
            () = flushing => 0,
        };
        if session.is_started() {
            turn::note_mode(&session);
            session.save_costs();
        }
        session.transcript.flush();
        session.output.silence();
        code
    }

    /// Start-up, the deferred call, then turn after turn until the host has nothing more to say.
    async fn work(self, ask_for_ready_lines: mpsc::Sender<oneshot::Sender<()>>) -> i32 {
        let session = self.session;
        if session.arguments.await_initialize {
            let mut initialized = session.initialized.subscribe();
            tokio::select! {
                _ = initialized.wait_for(|initialized| *initialized) => {}
                () = session.host.input_closed().cancelled() => {}
            }
        }
        if self.deferral.is_some() {
            session.enter_state("running");
        }
        let configured: Vec<String> = self
            .servers
            .iter()
            .map(|server| server.name.clone())
            .collect();
        for server in self.servers {
            control::connect(&session, server);
        }
        session.start();
        control::answer_initializes(&session);
        if let Some(deferral) = self.deferral {
            session.mcp.settled().await;
            handle_ready_lines(&ask_for_ready_lines).await;
            turn::resume_deferred_call(&session, deferral, &configured).await;
        }
        while session.prompts.wait().await {
            turn::run_prompts(&session).await;
        }
        session.host.input_closed().cancelled().await;
        if session.quirks.has(&Quirk::LingerAfterResult) {
            std::future::pending::<()>().await;
        }
        let failed = session.ledger.borrow().last_result_was_error;
        i32::from(failed || session.quirks.has(&Quirk::NonzeroExitAfterSuccess))
    }
}

/// An interrupt from the keyboard: a running turn ends with its result first (observed on CLI
/// 2.1.316).
async fn interrupted(session: &Session, signal: &mut Signal) -> i32 {
    signal.recv().await;
    session.interrupts.signal();
    session.interrupts.idle().await;
    0
}

/// Lets the reader handle every line that is there already.
async fn handle_ready_lines(ask: &mpsc::Sender<oneshot::Sender<()>>) {
    let (done, handled) = oneshot::channel();
    if ask.send(done).await.is_ok() {
        // A reader that has ended has handled everything.
        let _ = handled.await;
    }
}

/// Reads until a line is fatal. The end of the input ends no work.
async fn read_input(
    session: Rc<Session>,
    mut input: Input,
    mut ready_lines_wanted: mpsc::Receiver<oneshot::Sender<()>>,
) -> i32 {
    if !session.arguments.stream_json_input && !read_words(&session, &mut input).await {
        return fail(&NO_INPUT);
    }
    loop {
        let line = tokio::select! {
            biased;
            wanted = ready_lines_wanted.recv() => {
                while let Ok(Some(line)) = input.next_ready_line() {
                    if let Err(error) = control::handle(&session, &line) {
                        return fail(&error);
                    }
                }
                if let Some(done) = wanted {
                    let _ = done.send(());
                    continue;
                }
                // Start-up is over; nobody asks any more.
                input.next_line().await
            }
            line = input.next_line() => line,
        };
        match line {
            Ok(Some(line)) => {
                if let Err(error) = control::handle(&session, &line) {
                    return fail(&error);
                }
                // What a line sets off happens before the next one is looked at.
                tokio::task::yield_now().await;
            }
            Ok(None) | Err(_) => {
                session.prompts.close();
                session.host.close();
                ready_lines_wanted.close();
                while let Some(done) = ready_lines_wanted.recv().await {
                    let _ = done.send(());
                }
                return std::future::pending().await;
            }
        }
    }
}

/// Plain input is one prompt, after the one of the command line. Whether there is one.
async fn read_words(session: &Session, input: &mut Input) -> bool {
    let mut lines: Vec<String> = session.arguments.prompt.clone().into_iter().collect();
    while let Ok(Some(line)) = input.next_line().await {
        lines.push(String::from_utf8_lossy(&line).into_owned());
    }
    if lines.is_empty() {
        // A deferred call needs no prompt.
        return session.resumed;
    }
    session.prompts.push(Prompt {
        uuid: Uuid::new_v4(),
        content: serde_json::json!(lines.join("\n")),
    });
    true
}

struct RefusedSession {
    /// The session that the result is about; without one there is no result.
    session: Option<String>,
    error: String,
}

/// Which session this process serves, and what it left on disk.
fn choose_session(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<(Identity, Option<LoadedSession>), RefusedSession> {
    let config = &environment.config_directory;
    let directory = &environment.working_directory;
    let wanted = match &arguments.resume {
        Some(text) => Some(parse_session_id(text)?),
        None if arguments.continue_latest => transcript::latest_session(config, directory),
        None => None,
    };
    let Some(id) = wanted else {
        let id = arguments.session_id.unwrap_or_else(Uuid::new_v4);
        let path = transcript::session_path(config, directory, id);
        if arguments.session_id.is_some() && path.exists() {
            return Err(RefusedSession {
                session: None,
                error: format!("Error: Session ID {id} is already in use."),
            });
        }
        let identity = Identity {
            id,
            path,
            resumed: false,
        };
        return Ok((identity, None));
    };
    let not_found = || RefusedSession {
        session: Some(id.to_string()),
        error: format!("No conversation found with session ID: {id}"),
    };
    let path = transcript::find_session(config, directory, id).ok_or_else(not_found)?;
    let loaded = transcript::load(&path).map_err(|_| not_found())?;
    if arguments.fork_session {
        let fork = arguments.session_id.unwrap_or_else(Uuid::new_v4);
        let identity = Identity {
            id: fork,
            path: transcript::session_path(config, directory, fork),
            resumed: true,
        };
        return Ok((identity, Some(loaded.forked(fork))));
    }
    let identity = Identity {
        id,
        path,
        resumed: true,
    };
    Ok((identity, Some(loaded)))
}

fn parse_session_id(text: &str) -> Result<Uuid, RefusedSession> {
    Uuid::parse_str(text).map_err(|_| RefusedSession {
        session: Some(Uuid::new_v4().to_string()),
        error: format!(
            "Error: --resume requires a valid session ID or session title when used with --print. \
             Usage: claude -p --resume <session-id|title>. Provided value \"{text}\" is not a UUID \
             and does not match any session title."
        ),
    })
}
