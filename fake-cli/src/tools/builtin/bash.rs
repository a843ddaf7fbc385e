//! `Bash`: a shell command in a session of its own, as the real program runs it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::{BuiltinOutcome, Parameter, Refusal, optional, required};
use crate::permissions::{Allowance, AskReason};
use crate::session::Session;

/// What runs the commands.
const SHELL: &str = "/bin/bash";

pub(super) const PARAMETERS: &[Parameter] = &[
    required("command", "string", "the command"),
    optional("timeout", "number", "milliseconds, at most 600000"),
    optional("description", "string", "what the command does"),
    optional("run_in_background", "boolean", "do not wait"),
    optional(
        "dangerouslyDisableSandbox",
        "boolean",
        "run outside the sandbox",
    ),
];

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const LONGEST_TIMEOUT_MS: u64 = 600_000;

/// Commands that only look, as far as this program cares.
const READ_ONLY: [&str; 20] = [
    "ls", "pwd", "cat", "head", "tail", "wc", "echo", "true", "false", "which", "whoami", "date",
    "uname", "stat", "file", "du", "df", "grep", "find", "id",
];

/// Refuses a bare `sleep`, before any hook is asked (observed on CLI 2.1.316).
pub(super) fn prepare(input: &Value) -> Result<Value, Refusal> {
    let command = input["command"].as_str().unwrap_or_default().trim();
    let mut words = command.split_whitespace();
    if let (Some("sleep"), Some(seconds), None) = (words.next(), words.next(), words.next())
        && seconds.parse::<f64>().is_ok_and(|seconds| seconds >= 2.0)
    {
        let reason = format!("Blocked: standalone sleep {seconds}. Wait for a condition instead.");
        return Err(Refusal {
            text: format!("<tool_use_error>{reason}</tool_use_error>"),
            told: Some(format!("Error: {reason}")),
        });
    }
    Ok(input.clone())
}

pub(super) fn allowance(session: &Session, input: &Value) -> Allowance {
    let command = input["command"].as_str().unwrap_or_default();
    if is_read_only(command) {
        return Allowance::Free;
    }
    let change = Change::of(session, command);
    let reason = AskReason {
        text: change.as_ref().map(|change| change.refusal(session)),
        plan_text: Some(
            "Auto mode could not evaluate this action and is blocking it for safety — this program \
             has no classifier."
                .to_owned(),
        ),
        request: question(session, command, change.as_ref()),
    };
    if change.is_some() {
        Allowance::Edit(reason)
    } else {
        Allowance::Ask(AskReason {
            text: Some("This command requires approval".to_owned()),
            ..reason
        })
    }
}

