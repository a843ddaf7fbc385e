use super::*;

const USER: Privileges = Privileges {
    root: false,
    sandbox: false,
};

fn parse(words: &[&str]) -> Result<Invocation, ArgumentError> {
    Invocation::parse(words.iter().map(|word| (*word).to_owned()), USER)
}

fn session(words: &[&str]) -> Arguments {
    match parse(words) {
        Ok(Invocation::Session(arguments)) => *arguments,
        other => panic!("not a session: {other:?}"),
    }
}

#[test]
fn both_forms_of_a_value_mean_the_same() {
    let spaced = session(&["--resume", "abc", "--tools", "Read,Bash", "--verbose"]);
    let joined = session(&["--resume=abc", "--tools=Read,Bash", "--verbose"]);
    assert_eq!(spaced.resume, joined.resume);
    assert_eq!(spaced.tools, joined.tools);
    assert_eq!(
        spaced.tools,
        Some(vec!["Read".to_owned(), "Bash".to_owned()])
    );
}

#[test]
fn an_empty_tool_list_is_not_the_default_list() {
    assert_eq!(session(&["--tools", ""]).tools, Some(Vec::new()));
    assert_eq!(session(&[]).tools, None);
}

#[test]
fn a_rule_with_a_comma_in_parentheses_stays_whole() {
    let arguments = session(&["--allowedTools", "Bash(git add, git mv),Read"]);
    assert_eq!(arguments.allowed_tools, ["Bash(git add, git mv)", "Read"]);
}

#[test]
fn refusals_carry_the_texts_of_the_real_program() {
    let text = |words: &[&str]| match parse(words) {
        Err(error) => error.to_string(),
        Ok(other) => panic!("accepted: {other:?}"),
    };
    assert_eq!(
        text(&["--no-such-flag"]),
        "error: unknown option '--no-such-flag'"
    );
    assert_eq!(
        text(&["--model"]),
        "error: option '--model <model>' argument missing"
    );
    assert_eq!(
        text(&["--permission-mode", "bogus"]),
        "error: option '--permission-mode <mode>' argument 'bogus' is invalid. Allowed choices are \
         acceptEdits, auto, bypassPermissions, manual, dontAsk, plan."
    );
    assert_eq!(
        text(&["--max-turns", "abc"]),
        "error: option '--max-turns <turns>' argument 'abc' is invalid. must be a number"
    );
    assert_eq!(
        text(&["--session-id", "abc"]),
        "Error: Invalid session ID. Must be a valid UUID."
    );
    assert_eq!(
        text(&["--output-format", "stream-json"]),
        "Error: When using --print, --output-format=stream-json requires --verbose"
    );
}

#[test]
fn root_skips_permissions_only_in_a_sandbox() {
    let words = || vec!["--permission-mode=bypassPermissions".to_owned()];
    let root = Privileges {
        root: true,
        sandbox: false,
    };
    assert_eq!(
        Invocation::parse(words(), root).err(),
        Some(ArgumentError::RootSkipsPermissions)
    );
    let sandboxed = Privileges {
        root: true,
        sandbox: true,
    };
    assert!(Invocation::parse(words(), sandboxed).is_ok());
}
