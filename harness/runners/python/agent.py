"""What an application defines: custom tools, policies, hooks and the options of the Claude Agent SDK."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import jsonschema
from claude_agent_sdk import ClaudeAgentOptions

SERVER = "tools"
PREFIX = f"mcp__{SERVER}__"
REFUSED_MODES = ("bypassPermissions", "acceptEdits", "auto", "plan")


class InvalidOptions(ValueError):
    kind = "invalid_options"


@dataclass(frozen=True)
class Execution:
    """The tool Step that a handler runs in."""

    idempotency_key: str
    attempt: int
    tool_use_id: str


@dataclass(frozen=True)
class Policy:
    effect: str = "unclassified"
    approval: bool | None = None

    @property
    def single_attempt(self) -> bool:
        return self.effect in ("non_idempotent_write", "unclassified")

    @property
    def needs_approval(self) -> bool:
        return self.single_attempt if self.approval is None else self.approval


@dataclass(frozen=True)
class Tool:
    """A custom tool. The handler returns `{"content": [...], "is_error": bool}`."""

    name: str
    description: str
    input_schema: dict
    handler: Callable[[dict, Execution | None], Awaitable[dict]]
    effect: str | None = None
    approval: bool | None = None
    annotations: dict = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        """Without an effect of its own, a tool's MCP annotations classify it."""
        hints = {"readOnlyHint": "read", "idempotentHint": "idempotent_write"}
        hinted = (effect for hint, effect in hints.items() if self.annotations.get(hint))
        return Policy(self.effect or next(hinted, "unclassified"), self.approval)

    async def call(self, arguments: dict, execution: Execution | None) -> dict:
        try:
            jsonschema.validate(arguments, self.input_schema)
        except jsonschema.ValidationError as error:
            text = f"Input validation error: {error.message}"
            return {"content": [{"type": "text", "text": text}], "is_error": True}
        return await self.handler(arguments, execution)


@dataclass(frozen=True)
class ApplicationHook:
    event: str
    matcher: str | None
    handler: Callable[[str, dict], Awaitable[dict]]


@dataclass(frozen=True)
class Agent:
    """`options` holds what the application may set of `ClaudeAgentOptions`; backoff is in seconds."""

    options: ClaudeAgentOptions
    tools: dict[str, Tool] = field(default_factory=dict)
    cli_tool_policies: dict[str, Policy] = field(default_factory=dict)
    hooks: tuple[ApplicationHook, ...] = ()
    max_attempts: int = 3
    retry_backoff: float = 1.0

    def check_options(self) -> None:
        """Refuse what would let a tool run without its approval or its Step."""
        mode = self.options.permission_mode
        if mode in REFUSED_MODES:
            raise InvalidOptions(f"use permission_mode {mode}: it skips approvals; choose default or dontAsk")
        for rule in self.options.allowed_tools:
            name = rule.partition("(")[0]
            if self.leaves_turn(PREFIX + name if name in self.tools else name):
                raise InvalidOptions(f"use allowed_tools {rule}: calls of {name} leave the turn; take the rule out")

    def custom_tool(self, cli_name: str) -> Tool | None:
        return self.tools.get(cli_name.removeprefix(PREFIX)) if cli_name.startswith(PREFIX) else None

    def policy(self, cli_name: str) -> Policy:
        tool = self.custom_tool(cli_name)
        return tool.policy if tool else self.cli_tool_policies.get(cli_name, Policy())

    def leaves_turn(self, cli_name: str) -> bool:
        """A custom write always does, to run in a Step of its own; any other call only for its approval."""
        policy = self.policy(cli_name)
        return policy.needs_approval or (self.custom_tool(cli_name) is not None and policy.effect != "read")
