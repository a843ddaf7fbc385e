"""The rules of a session, as pure methods on its state: no I/O, no clock, no process.

A session does one Step at a time. `step` says which is due, `step.owner` which worker has it. A call
that leaves the turn is `call` until the model has been told how it ended; its end is in `records`.
"""

import json
from typing import Literal

from pydantic import BaseModel

RUN_MODEL = "RunModel"
AWAIT_TOOL_APPROVAL = "AwaitToolApproval"
CALL_TOOL = "CallTool"
CALL_SINGLE_ATTEMPT_TOOL = "CallSingleAttemptTool"
RESUME_TURN = "ResumeTurn"

# What the record of an approved call says that the CLI itself runs after the resume.
APPROVED_CLI_TOOL_OUTPUT = "approved; the tool runs inside the Claude Code CLI"
DEFAULT_REJECTION = "The user rejected this tool call."
OUTCOME_UNKNOWN = (
    "The call of {tool} started, but its outcome is not known: it may have taken effect. "
    "Do not repeat it without asking the user."
)


class Step(BaseModel):
    """One durable unit of work. `attempt` counts how often it was handed to a worker."""

    type: str
    execution_id: str
    attempt: int = 0
    owner: str | None = None


class ToolCall(BaseModel):
    """A tool call that leaves the turn."""

    tool_call_id: str
    tool: str
    arguments: dict
    idempotency_key: str
    needs_approval: bool
    single_attempt: bool
    inside_cli: bool


class ToolCallRecord(BaseModel):
    """How a call ended; it never changes again."""

    turn_id: str
    tool_call_id: str
    tool: str
    arguments: dict
    outcome: Literal["succeeded", "failed", "rejected", "outcome_unknown"]
    output: str


class Message(BaseModel):
    role: Literal["user", "assistant", "tool"]
    text: str


class Attempt(BaseModel):
    type: str
    attempt: int
    outcome: Literal["succeeded", "failed", "interrupted"]


