"""The Python SDK drives a CLI through its public doors; one case by name, an assertion for each thing it hands over."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    CLIConnectionError,
    CLINotFoundError,
    HookMatcher,
    InMemorySessionStore,
    PermissionResultAllow,
    PermissionResultDeny,
    ProcessError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolUseBlock,
    create_sdk_mcp_server,
    get_session_messages_from_store,
    query,
    tool,
)

PAY = "mcp__shop__pay"


class Shop:
    """A server with one write, which counts what was paid."""

    def __init__(self):
        self.paid = []

        @tool("pay", "Pays an order", {"order": str})
        async def pay(arguments):
            self.paid.append(arguments["order"])
            return {"content": [{"type": "text", "text": f"paid {arguments['order']}"}]}

        self.server = create_sdk_mcp_server("shop", "1.0.0", [pay])


def options(**more):
    return ClaudeAgentOptions(
        cli_path=os.environ["CLI"],
        model="claude-sonnet-5",
        cwd=os.getcwd(),
        # With all its tools the CLI would hide those of servers behind a search.
        tools=["Bash", "Read"],
        **more,
    )


def text_of(messages):
    blocks = (
        block
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
    )
    return [block.text for block in blocks if isinstance(block, TextBlock)]


def result_of(messages):
    results = [message for message in messages if isinstance(message, ResultMessage)]
    assert len(results) == 1, results
    return results[0]


async def ask(client, prompt):
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def case_query():
    messages = [message async for message in query(prompt="hello", options=options())]
    first = messages[0]
    assert isinstance(first, SystemMessage) and first.subtype == "init", first
    assert first.data["model"] == "claude-sonnet-5", first.data
    assert text_of(messages) == ["Hello there."], messages
    result = result_of(messages)
    assert (result.subtype, result.is_error, result.num_turns) == ("success", False, 1), result
    assert result.result == "Hello there.", result
    assert result.session_id == first.data["session_id"], result
    assert result.usage["output_tokens"] > 0 and result.total_cost_usd > 0, result


async def case_client():
    async with ClaudeSDKClient(options()) as client:
        one = await ask(client, "hello")
        two = await ask(client, "and again")
    assert text_of(one) == ["Hello there."] and text_of(two) == ["Again."], (one, two)
    assert result_of(one).session_id == result_of(two).session_id
    assert result_of(two).total_cost_usd > result_of(one).total_cost_usd


async def case_tool():
    shop = Shop()
    chosen = options(mcp_servers={"shop": shop.server}, allowed_tools=[PAY])
    async with ClaudeSDKClient(chosen) as client:
        messages = await ask(client, "pay order 7")
    assert shop.paid == ["7"], shop.paid
    calls = [
        block
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, ToolUseBlock)
    ]
    assert [(call.name, call.input) for call in calls] == [(PAY, {"order": "7"})], calls
    assert text_of(messages) == ["Paying.", "Paid."], messages
    assert result_of(messages).num_turns == 2


async def case_hooks():
    shop = Shop()
    seen = []

    async def note(data, tool_use_id, context):
        seen.append(data["hook_event_name"])
        return {}

    async def gate(data, tool_use_id, context):
        seen.append("PreToolUse")
        assert data["tool_name"] == PAY and tool_use_id, data
        answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        if data["tool_input"]["order"] == "2":
            answer["permissionDecision"] = "allow"
            answer["updatedInput"] = {"order": "two"}
        else:
            answer["permissionDecisionReason"] = "not this one"
        return {"hookSpecificOutput": answer}

    hooks = {event: [HookMatcher(hooks=[note])] for event in ("UserPromptSubmit", "PostToolUse", "Stop")}
    hooks["PreToolUse"] = [HookMatcher(matcher=PAY, hooks=[gate])]
    async with ClaudeSDKClient(options(mcp_servers={"shop": shop.server}, hooks=hooks)) as client:
        messages = await ask(client, "pay two orders")
    assert shop.paid == ["two"], shop.paid
    expected = ["UserPromptSubmit", "PreToolUse", "PreToolUse", "PostToolUse", "Stop"]
    assert seen == expected, seen
    result = result_of(messages)
    denied = [denial["tool_input"] for denial in result.permission_denials]
    assert denied == [{"order": "1"}], result


async def case_permissions():
    shop = Shop()

    async def decide(name, given, context):
        assert name == PAY and context.tool_use_id, (name, context)
        if given["order"] == "1":
            return PermissionResultAllow(updated_input={"order": "one"})
        if given["order"] == "2":
            return PermissionResultDeny(message="not today")
        return PermissionResultDeny(message="enough", interrupt=True)

    async with ClaudeSDKClient(
        options(mcp_servers={"shop": shop.server}, can_use_tool=decide)
    ) as client:
        messages = await ask(client, "pay three orders")
    assert shop.paid == ["one"], shop.paid
    result = result_of(messages)
    assert result.subtype == "error_during_execution" and result.is_error, result


async def case_deferral():
    shop = Shop()
    decision = "defer"

    async def gate(data, tool_use_id, context):
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": decision,
            }
        }

    hooks = {"PreToolUse": [HookMatcher(hooks=[gate])]}
    async with ClaudeSDKClient(options(mcp_servers={"shop": shop.server}, hooks=hooks)) as client:
        messages = await ask(client, "pay order 7")
    parked = result_of(messages)
    assert parked.stop_reason == "tool_deferred" and not parked.is_error, parked
    assert (parked.deferred_tool_use.name, parked.deferred_tool_use.input) == (PAY, {"order": "7"}), parked
    assert shop.paid == [], shop.paid
    decision = "allow"
    again = options(mcp_servers={"shop": shop.server}, hooks=hooks, resume=parked.session_id)
    async with ClaudeSDKClient(again) as client:
        messages = [message async for message in client.receive_response()]
    assert shop.paid == ["7"], shop.paid
    assert text_of(messages) == ["Paid."], messages
    assert result_of(messages).stop_reason == "end_turn"


async def case_store():
    store = InMemorySessionStore()
    async with ClaudeSDKClient(options(session_store=store)) as client:
        one = result_of(await ask(client, "hello"))
    stored = await get_session_messages_from_store(store, one.session_id, os.getcwd())
    assert [message.type for message in stored] == ["user", "assistant"], stored
    # Nothing of the first process's disk is left to the second.
    os.environ["CLAUDE_CONFIG_DIR"] = tempfile.mkdtemp(dir=Path(os.environ["CLAUDE_CONFIG_DIR"]).parent)
    async with ClaudeSDKClient(options(session_store=store, resume=one.session_id)) as client:
        two = await ask(client, "and again")
    assert text_of(two) == ["Again."], two
    assert result_of(two).session_id == one.session_id


async def case_fork():
    one = [message async for message in query(prompt="hello", options=options())]
    chosen = options(resume=result_of(one).session_id, fork_session=True)
    two = [message async for message in query(prompt="and again", options=chosen)]
    assert text_of(two) == ["Again."], two
    assert result_of(two).session_id != result_of(one).session_id


async def case_partial():
    chosen = options(include_partial_messages=True)
    messages = [message async for message in query(prompt="hello", options=chosen)]
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(deltas) == "Hello there." and len(deltas) > 3, deltas
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop"), events


async def case_interrupt():
    async with ClaudeSDKClient(options(include_partial_messages=True)) as client:
        await client.query("hello")
        messages = []
        async for message in client.receive_response():
            messages.append(message)
            if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                await client.interrupt()
        assert result_of(messages).subtype == "error_during_execution", messages[-1]
        assert text_of(await ask(client, "and again")) == ["Again."]


async def case_controls():
    shop = Shop()
    async with ClaudeSDKClient(
        options(mcp_servers={"shop": shop.server}, allowed_tools=[PAY])
    ) as client:
        information = await client.get_server_info()
        assert "commands" in information and "output_style" in information, information
        await client.set_permission_mode("plan")
        messages = await ask(client, "pay order 7")
        status = await client.get_mcp_status()
        servers = [(server["name"], server["status"]) for server in status["mcpServers"]]
        assert servers == [("shop", "connected")], status
    assert shop.paid == [], shop.paid
    assert len(result_of(messages).permission_denials) == 1, messages[-1]


async def case_limits():
    shop = Shop()
    chosen = options(mcp_servers={"shop": shop.server}, allowed_tools=[PAY], max_turns=1)
    messages = []
    try:
        async for message in query(prompt="pay order 7", options=chosen):
            messages.append(message)
    except Exception as error:
        assert "maximum number of turns" in str(error), error
    result = result_of(messages)
    assert result.subtype == "error_max_turns" and result.is_error, result
    assert shop.paid == ["7"], shop.paid


async def case_errors():
    messages = []
    try:
        async for message in query(prompt="hello", options=options()):
            messages.append(message)
    except Exception as error:
        assert "Invalid API key" in str(error), error
    result = result_of(messages)
    assert result.is_error and "Invalid API key" in result.result, result
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    assert said[0].error == "authentication_failed", said

    missing = options(resume="0d1e2f3a-0000-4000-8000-000000000000")
    try:
        async for message in query(prompt="hello", options=missing):
            messages.append(message)
        raise SystemExit("a session that is not there was resumed")
    except Exception as error:
        # A CLI that ends before it has read anything breaks the SDK's connection to it.
        ended = isinstance(error, (ProcessError, CLIConnectionError))
        assert "No conversation found" in str(error) or ended, error

    nowhere = ClaudeAgentOptions(cli_path="/nonexistent/claude")
    try:
        async for message in query(prompt="hello", options=nowhere):
            messages.append(message)
        raise SystemExit("a CLI that is not there was started")
    except CLINotFoundError:
        pass


asyncio.run(asyncio.wait_for(globals()[f"case_{sys.argv[1]}"](), 60))
