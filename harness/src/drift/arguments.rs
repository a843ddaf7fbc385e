//! The command line of a case's process: as the Python SDK writes it, unless the case says otherwise.

use super::corpus::RunDocument;

/// Flags with their values.
const USUAL: &[(&str, Option<&str>)] = &[
    ("--output-format", Some("stream-json")),
    ("--verbose", None),
    ("--system-prompt", Some("")),
    ("--tools", Some("Read,Bash")),
    ("--model", Some("claude-sonnet-5")),
    ("--permission-mode", Some("default")),
    (
        "--mcp-config",
        Some(r#"{"mcpServers": {"tools": {"type": "sdk", "name": "tools"}}}"#),
    ),
    ("--setting-sources=", None),
    ("--input-format", Some("stream-json")),
];

/// The arguments of a process; `session` is the one to resume.
pub(crate) fn command_line(run: &RunDocument, session: Option<&str>) -> Vec<String> {
    if let Some(only) = &run.only_arguments {
        return only.clone();
    }
    let mut arguments = Vec::new();
    for (flag, value) in USUAL {
        let name = flag.trim_end_matches('=');
        if !run.without.iter().any(|left_out| left_out == name) && !replaces(&run.arguments, name) {
            arguments.push((*flag).to_owned());
            arguments.extend(value.map(str::to_owned));
        }
    }
    if run.can_use_tool.is_some() {
        arguments.extend(["--permission-prompt-tool", "stdio"].map(str::to_owned));
    }
    if let Some(session) = session.filter(|_| run.resume) {
        arguments.extend([
            format!("--resume={session}"),
            "--await-initialize".to_owned(),
        ]);
    }
    arguments.extend(run.arguments.iter().cloned());
    arguments
}

fn replaces(arguments: &[String], flag: &str) -> bool {
    arguments
        .iter()
        .any(|argument| argument.split('=').next() == Some(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_takes_the_place_of_the_usual_flag() {
        let run = RunDocument {
            arguments: vec!["--tools=".to_owned()],
            ..RunDocument::default()
        };
        let arguments = command_line(&run, None);
        assert_eq!(
            arguments
                .iter()
                .filter(|argument| argument.starts_with("--tools"))
                .count(),
            1
        );
        assert!(arguments.contains(&"--model".to_owned()));
    }

    #[test]
    fn a_resumed_process_waits_for_initialize() {
        let run = RunDocument {
            resume: true,
            ..RunDocument::default()
        };
        let arguments = command_line(&run, Some("id"));
        assert!(arguments.ends_with(&["--resume=id".to_owned(), "--await-initialize".to_owned()]));
    }
}
