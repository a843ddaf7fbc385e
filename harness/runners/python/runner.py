"""Puts the adapter behind the runner protocol: newline-delimited JSON-RPC 2.0 on stdin and stdout.

It translates and holds no rule of a session.
"""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions

from adapter import SessionClient, Worker
from agent import Agent, ApplicationHook, Execution, Policy, Tool
from session import Session

PROTOCOL_VERSION = 1
VERSION = "0.1.0"
SDK = "claude-agent-sdk"
LONGEST_LINE = 64 * 1024 * 1024
SHOWN_OF_CALL = {"tool", "arguments", "tool_call_id"}


class ProtocolError(Exception):
    def __init__(self, kind: str, message: str, code: int = -32000) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code


class Connection:
    """Both directions of JSON-RPC on one pair of pipes."""

    def __init__(self, handlers: dict[str, Callable[[dict], Awaitable[Any]]]) -> None:
        self._handlers = handlers
        self._pending: dict[int, asyncio.Future] = {}
        self._ids = itertools.count(1)
        # Only messages may reach the harness: whatever else is printed goes to stderr.
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    async def request(self, method: str, params: dict) -> Any:
        request_id = next(self._ids)
        self._pending[request_id] = asyncio.get_running_loop().create_future()
        self._send({"id": request_id, "method": method, "params": params})
        return await self._pending[request_id]

    def notify(self, method: str, params: dict) -> None:
        self._send({"method": method, "params": params})

    async def serve(self) -> None:
        """Returns when the harness has closed our stdin."""
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        answering: set[asyncio.Task] = set()
        while line := await reader.readline():
            message = json.loads(line)
            if "method" not in message:
                self._settle(message)
            else:
                task = asyncio.create_task(self._answer(message))
                answering.add(task)
                task.add_done_callback(answering.discard)

    def _settle(self, message: dict) -> None:
        future = self._pending.pop(message["id"])
        if "error" in message:
            future.set_exception(ProtocolError("remote", message["error"]["message"]))
        else:
            future.set_result(message["result"])

    async def _answer(self, message: dict) -> None:
        try:
            handler = self._handlers.get(message["method"])
            if handler is None:
                raise ProtocolError(
                    "unsupported", f"answer {message['method']}: this runner has no such method", -32601
                )
            answer = {"result": await handler(message.get("params") or {})}
        except Exception as error:
            kind = getattr(error, "kind", "internal")
            code = getattr(error, "code", -32000)
            answer = {"error": {"code": code, "message": str(error) or repr(error), "data": {"kind": kind}}}
        self._send({"id": message["id"], **answer})

    def _send(self, message: dict) -> None:
        self._output.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._output.flush()


