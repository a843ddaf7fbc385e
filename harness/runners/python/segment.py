"""One RunModel Step: a Claude Code CLI runs the turn until it answers or a tool call leaves the turn."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    DeferredToolUse,
    HookMatcher,
    Message,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    SystemMessage,
    UserMessage,
)
from claude_agent_sdk.types import McpSdkServerConfig
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult
from mcp.types import Tool as McpTool

from agent import PREFIX, SERVER, Agent, ApplicationHook, Tool
from session import Message as StoredMessage
from session import ToolCall, ToolCallRecord, Usage

LATER_CALL = (
    "{tool} did not run. Only one tool call per reply can run outside this turn, "
    "and another call already does. Call {tool} again by itself."
)
SUBAGENT_CALL = "{tool} did not run. Call it from the main conversation, not from a subagent."
REPEATED_CALL = "{tool} did not run. This call already has a result in this turn."


class SegmentFailed(Exception):
    """The attempt has no usable end; it may be repeated from the stored transcript."""


@dataclass
class SegmentEnd:
    """`call` is the call that left the turn, or None when the model has answered."""

    call: ToolCall | None
    entries: list[dict]
    usage: Usage


class Transcript:
    """The SDK's session store for one attempt: what is stored, and what the attempt adds to it."""

    def __init__(self, stored: list[dict]) -> None:
        self.stored = stored
        self.added: list[dict] = []

    @property
    def claude_session_id(self) -> str | None:
        return next((entry["sessionId"] for entry in self.stored if "sessionId" in entry), None)

    async def load(self, key: dict) -> list[dict] | None:
        # The entry that names the newest leaf comes after the result in a resumed segment, when the SDK no
        # longer listens. Resumed from an older one, the CLI can miss the deferred call (observed on CLI 2.1.316).
        return [entry for entry in self.stored if entry["type"] != "last-prompt"] or None

    async def append(self, key: dict, entries: list[dict]) -> None:
        # A subpath means a subagent, whose transcript no resume needs.
        if not key.get("subpath"):
            self.added += entries


