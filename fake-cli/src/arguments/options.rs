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
}

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
) -> OptionSpec {
    OptionSpec {
        name,
        aliases,
        arity,
        usage,
    }
}

use Arity::{Flag, OptionalValue, Value, Variadic};

/// Names and arities observed on CLI 2.1.316; the last three are this program's own.
static OPTIONS: &[OptionSpec] = &[
    option("--version", &["-v"], Flag, "-v, --version"),
    option("--help", &["-h"], Flag, "-h, --help"),
    option("--print", &["-p"], Flag, "-p, --print"),
    option("--verbose", &[], Flag, "--verbose"),
    option("--debug", &["-d"], OptionalValue, "-d, --debug [filter]"),
    option("--debug-file", &[], Value, "--debug-file <path>"),
    option("--debug-to-stderr", &[], Flag, "--debug-to-stderr"),
    option("--output-format", &[], Value, "--output-format <format>"),
    option("--input-format", &[], Value, "--input-format <format>"),
    option("--resume", &["-r"], OptionalValue, "-r, --resume [value]"),
    option(
        "--resume-session-at",
        &[],
        Value,
        "--resume-session-at <message id>",
    ),
    option("--continue", &["-c"], Flag, "-c, --continue"),
    option("--fork-session", &[], Flag, "--fork-session"),
    option("--session-id", &[], Value, "--session-id <uuid>"),
    option("--await-initialize", &[], Flag, "--await-initialize"),
    option("--session-mirror", &[], Flag, "--session-mirror"),
    option(
        "--no-session-persistence",
        &[],
        Flag,
        "--no-session-persistence",
    ),
    option(
        "--include-partial-messages",
        &[],
        Flag,
        "--include-partial-messages",
    ),
    option("--include-hook-events", &[], Flag, "--include-hook-events"),
    option(
        "--replay-user-messages",
        &[],
        Flag,
        "--replay-user-messages",
    ),
    option(
        "--forward-subagent-text",
        &[],
        Flag,
        "--forward-subagent-text",
    ),
    option("--permission-mode", &[], Value, "--permission-mode <mode>"),
    option(
        "--permission-prompt-tool",
        &[],
        Value,
        "--permission-prompt-tool <tool>",
    ),
    option(
        "--permission-prompts",
        &[],
        Value,
        "--permission-prompts <target>",
    ),
    option(
        "--dangerously-skip-permissions",
        &[],
        Flag,
        "--dangerously-skip-permissions",
    ),
    option(
        "--allow-dangerously-skip-permissions",
        &[],
        Flag,
        "--allow-dangerously-skip-permissions",
    ),
    option("--mcp-config", &[], Variadic, "--mcp-config <configs...>"),
    option("--strict-mcp-config", &[], Flag, "--strict-mcp-config"),
    option("--tools", &[], Variadic, "--tools <tools...>"),
    option(
        "--allowedTools",
        &["--allowed-tools"],
        Variadic,
        "--allowedTools, --allowed-tools <tools...>",
    ),
    option(
        "--disallowedTools",
        &["--disallowed-tools"],
        Variadic,
        "--disallowedTools, --disallowed-tools <tools...>",
    ),
    option("--add-dir", &[], Variadic, "--add-dir <directories...>"),
    option("--model", &[], Value, "--model <model>"),
    option("--fallback-model", &[], Value, "--fallback-model <model>"),
    option("--system-prompt", &[], Value, "--system-prompt <prompt>"),
    option(
        "--system-prompt-file",
        &[],
        Value,
        "--system-prompt-file <file>",
    ),
    option(
        "--append-system-prompt",
        &[],
        Value,
        "--append-system-prompt <prompt>",
    ),
    option(
        "--append-system-prompt-file",
        &[],
        Value,
        "--append-system-prompt-file <file>",
    ),
    option("--max-turns", &[], Value, "--max-turns <turns>"),
    option("--max-budget-usd", &[], Value, "--max-budget-usd <amount>"),
    option(
        "--max-thinking-tokens",
        &[],
        Value,
        "--max-thinking-tokens <tokens>",
    ),
    option("--thinking", &[], Value, "--thinking <mode>"),
    option(
        "--thinking-display",
        &[],
        Value,
        "--thinking-display <display>",
    ),
    option("--task-budget", &[], Value, "--task-budget <tokens>"),
    option("--effort", &[], Value, "--effort <level>"),
    option("--json-schema", &[], Value, "--json-schema <schema>"),
    option(
        "--setting-sources",
        &[],
        Value,
        "--setting-sources <sources>",
    ),
    option("--settings", &[], Value, "--settings <file-or-json>"),
    option("--agent", &[], Value, "--agent <agent>"),
    option("--agents", &[], Value, "--agents <json-or-file>"),
    option("--betas", &[], Variadic, "--betas <betas...>"),
    option("--plugin-dir", &[], Value, "--plugin-dir <path>"),
    option(
        "--disable-slash-commands",
        &[],
        Flag,
        "--disable-slash-commands",
    ),
    option(
        "--prompt-suggestions",
        &[],
        OptionalValue,
        "--prompt-suggestions [value]",
    ),
    option("--name", &["-n"], Value, "-n, --name <name>"),
    option("--bare", &[], Flag, "--bare"),
    option("--restricted", &[], Flag, "--restricted"),
    option("--safe-mode", &[], Flag, "--safe-mode"),
    option("--quirk", &[], Value, "--quirk <name>"),
    option("--imitate", &[], Value, "--imitate <version>"),
    option("--prompt-commands", &[], Flag, "--prompt-commands"),
];