class Runner:
    def __init__(self) -> None:
        self._connection = Connection(
            {
                "initialize": self._initialize,
                "agent/define": self._define,
                "worker/start": self._start_worker,
                "worker/stop": self._stop_worker,
                "session/start": self._start_session,
                "session/send": self._send,
                "session/resolve": self._resolve,
                "session/snapshot": self._snapshot,
                "shutdown": self._shutdown,
            }
        )
        self._worker: Worker | None = None
        self._shut_down = asyncio.Event()

    async def run(self) -> None:
        """Returns after `shutdown`, or when the harness is gone."""
        ends = [asyncio.create_task(self._connection.serve()), asyncio.create_task(self._shut_down.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        end_children()

    async def _initialize(self, params: dict) -> dict:
        if params["protocol_version"] != PROTOCOL_VERSION:
            raise ProtocolError("invalid_request", f"speak version {params['protocol_version']}: only 1 is known")
        self._state_dir = Path(params["state_dir"])
        self._cli = params["cli"]
        self._client = SessionClient(self._state_dir)
        if params["role"] != "worker":
            self._reporting = asyncio.create_task(self._report_changes())
        return {
            "protocol_version": PROTOCOL_VERSION,
            "pid": os.getpid(),
            "runner": {"name": "python", "version": VERSION, "language": "python"},
            "adapter": {"name": "durable-python", "version": VERSION, "sdk": SDK, "sdk_version": version(SDK)},
            "capabilities": ["durable", "approvals", "split", "multi_worker"],
        }

    async def _report_changes(self) -> None:
        async for session_id, revision in self._client.changes():
            self._connection.notify("session/changed", {"session_id": session_id, "revision": revision})

    async def _define(self, params: dict) -> dict:
        if params["tool_sources"]:
            raise ProtocolError("unsupported", "define tool_sources: this adapter has none")
        options = params["options"]
        limits = {"max_attempts": options["max_attempts"], "retry_backoff": seconds(options["retry_backoff_ms"])}
        self._agent = Agent(
            options=ClaudeAgentOptions(
                cli_path=self._cli["path"],
                env={**self._cli["env"], **options["env"]},
                model=options["model"],
                system_prompt=options["system_prompt"],
                permission_mode=options["permission_mode"],
                tools=options["built_in_tools"],
                allowed_tools=options["allowed_tools"],
                disallowed_tools=options["disallowed_tools"],
                cwd=options["cwd"],
                setting_sources=[],
            ),
            tools={tool["name"]: self._tool(tool) for tool in params["tools"]},
            cli_tool_policies={
                name: Policy(given["effect"], approval(given["approval"]))
                for name, given in params["tool_policies"].items()
            },
            hooks=tuple(ApplicationHook(hook["event"], hook["matcher"], self._call_hook) for hook in params["hooks"]),
            **{name: value for name, value in limits.items() if value is not None},
        )
        return {}

    def _tool(self, given: dict) -> Tool:
        async def call(arguments: dict, execution: Execution | None) -> dict:
            params = {"tool": given["name"], "arguments": arguments, "execution": execution and vars(execution)}
            return await self._connection.request("tool/call", params)

        return Tool(
            name=given["name"],
            description=given["description"],
            input_schema=given["input_schema"],
            handler=call,
            effect=given["effect"],
            approval=approval(given["approval"]),
            annotations=given["annotations"] or {},
        )

    async def _call_hook(self, event: str, hook_input: dict) -> dict:
        return (await self._connection.request("hook/call", {"event": event, "input": hook_input}))["output"]

    async def _start_worker(self, params: dict) -> dict:
        self._worker = Worker(self._state_dir, self._agent)
        return {}

    async def _stop_worker(self, params: dict) -> dict:
        if self._worker:
            await self._worker.stop()
            self._worker = None
        return {}

    async def _start_session(self, params: dict) -> dict:
        self._client.start(params["session_id"], params["message"])
        return {}

    async def _send(self, params: dict) -> dict:
        return {"accepted": self._client.send(params["session_id"], params["text"])}

    async def _resolve(self, params: dict) -> dict:
        return {
            "accepted": self._client.resolve(
                params["session_id"], params["interrupt_id"], params["approved"], params["rejection_message"]
            )
        }

    async def _snapshot(self, params: dict) -> dict:
        return snapshot(*self._client.read(params["session_id"]))

    async def _shutdown(self, params: dict) -> dict:
        self._shut_down.set()
        return {}


def approval(given: str | None) -> bool | None:
    return None if given is None else given == "required"


def seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def snapshot(revision: int, session: Session) -> dict:
    messages = [{"sequence": at, **message.model_dump()} for at, message in enumerate(session.messages)]
    return {
        "session_id": session.session_id,
        "revision": revision,
        "status": session.status,
        "turn_id": session.turn_id,
        "messages": messages,
        "pending_interrupts": [
            {"interrupt_id": interrupt_id, "kind": "tool_approval", **call.model_dump(include=SHOWN_OF_CALL)}
            for interrupt_id, call in session.pending_interrupts
        ],
        "tool_calls": [record.model_dump(exclude={"turn_id"}) for record in session.records],
        "steps": [attempt.model_dump() for attempt in session.attempts],
        "usage": session.usage.model_dump(),
        "last_turn_error": session.last_turn_error,
    }


def end_children() -> None:
    """Whatever CLI still runs dies before we do."""
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(Runner().run())
