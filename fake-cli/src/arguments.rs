//! The command line, in both forms the SDKs write (`--flag value`, `--flag=value`).

mod options;

use crate::output::OutputFormat;
use crate::permissions::PermissionMode;
use options::{Arity, OptionSpec};
use uuid::Uuid;

/// What one start of the program is asked to do.
#[derive(Debug)]
pub enum Invocation {
    /// Print the imitated version.
    Version {
        /// Version that is printed.
        imitate: String,
    },
    /// Print the option summary.
    Help,
    /// Print the table of quirks.
    ListQuirks,
    /// Serve a headless session.
    Session(Box<Arguments>),
}

/// The options of a headless session.
#[derive(Debug, Default)]
pub struct Arguments {
    pub(crate) resume: Option<String>,
    pub(crate) continue_latest: bool,
    pub(crate) fork_session: bool,
    pub(crate) session_id: Option<Uuid>,
    pub(crate) await_initialize: bool,
    pub(crate) session_mirror: bool,
    pub(crate) include_partial_messages: bool,
    pub(crate) replay_user_messages: bool,
    pub(crate) no_session_persistence: bool,
    pub(crate) permission_prompt_over_stdio: bool,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) skip_permissions_allowed: bool,
    pub(crate) mcp_configs: Vec<String>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) disallowed_tools: Vec<String>,
    pub(crate) additional_directories: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) fallback_model: Option<String>,
    pub(crate) system_prompt: Option<String>,
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) max_turns: Option<u64>,
    pub(crate) quirks: Vec<String>,
    pub(crate) imitate: Option<String>,
    pub(crate) prompt_commands: bool,
    pub(crate) stream_json_input: bool,
    pub(crate) output_format: OutputFormat,
    pub(crate) prompt: Option<String>,
}

/// A command line that is refused before anything runs; the text goes to stderr as it is and the
/// exit code is 1.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ArgumentError {
    /// No such option.
    #[error("error: unknown option '{0}'")]
    Unknown(String),
    /// The option needs a value and none follows.
    #[error("error: option '{0}' argument missing")]
    Missing(&'static str),
    /// The value is not one of the allowed ones.
    #[error("error: option '{option}' argument '{value}' is invalid. {expected}")]
    Invalid {
        /// The option as the help text writes it.
        option: &'static str,
        /// What was given.
        value: String,
        /// What would have been accepted.
        expected: String,
    },
    /// The session id is no UUID.
    #[error("Error: Invalid session ID. Must be a valid UUID.")]
    SessionId,
    /// A file that the command line names is not there.
    #[error("Error: {what} not found: {path}")]
    NotFound {
        /// What the file is for.
        what: &'static str,
        /// Its path as it was given.
        path: String,
    },
    /// Printing frames needs `--verbose`.
    #[error("Error: When using --print, --output-format=stream-json requires --verbose")]
    VerboseRequired,
    /// Root may not skip permissions unless it says that it runs in a sandbox.
    #[error(
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
    )]
    RootSkipsPermissions,
}

/// Facts about the process that decide whether a command line is allowed.
#[derive(Debug, Clone, Copy)]
pub struct Privileges {
    /// Whether the process runs as root.
    pub root: bool,
    /// Whether `IS_SANDBOX=1` is set.
    pub sandbox: bool,
}

impl Invocation {
    /// Parses the arguments that follow the program's name.
    ///
    /// # Errors
    /// The first thing the real program would refuse, with its text.
    pub fn parse(
        arguments: impl IntoIterator<Item = String>,
        privileges: Privileges,
    ) -> Result<Self, ArgumentError> {
        let mut parser = Parser::default();
        parser.read(arguments)?;
        parser.finish(privileges)
    }
}

#[derive(Default)]
struct Parser {
    arguments: Arguments,
    positional: Vec<String>,
    version: bool,
    help: bool,
    verbose: bool,
}