class Segment:
    """`resumed` is the record of the call that the CLI is to resume; without one, `prompts` are sent."""

    def __init__(
        self,
        agent: Agent,
        stored: list[dict],
        prompts: list[str],
        recorded_ids: set[str],
        resumed: ToolCallRecord | None,
    ) -> None:
        self._agent = agent
        self._transcript = Transcript(stored)
        self._prompts = prompts
        self._recorded_ids = recorded_ids
        self._resumed = resumed
        self._told = resumed is None
        self._inline: set[str] = set()
        self._deferred: str | None = None
        self._frame_uuids: set[str] = set()

    async def run(self) -> SegmentEnd:
        self._agent.check_options()
        async with ClaudeSDKClient(self._options()) as client:
            if self._resumed is None:
                await client.query(self._prompt())
            # A resumed segment sends nothing: a prompt would destroy the deferred call.
            result = None
            async for message in client.receive_response():
                result = self._observe(message)
        if not isinstance(result, ResultMessage):
            raise SegmentFailed("the CLI ended without a result")
        return self._end(result)

    def _options(self) -> ClaudeAgentOptions:
        hooks = {"PreToolUse": [HookMatcher(hooks=[self._before_tool])]}
        for hook in self._agent.hooks:
            hooks.setdefault(hook.event, []).append(HookMatcher(hook.matcher, [_guarded(hook)]))
        return replace(
            self._agent.options,
            hooks=hooks,
            can_use_tool=self._permission,
            mcp_servers={SERVER: McpSdkServerConfig(type="sdk", name=SERVER, instance=self._server())},
            session_store=self._transcript,
            resume=self._transcript.claude_session_id,
            # Without it the CLI may run the resumed call before it has any hook (observed on CLI 2.1.316).
            extra_args={"await-initialize": None},
        )

    async def _prompt(self) -> AsyncIterator[dict]:
        texts = [{"type": "text", "text": text} for text in self._prompts]
        content = texts if len(texts) > 1 else self._prompts[0]
        yield {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}

    async def _before_tool(self, hook_input: Any, tool_use_id: str | None, context: Any) -> dict:
        name = hook_input["tool_name"]
        if self._awaits(tool_use_id):
            refusal = self._refusal_of_resumed(name)
            if refusal is not None:
                return _decision("deny", refusal)
            return _decision("allow", updatedInput=self._resumed.arguments)
        own_name = name.removeprefix(PREFIX)
        if tool_use_id in self._recorded_ids:
            return _decision("deny", REPEATED_CALL.format(tool=own_name))
        if not self._agent.leaves_turn(name):
            self._inline.add(tool_use_id)
            return _decision("allow")
        if hook_input.get("agent_id"):
            return _decision("deny", SUBAGENT_CALL.format(tool=own_name))
        if self._deferred:
            return _decision("deny", LATER_CALL.format(tool=own_name))
        self._deferred = tool_use_id
        return _decision("defer")

    async def _permission(
        self, name: str, arguments: dict, context: Any
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Asked where the CLI skipped the hook or did not heed it; only the record lets a call run here."""
        refusal = LATER_CALL.format(tool=name.removeprefix(PREFIX))
        if self._awaits(context.tool_use_id):
            refusal = self._refusal_of_resumed(name)
        if refusal is not None:
            return PermissionResultDeny(message=refusal)
        return PermissionResultAllow(updated_input=self._resumed.arguments)

    def _awaits(self, tool_use_id: str | None) -> bool:
        return not self._told and tool_use_id == self._resumed.tool_call_id

    def _refusal_of_resumed(self, name: str) -> str | None:
        """A custom tool is always let through, since its recorded answer, also a rejection, comes from our server."""
        if name.startswith(PREFIX):
            return None
        self._told = True
        return self._resumed.output if self._resumed.outcome == "rejected" else None

    def _server(self) -> Server:
        """The SDK's own `tool` handlers are not given the tool use id, so the server is built on `mcp` itself."""

        async def list_tools(context: Any, params: Any) -> ListToolsResult:
            return ListToolsResult(tools=[_mcp_tool(tool) for tool in self._agent.tools.values()])

        async def call_tool(context: Any, params: Any) -> CallToolResult:
            tool_use_id = (params.meta or {}).get("claudecode/toolUseId")
            if self._awaits(tool_use_id):
                self._told = True
                return _text_result(self._resumed.output, self._resumed.outcome != "succeeded")
            if tool_use_id not in self._inline:
                return _text_result(f"{params.name} did not run: no decision allows this call.", True)
            try:
                answer = await self._agent.tools[params.name].call(params.arguments or {}, None)
            except Exception as error:  # a handler is application code
                return _text_result(str(error), True)
            return CallToolResult.model_validate(
                {"content": answer["content"], "isError": answer.get("is_error", False)}
            )

        return Server(SERVER, version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)

    def _observe(self, message: Message) -> Message:
        if isinstance(message, AssistantMessage | UserMessage) and message.parent_tool_use_id is None and message.uuid:
            self._frame_uuids.add(message.uuid)
        # Under dontAsk the CLI itself denies a resumed call whose hook it skipped (observed on CLI 2.1.316).
        denied = isinstance(message, SystemMessage) and message.subtype == "permission_denied"
        if denied and self._awaits(message.data.get("tool_use_id")):
            raise SegmentFailed("the CLI denied the resumed call without asking for its record")
        return message

    def _end(self, result: ResultMessage) -> SegmentEnd:
        entries = self._transcript.added
        if result.is_error:
            raise SegmentFailed(result.result or "; ".join(result.errors or []) or result.stop_reason or result.subtype)
        if not self._told:
            raise SegmentFailed("the CLI did not take the recorded result of the resumed call")
        if not self._frame_uuids <= {entry.get("uuid") for entry in entries}:
            raise SegmentFailed("the transcript mirror lost an entry")
        deferred = result.deferred_tool_use
        if (deferred.id if deferred else None) != self._deferred:
            raise SegmentFailed("the CLI did not keep the deferral of a call")
        if deferred and deferred.id not in _deferrals(entries):
            raise SegmentFailed("the transcript mirror lost the deferral")
        call = self._left_turn(deferred) if deferred else None
        return SegmentEnd(call, entries, _usage(result, entries))

    def _left_turn(self, deferred: DeferredToolUse) -> ToolCall:
        policy = self._agent.policy(deferred.name)
        return ToolCall(
            tool_call_id=deferred.id,
            tool=deferred.name.removeprefix(PREFIX),
            arguments=deferred.input,
            idempotency_key=uuid.uuid4().hex,
            needs_approval=policy.needs_approval,
            single_attempt=policy.single_attempt,
            inside_cli=self._agent.custom_tool(deferred.name) is None,
        )


def stored_messages(entries: list[dict]) -> list[StoredMessage]:
    """The messages of a turn's transcript: each assistant API message and each tool result is one."""
    texts: dict[str, tuple[str, list[str]]] = {}
    for entry in entries:
        content = entry.get("message", {}).get("content")
        if entry.get("isSidechain") or not isinstance(content, list):
            continue
        for block in content:
            if entry["type"] == "assistant":
                parts = texts.setdefault(entry["message"]["id"], ("assistant", []))[1]
                parts += [block["text"]] if block["type"] == "text" else []
            elif block["type"] == "tool_result":
                texts[block["tool_use_id"]] = ("tool", [content_text(block.get("content", ""))])
    return [StoredMessage(role=role, text="".join(parts)) for role, parts in texts.values()]


def content_text(content: str | list[dict]) -> str:
    """The text of content blocks; other kinds are named."""
    if isinstance(content, str):
        return content
    return "\n".join(b["text"] if b["type"] == "text" else f"[{b['type']} content omitted]" for b in content)


def _decision(decision: str, reason: str | None = None, **more: Any) -> dict:
    output = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    if reason is not None:
        output["permissionDecisionReason"] = reason
    return {"hookSpecificOutput": output}


def _guarded(hook: ApplicationHook) -> Any:
    """The CLI lets a tool run when a hook fails (observed on CLI 2.1.316), so a failure becomes a denial."""

    async def call(hook_input: Any, tool_use_id: str | None, context: Any) -> dict:
        try:
            return await hook.handler(hook.event, hook_input)
        except Exception as error:  # a hook is application code
            if hook.event != "PreToolUse":
                raise
            return _decision("deny", f"An application hook failed: {error}")

    return call


def _mcp_tool(tool: Tool) -> McpTool:
    return McpTool.model_validate(
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "annotations": tool.annotations,
        }
    )


def _text_result(text: str, is_error: bool) -> CallToolResult:
    return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": is_error})


def _deferrals(entries: list[dict]) -> set[str]:
    attachments = (entry.get("attachment") or {} for entry in entries)
    return {a["toolUseID"] for a in attachments if a.get("type") == "hook_deferred_tool"}


def _usage(result: ResultMessage, entries: list[dict]) -> Usage:
    figures = result.usage or {}
    cached = figures.get("cache_read_input_tokens", 0)
    return Usage(
        input_tokens=figures.get("input_tokens", 0) + cached + figures.get("cache_creation_input_tokens", 0),
        cached_input_tokens=cached,
        output_tokens=figures.get("output_tokens", 0),
        model_calls=len({entry["message"]["id"] for entry in entries if entry["type"] == "assistant"}),
    )