/// Whether every part of a command line only looks at things.
fn is_read_only(command: &str) -> bool {
    let writes = command.contains(['>', '`']) || command.contains("$(");
    !writes
        && command
            .split(['|', '&', ';', '\n'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .all(|part| {
                part.split_whitespace()
                    .next()
                    .is_some_and(|program| READ_ONLY.contains(&program))
            })
}

/// Commands that say nothing when they succeed.
const SILENT: [&str; 13] = [
    "mv", "cp", "rm", "mkdir", "rmdir", "chmod", "chown", "chgrp", "touch", "ln", "cd", "export",
    "unset",
];

fn is_silent_by_nature(command: &str) -> bool {
    let parts = command.split(['|', '&', ';', '\n']);
    let mut programs = parts
        .filter_map(|part| part.split_whitespace().next())
        .peekable();
    programs.peek().is_some() && programs.all(|program| SILENT.contains(&program))
}

/// What a question about a command proposes and names (observed on CLI 2.1.316).
fn question(
    session: &Session,
    command: &str,
    change: Option<&Change<'_>>,
) -> serde_json::Map<String, Value> {
    let mut suggestions = vec![json!({
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": command}],
        "behavior": "allow",
        "destination": "localSettings",
    })];
    let mut request = serde_json::Map::new();
    if let Some(change) = change {
        suggestions.push(json!({
            "type": "addDirectories",
            "directories": [session.stamp.working_directory],
            "destination": "session",
        }));
        suggestions.push(json!({
            "type": "setMode",
            "mode": "acceptEdits",
            "destination": "session",
        }));
        request.insert("blocked_path".to_owned(), json!(change.path));
    }
    request.insert("permission_suggestions".to_owned(), json!(suggestions));
    request
}

/// A command that creates, changes or removes files inside the working directory.
struct Change<'a> {
    program: &'a str,
    path: PathBuf,
}

impl<'a> Change<'a> {
    fn of(session: &Session, command: &'a str) -> Option<Self> {
        let mut words = command.split_whitespace();
        let program = words.next()?;
        if !["touch", "mkdir", "rm", "rmdir", "mv", "cp"].contains(&program) {
            return None;
        }
        let target = words.find(|word| !word.starts_with('-'))?;
        let path = session.environment.working_directory.join(target);
        Some(Self { program, path })
    }

    /// What the model hears if nobody can be asked (observed on CLI 2.1.316).
    fn refusal(&self, session: &Session) -> String {
        format!(
            "{} in '{}' needs approval. The path is inside the working directories for this \
             session ('{}'), and Claude Code asks before a shell command creates, changes or \
             removes files there.",
            self.program,
            self.path.display(),
            session.stamp.working_directory
        )
    }
}

pub(super) async fn run(session: &Session, input: &Value) -> BuiltinOutcome {
    let command = input["command"].as_str().unwrap_or_default();
    let limit = input["timeout"].as_u64().unwrap_or(DEFAULT_TIMEOUT_MS);
    let limit = Duration::from_millis(limit.min(LONGEST_TIMEOUT_MS));
    let mut shell = match Shell::start(session, command) {
        Ok(shell) => shell,
        Err(error) => return BuiltinOutcome::Error(format!("failed to start a shell: {error}")),
    };
    let finished = tokio::time::timeout(limit, shell.finish()).await;
    let (mut output, status) = match finished {
        Ok(Ok(finished)) => finished,
        Ok(Err(error)) => return BuiltinOutcome::Error(format!("failed to read: {error}")),
        Err(_) => {
            let text = format!(
                "Exit code 143\nCommand timed out after {}s",
                limit.as_secs_f64()
            );
            return BuiltinOutcome::Error(text);
        }
    };
    let moved = output.take_directory() != session.stamp.working_directory;
    let text = output.text.trim_end_matches('\n');
    if status != 0 {
        let separator = if text.is_empty() { "" } else { "\n" };
        return BuiltinOutcome::Error(format!("Exit code {status}{separator}{text}"));
    }
    let reset = if moved {
        format!(
            "\nShell cwd was reset to {}",
            session.stamp.working_directory
        )
    } else {
        String::new()
    };
    let shown = format!("{text}{reset}");
    let silent = shown.is_empty();
    let content = if silent {
        "(Bash completed with no output)"
    } else {
        &shown
    };
    BuiltinOutcome::Success {
        content: json!(content),
        structured: json!({
            "stdout": text,
            "stderr": reset,
            "interrupted": false,
            "isImage": false,
            "noOutputExpected": is_silent_by_nature(command),
        }),
        states_success: true,
    }
}

/// What a command wrote, followed by the directory it ended in.
struct ShellOutput {
    text: String,
    marker: String,
}

impl ShellOutput {
    fn take_directory(&mut self) -> String {
        match self.text.rfind(&self.marker) {
            Some(position) => {
                let tail = self.text.split_off(position);
                tail[self.marker.len()..].trim_end_matches('\n').to_owned()
            }
            None => String::new(),
        }
    }
}

/// A shell and everything it started; dropping it kills them.
struct Shell {
    child: tokio::process::Child,
    output: tokio::net::unix::pipe::Receiver,
    group: Option<rustix::process::Pid>,
    marker: String,
}

impl Shell {
    fn start(session: &Session, command: &str) -> std::io::Result<Self> {
        let marker = format!("\u{1}{}\u{1}", uuid::Uuid::new_v4());
        let (reader, writer) = std::io::pipe()?;
        let mut shell = std::process::Command::new("/bin/bash");
        shell
            .arg("-c")
            .arg(r#"eval "$1"; status=$?; printf '%s%s' "$2" "$PWD"; exit $status"#)
            .args([SHELL, command, &marker])
            .current_dir(&session.environment.working_directory)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        // SAFETY: setsid is async-signal-safe and touches no memory of the parent.
        #[expect(
            unsafe_code,
            reason = "the standard library offers process groups only"
        )]
        unsafe {
            shell.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(())
            });
        }
        let child = tokio::process::Command::from(shell)
            .kill_on_drop(true)
            .spawn()?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw);
        let reader = std::fs::File::from(std::os::fd::OwnedFd::from(reader));
        Ok(Self {
            child,
            output: tokio::net::unix::pipe::Receiver::from_file(reader)?,
            group,
            marker,
        })
    }

    async fn finish(&mut self) -> std::io::Result<(ShellOutput, i32)> {
        let mut bytes = Vec::new();
        self.output.read_to_end(&mut bytes).await?;
        let status = self.child.wait().await?;
        let output = ShellOutput {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            marker: self.marker.clone(),
        };
        let code = status.code().unwrap_or_else(|| {
            128 + std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
        });
        Ok((output, code))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Nothing is left to kill when the command has ended by itself.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_told_from_changing() {
        for command in ["ls", "ls -l | head", "pwd; ls", "cat a && echo done"] {
            assert!(is_read_only(command), "{command}");
        }
        for command in [
            "touch a",
            "echo hi > a",
            "ls; rm a",
            "echo $(rm a)",
            "python x",
        ] {
            assert!(!is_read_only(command), "{command}");
        }
    }

    #[test]
    fn only_a_bare_long_sleep_is_refused() {
        assert!(prepare(&json!({"command": "sleep 30"})).is_err());
        assert!(prepare(&json!({"command": "sleep 0.1"})).is_ok());
        assert!(prepare(&json!({"command": "sleep 30; echo done"})).is_ok());
    }
}
