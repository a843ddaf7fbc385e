//! The table of options: names, spellings and how many values each takes.

/// How many values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    Flag,
    Value,
    OptionalValue,
    Variadic,
}

/// One option of the program.
#[derive(Debug)]
pub(super) struct OptionSpec {
    /// The spelling by which the parser knows the option.
    pub(super) name: &'static str,
    /// Other spellings.
    pub(super) aliases: &'static [&'static str],
    pub(super) arity: Arity,
    /// How error messages write the option.
    pub(super) usage: &'static str,
    /// What it does, for the help text.
    pub(super) about: &'static str,
}

/// Of an option that is read and checked as the real program does, and changes nothing here.
const IGNORED: &str = "accepted, without effect";

pub(super) fn find(spelling: &str) -> Option<&'static OptionSpec> {
    OPTIONS
        .iter()
        .find(|option| option.name == spelling || option.aliases.contains(&spelling))
}

/// Every option, for the help text.
pub(super) fn all() -> &'static [OptionSpec] {
    OPTIONS
}

const fn option(
    name: &'static str,
    aliases: &'static [&'static str],
    arity: Arity,
    usage: &'static str,
    about: &'static str,
) -> OptionSpec {
    OptionSpec {
        name,
        aliases,
        arity,
        usage,
        about,
    }
}

use Arity::{Flag, OptionalValue, Value, Variadic};