impl Parser {
    fn read(&mut self, arguments: impl IntoIterator<Item = String>) -> Result<(), ArgumentError> {
        let mut rest = arguments.into_iter().peekable();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                self.positional.extend(rest);
                return Ok(());
            }
            if !argument.starts_with('-') || argument == "-" {
                self.positional.push(argument);
                continue;
            }
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), Some(value.to_owned()))
                }
                _ => (argument.clone(), None),
            };
            let spec =
                options::find(&name).ok_or_else(|| ArgumentError::Unknown(argument.clone()))?;
            let next_is_value = |rest: &mut std::iter::Peekable<_>| -> bool {
                rest.peek()
                    .is_some_and(|next: &String| !next.starts_with('-'))
            };
            match spec.arity {
                Arity::Flag => self.apply(spec, Vec::new())?,
                Arity::Value => {
                    let value = match inline {
                        Some(value) => value,
                        None => rest.next().ok_or(ArgumentError::Missing(spec.usage))?,
                    };
                    self.apply(spec, vec![value])?;
                }
                Arity::OptionalValue => {
                    let value = match inline {
                        Some(value) => Some(value),
                        None if next_is_value(&mut rest) => rest.next(),
                        None => None,
                    };
                    self.apply(spec, value.into_iter().collect())?;
                }
                Arity::Variadic => {
                    let mut values: Vec<String> = match inline {
                        Some(value) => vec![value],
                        None => {
                            vec![rest.next().ok_or(ArgumentError::Missing(spec.usage))?]
                        }
                    };
                    while next_is_value(&mut rest) {
                        values.extend(rest.next());
                    }
                    self.apply(spec, values)?;
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, spec: &OptionSpec, values: Vec<String>) -> Result<(), ArgumentError> {
        let target = &mut self.arguments;
        let first = || values.first().cloned().unwrap_or_default();
        match spec.name {
            "--version" => self.version = true,
            "--help" => self.help = true,
            "--verbose" => self.verbose = true,
            "--resume" => target.resume = Some(first()),
            "--continue" => target.continue_latest = true,
            "--fork-session" => target.fork_session = true,
            "--session-id" => {
                target.session_id =
                    Some(Uuid::parse_str(&first()).map_err(|_| ArgumentError::SessionId)?);
            }
            "--await-initialize" => target.await_initialize = true,
            "--session-mirror" => target.session_mirror = true,
            "--include-partial-messages" => target.include_partial_messages = true,
            "--replay-user-messages" => target.replay_user_messages = true,
            "--no-session-persistence" => target.no_session_persistence = true,
            "--permission-prompt-tool" => {
                target.permission_prompt_over_stdio = first() == "stdio";
            }
            "--permission-mode" => {
                let value = first();
                target.permission_mode = PermissionMode::from_argument(&value)
                    .ok_or_else(|| invalid(spec, value, PermissionMode::ALLOWED_ARGUMENTS))?;
            }
            "--dangerously-skip-permissions" => {
                target.permission_mode = PermissionMode::BypassPermissions;
            }
            "--allow-dangerously-skip-permissions" => target.skip_permissions_allowed = true,
            "--mcp-config" => target.mcp_configs.extend(values),
            "--tools" => target.tools = Some(split_list(&values)),
            "--allowedTools" => target.allowed_tools.extend(split_list(&values)),
            "--disallowedTools" => target.disallowed_tools.extend(split_list(&values)),
            "--add-dir" => target.additional_directories.extend(values),
            "--model" => target.model = Some(first()),
            "--fallback-model" => target.fallback_model = Some(first()),
            "--system-prompt" => target.system_prompt = Some(first()),
            "--system-prompt-file" => {
                target.system_prompt = Some(read_prompt("System prompt file", &first())?);
            }
            "--append-system-prompt-file" => {
                let text = read_prompt("Append system prompt file", &first())?;
                target.append_system_prompt = Some(text);
            }
            "--append-system-prompt" => target.append_system_prompt = Some(first()),
            "--max-turns" => {
                let value = first();
                target.max_turns = Some(
                    value
                        .parse()
                        .map_err(|_| invalid(spec, value, "must be a number"))?,
                );
            }
            "--input-format" => {
                let value = first();
                target.stream_json_input = match value.as_str() {
                    "stream-json" => true,
                    "text" => false,
                    _ => {
                        return Err(invalid(
                            spec,
                            value,
                            "Allowed choices are text, stream-json.",
                        ));
                    }
                };
            }
            "--output-format" => {
                let value = first();
                target.output_format = match value.as_str() {
                    "stream-json" => OutputFormat::StreamJson,
                    "json" => OutputFormat::Json,
                    "text" => OutputFormat::Text,
                    _ => {
                        let expected = "Allowed choices are text, json, stream-json.";
                        return Err(invalid(spec, value, expected));
                    }
                };
            }
            "--quirk" => target.quirks.push(first()),
            "--imitate" => target.imitate = Some(first()),
            "--prompt-commands" => target.prompt_commands = true,
            // The rest is accepted because the SDKs pass it, and has no effect in this mode.
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, privileges: Privileges) -> Result<Invocation, ArgumentError> {
        if self.version {
            let imitate = self.arguments.imitate.take();
            return Ok(Invocation::Version {
                imitate: imitate.unwrap_or_else(|| crate::IMITATED_VERSION.to_owned()),
            });
        }
        if self.help {
            return Ok(Invocation::Help);
        }
        if self.positional.first().is_some_and(|word| word == "quirks") {
            return Ok(Invocation::ListQuirks);
        }
        let streams = self.arguments.output_format == OutputFormat::StreamJson;
        if streams && !self.verbose {
            return Err(ArgumentError::VerboseRequired);
        }
        let bypass = self.arguments.permission_mode == PermissionMode::BypassPermissions;
        if bypass && privileges.root && !privileges.sandbox {
            return Err(ArgumentError::RootSkipsPermissions);
        }
        self.arguments.skip_permissions_allowed |= bypass;
        if !self.positional.is_empty() {
            self.arguments.prompt = Some(self.positional.join(" "));
        }
        Ok(Invocation::Session(Box::new(self.arguments)))
    }
}

/// The option summary.
pub(crate) fn help() -> String {
    let options: Vec<String> = options::all()
        .iter()
        .map(|option| format!("  {:<42} {}", option.usage, option.about))
        .collect();
    format!(
        "Usage: fake-claude [options] [prompt]\n       fake-claude quirks\n\nA Claude Code CLI for \
         tests: the command line, frames and control protocol of version {}, headless \
         stream-json.\n\nOptions:\n{}\n\nWith --prompt-commands no API is asked; every line of \
         a prompt is a command:\n{}\n\nFAKE_CLAUDE_QUIRKS holds quirks, separated by commas.",
        crate::IMITATED_VERSION,
        options.join("\n"),
        crate::scripted::COMMANDS,
    )
}

fn read_prompt(what: &'static str, path: &str) -> Result<String, ArgumentError> {
    std::fs::read_to_string(path).map_err(|_| ArgumentError::NotFound {
        what,
        path: path.to_owned(),
    })
}

fn invalid(spec: &OptionSpec, value: String, expected: &str) -> ArgumentError {
    ArgumentError::Invalid {
        option: spec.usage,
        value,
        expected: expected.to_owned(),
    }
}

/// Splits at commas that are outside parentheses: `Bash(git add, git mv),Read` is two rules.
fn split_list(values: &[String]) -> Vec<String> {
    let mut items = Vec::new();
    for value in values {
        let mut depth = 0_usize;
        let mut item = String::new();
        for character in value.chars() {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    items.push(std::mem::take(&mut item));
                    continue;
                }
                _ => {}
            }
            item.push(character);
        }
        items.push(item);
    }
    items
        .into_iter()
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

#[cfg(test)]
mod tests;