class Usage(BaseModel):
    """Token figures; input includes cache reads and writes."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    model_calls: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(**{name: value + getattr(other, name) for name, value in self})


class Session(BaseModel):
    session_id: str
    queue: list[str] = []
    turns: int = 0
    steps_planned: int = 0
    step: Step | None = None
    call: ToolCall | None = None
    messages: list[Message] = []
    records: list[ToolCallRecord] = []
    attempts: list[Attempt] = []
    usage: Usage = Usage()
    last_turn_error: str | None = None

    @property
    def turn_id(self) -> str | None:
        return f"turn-{self.turns}" if self.step else None

    @property
    def status(self) -> Literal["idle", "running", "waiting"]:
        if self.step is None:
            return "idle"
        return "waiting" if self.step.type == AWAIT_TOOL_APPROVAL else "running"

    @property
    def is_due(self) -> bool:
        return self.status == "running" and self.step.owner is None

    @property
    def pending_interrupts(self) -> list[tuple[str, ToolCall]]:
        """What waits for a person, by interrupt id."""
        return [(self.step.execution_id, self.call)] if self.status == "waiting" else []

    @property
    def unsent_prompts(self) -> list[str]:
        """User texts that no stored transcript has: this turn's, and those of failed turns before it."""
        told = max((at for at, message in enumerate(self.messages) if message.role != "user"), default=-1)
        return [message.text for message in self.messages[told + 1 :]]

    def record_in_turn(self, tool_call_id: str) -> ToolCallRecord | None:
        """Tool use ids are unique within a turn only."""
        matches = (r for r in self.records if (r.turn_id, r.tool_call_id) == (self.turn_id, tool_call_id))
        return next(matches, None)

    def accept(self, text: str) -> bool:
        """Queue a user message; it starts a turn when none runs."""
        if not text.strip():
            return False
        self.queue.append(text)
        self._begin_turn()
        return True

    def hand_out(self, owner: str) -> Step:
        """Give the due Step to a worker. From here on the attempt is spent, whatever happens to the worker."""
        self.step.owner = owner
        self.step.attempt += 1
        return self.step.model_copy()

    def suspend(self, call: ToolCall, usage: Usage) -> None:
        """The segment ended with a call that leaves the turn."""
        self._end_attempt("succeeded")
        self.usage = self.usage.plus(usage)
        self.call = call
        if call.needs_approval:
            self._plan(AWAIT_TOOL_APPROVAL)
        else:
            self._plan_call()

    def resolve(self, interrupt_id: str, approved: bool, rejection: str | None) -> bool:
        """A person's answer. The first one for the pending call counts, any other changes nothing."""
        if self.status != "waiting" or interrupt_id != self.step.execution_id:
            return False
        self._log_unperformed(AWAIT_TOOL_APPROVAL)
        if approved:
            self._plan_call()
        else:
            self._record("rejected", DEFAULT_REJECTION if rejection is None else rejection)
        return True

    def finish_call(self, outcome: Literal["succeeded", "failed"], output: str) -> None:
        """The tool Step has an answer of the tool."""
        self._end_attempt("succeeded")
        self._record(outcome, output)

    def complete(self, messages: list[Message], usage: Usage) -> None:
        """The segment ended with the model's answer."""
        self._end_attempt("succeeded")
        self.usage = self.usage.plus(usage)
        self.messages += messages
        self.last_turn_error = None
        self._end_turn()

    def lose_attempt(self, how: Literal["failed", "interrupted"], error: str, max_attempts: int) -> None:
        """The attempt that a worker had has no result: an error, or the worker died."""
        self._end_attempt(how)
        exhausted = self.step.attempt >= max_attempts
        if self.step.type == RUN_MODEL and exhausted:
            self._fail_turn(error)
        elif self.step.type == CALL_SINGLE_ATTEMPT_TOOL or self.step.type == CALL_TOOL and exhausted:
            self._record("outcome_unknown", OUTCOME_UNKNOWN.format(tool=self.call.tool))

    def _begin_turn(self) -> None:
        if self.step is None and self.queue:
            self.turns += 1
            self.messages.append(Message(role="user", text=self.queue.pop(0)))
            self._plan(RUN_MODEL)

    def _plan(self, step_type: str) -> None:
        self.steps_planned += 1
        self.step = Step(type=step_type, execution_id=f"step-{self.steps_planned}")

    def _plan_call(self) -> None:
        self._plan(CALL_SINGLE_ATTEMPT_TOOL if self.call.single_attempt else CALL_TOOL)

    def _end_attempt(self, outcome: Literal["succeeded", "failed", "interrupted"]) -> None:
        self.attempts.append(Attempt(type=self.step.type, attempt=self.step.attempt, outcome=outcome))
        self.step.owner = None

    def _log_unperformed(self, step_type: str) -> None:
        """These Steps have nothing to perform, so no worker has them and they cannot fail."""
        self.attempts.append(Attempt(type=step_type, attempt=1, outcome="succeeded"))

    def _record(self, outcome: str, output: str) -> None:
        """Close the call and plan the segment that tells the model."""
        described = self.call.model_dump(include={"tool_call_id", "tool", "arguments"})
        self.records.append(ToolCallRecord(turn_id=self.turn_id, outcome=outcome, output=output, **described))
        self._log_unperformed(RESUME_TURN)
        self._plan(RUN_MODEL)

    def _fail_turn(self, error: str) -> None:
        self.last_turn_error = error
        ran = [record for record in self.records if record.turn_id == self.turn_id]
        if ran:
            self.messages.append(Message(role="user", text=_failure_note(ran)))
        self._end_turn()

    def _end_turn(self) -> None:
        self.step = self.call = None
        self._begin_turn()


def _failure_note(records: list[ToolCallRecord]) -> str:
    lines = [f"- {r.tool} {json.dumps(r.arguments)} -> {r.outcome}: {r.output}" for r in records]
    return "\n".join(
        [
            "[Dex] The previous turn failed after these tool calls ran:",
            *lines,
            "Do not repeat these tool calls unless the user asks again.",
        ]
    )