/// Names and arities observed on CLI 2.1.316; the last three are this program's own.
static OPTIONS: &[OptionSpec] = &[
    option(
        "--version",
        &["-v"],
        Flag,
        "-v, --version",
        "print the imitated version",
    ),
    option("--help", &["-h"], Flag, "-h, --help", "print this"),
    option(
        "--print",
        &["-p"],
        Flag,
        "-p, --print",
        "accepted: there is no other way to run",
    ),
    option(
        "--verbose",
        &[],
        Flag,
        "--verbose",
        "needed for stream-json output",
    ),
    option(
        "--debug",
        &["-d"],
        OptionalValue,
        "-d, --debug [filter]",
        IGNORED,
    ),
    option("--debug-file", &[], Value, "--debug-file <path>", IGNORED),
    option("--debug-to-stderr", &[], Flag, "--debug-to-stderr", IGNORED),
    option(
        "--output-format",
        &[],
        Value,
        "--output-format <format>",
        "text: the words of the result; json: its frame; stream-json: every frame",
    ),
    option(
        "--input-format",
        &[],
        Value,
        "--input-format <format>",
        "stream-json, or text: one prompt",
    ),
    option(
        "--resume",
        &["-r"],
        OptionalValue,
        "-r, --resume [value]",
        "go on with a session, and with the call it deferred",
    ),
    option(
        "--resume-session-at",
        &[],
        Value,
        "--resume-session-at <message id>",
        IGNORED,
    ),
    option(
        "--continue",
        &["-c"],
        Flag,
        "-c, --continue",
        "go on with the latest session of this directory",
    ),
    option(
        "--fork-session",
        &[],
        Flag,
        "--fork-session",
        "go on under a new session id",
    ),
    option(
        "--session-id",
        &[],
        Value,
        "--session-id <uuid>",
        "the id of a new session",
    ),
    option(
        "--await-initialize",
        &[],
        Flag,
        "--await-initialize",
        "do nothing before the host's initialize",
    ),
    option(
        "--session-mirror",
        &[],
        Flag,
        "--session-mirror",
        "show transcript entries as frames, too",
    ),
    option(
        "--no-session-persistence",
        &[],
        Flag,
        "--no-session-persistence",
        "write no transcript",
    ),
    option(
        "--include-partial-messages",
        &[],
        Flag,
        "--include-partial-messages",
        "show replies as they stream in",
    ),
    option(
        "--include-hook-events",
        &[],
        Flag,
        "--include-hook-events",
        IGNORED,
    ),
    option(
        "--replay-user-messages",
        &[],
        Flag,
        "--replay-user-messages",
        "show prompts as they are taken up",
    ),
    option(
        "--forward-subagent-text",
        &[],
        Flag,
        "--forward-subagent-text",
        IGNORED,
    ),
    option(
        "--permission-mode",
        &[],
        Value,
        "--permission-mode <mode>",
        "default, acceptEdits, plan, dontAsk, bypassPermissions or auto",
    ),
    option(
        "--permission-prompt-tool",
        &[],
        Value,
        "--permission-prompt-tool <tool>",
        "stdio: ask the host with can_use_tool",
    ),
    option(
        "--permission-prompts",
        &[],
        Value,
        "--permission-prompts <target>",
        IGNORED,
    ),
    option(
        "--dangerously-skip-permissions",
        &[],
        Flag,
        "--dangerously-skip-permissions",
        "as --permission-mode bypassPermissions",
    ),
    option(
        "--allow-dangerously-skip-permissions",
        &[],
        Flag,
        "--allow-dangerously-skip-permissions",
        "refused for root, as the other one",
    ),
    option(
        "--mcp-config",
        &[],
        Variadic,
        "--mcp-config <configs...>",
        "servers, as JSON or files: sdk and stdio",
    ),
    option(
        "--strict-mcp-config",
        &[],
        Flag,
        "--strict-mcp-config",
        IGNORED,
    ),
    option(
        "--tools",
        &[],
        Variadic,
        "--tools <tools...>",
        "the built-in tools; \"\" for none",
    ),
    option(
        "--allowedTools",
        &["--allowed-tools"],
        Variadic,
        "--allowedTools, --allowed-tools <tools...>",
        "rules that need no permission",
    ),
    option(
        "--disallowedTools",
        &["--disallowed-tools"],
        Variadic,
        "--disallowedTools, --disallowed-tools <tools...>",
        "rules that are denied",
    ),
    option(
        "--add-dir",
        &[],
        Variadic,
        "--add-dir <directories...>",
        "further directories to read and edit",
    ),
    option(
        "--model",
        &[],
        Value,
        "--model <model>",
        "a model, or an alias",
    ),
    option(
        "--fallback-model",
        &[],
        Value,
        "--fallback-model <model>",
        "a model to ask after three overloads in a row",
    ),
    option(
        "--system-prompt",
        &[],
        Value,
        "--system-prompt <prompt>",
        "the host's system prompt",
    ),
    option(
        "--system-prompt-file",
        &[],
        Value,
        "--system-prompt-file <file>",
        "the same, from a file",
    ),
    option(
        "--append-system-prompt",
        &[],
        Value,
        "--append-system-prompt <prompt>",
        "what the host adds to a system prompt",
    ),
    option(
        "--append-system-prompt-file",
        &[],
        Value,
        "--append-system-prompt-file <file>",
        "the same, from a file",
    ),
    option(
        "--max-turns",
        &[],
        Value,
        "--max-turns <turns>",
        "how many replies a turn may take",
    ),
    option(
        "--max-budget-usd",
        &[],
        Value,
        "--max-budget-usd <amount>",
        IGNORED,
    ),
    option(
        "--max-thinking-tokens",
        &[],
        Value,
        "--max-thinking-tokens <tokens>",
        IGNORED,
    ),
    option("--thinking", &[], Value, "--thinking <mode>", IGNORED),
    option(
        "--thinking-display",
        &[],
        Value,
        "--thinking-display <display>",
        IGNORED,
    ),
    option(
        "--task-budget",
        &[],
        Value,
        "--task-budget <tokens>",
        IGNORED,
    ),
    option("--effort", &[], Value, "--effort <level>", IGNORED),
    option(
        "--json-schema",
        &[],
        Value,
        "--json-schema <schema>",
        IGNORED,
    ),
    option(
        "--setting-sources",
        &[],
        Value,
        "--setting-sources <sources>",
        IGNORED,
    ),
    option(
        "--settings",
        &[],
        Value,
        "--settings <file-or-json>",
        IGNORED,
    ),
    option("--agent", &[], Value, "--agent <agent>", IGNORED),
    option("--agents", &[], Value, "--agents <json-or-file>", IGNORED),
    option("--betas", &[], Variadic, "--betas <betas...>", IGNORED),
    option("--plugin-dir", &[], Value, "--plugin-dir <path>", IGNORED),
    option(
        "--disable-slash-commands",
        &[],
        Flag,
        "--disable-slash-commands",
        IGNORED,
    ),
    option(
        "--prompt-suggestions",
        &[],
        OptionalValue,
        "--prompt-suggestions [value]",
        IGNORED,
    ),
    option("--name", &["-n"], Value, "-n, --name <name>", IGNORED),
    option("--bare", &[], Flag, "--bare", IGNORED),
    option("--restricted", &[], Flag, "--restricted", IGNORED),
    option("--safe-mode", &[], Flag, "--safe-mode", IGNORED),
    option(
        "--quirk",
        &[],
        Value,
        "--quirk <name>",
        "behave as the real one on its worst day; `fake-claude quirks` lists the names",
    ),
    option(
        "--imitate",
        &[],
        Value,
        "--imitate <version>",
        "the version to tell",
    ),
    option(
        "--prompt-commands",
        &[],
        Flag,
        "--prompt-commands",
        "ask no API: the prompt says what the model does, see below",
    ),
];
