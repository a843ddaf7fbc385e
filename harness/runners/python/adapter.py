"""A durable adapter on the official Claude Agent SDK: clients and workers on one state directory.

`SessionClient` asks, approves and reads; `Worker` does the Steps that are due. A Step has three parts:
it is handed out in one transaction, performed without a lock, and its end committed in another one.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

from agent import Agent, Execution
from segment import Segment, content_text, stored_messages
from session import APPROVED_CLI_TOOL_OUTPUT, RUN_MODEL, Session, Step
from store import Lifeline, Store

logger = logging.getLogger(__name__)


class SessionClient:
    """What a person's front end needs. No method waits for a worker."""

    def __init__(self, state_dir: Path) -> None:
        self._store = Store(state_dir)

    def start(self, session_id: str, message: str | None) -> None:
        session = Session(session_id=session_id)
        if message is not None:
            session.accept(message)
        self._store.create(session)

    def send(self, session_id: str, text: str) -> bool:
        with self._store.change(session_id) as session:
            return session.accept(text)

    def resolve(self, session_id: str, interrupt_id: str, approved: bool, rejection_message: str | None = None) -> bool:
        with self._store.change(session_id) as session:
            return session.resolve(interrupt_id, approved, rejection_message)

    def read(self, session_id: str) -> tuple[int, Session]:
        """The session and its revision."""
        return self._store.read(session_id)

    async def changes(self) -> AsyncIterator[tuple[str, int]]:
        """Every session that changed, and its revision, whoever changed it."""
        seen: dict[str, int] = {}
        async for _ in self._store.commits():
            for session_id, revision in self._store.revisions().items():
                if seen.get(session_id) != revision:
                    seen[session_id] = revision
                    yield session_id, revision


class Worker:
    """Works on every session of the state directory whose next Step is due or whose worker is dead."""

    def __init__(self, state_dir: Path, agent: Agent) -> None:
        self._store = Store(state_dir)
        self._lifeline = Lifeline(state_dir)
        self._agent = agent
        self._performing: set[asyncio.Task] = set()
        self._watched: dict[str, int] = {}
        self._taking = asyncio.create_task(self._take_steps())
        self._taking.add_done_callback(self._crash_on_error)

    async def stop(self) -> None:
        """Takes no more Steps and returns when those in flight are committed."""
        self._taking.cancel()
        for owner in list(self._watched):
            self._stop_watching(owner)
        await asyncio.gather(self._taking, *self._performing, return_exceptions=True)
        self._lifeline.close()

    async def _take_steps(self) -> None:
        async for _ in self._store.commits():
            self._take_due_steps()

    def _take_due_steps(self) -> None:
        for session_id in self._store.revisions():
            step = self._store.read(session_id)[1].step
            if step and step.owner and not self._lifeline.is_dead(step.owner):
                self._watch(step.owner)
            else:
                self._take_step(session_id)

    def _take_step(self, session_id: str) -> None:
        with self._store.change(session_id) as session:
            if session.step and session.step.owner and self._lifeline.is_dead(session.step.owner):
                self._lose_attempt(session, "interrupted", "the worker died")
            if not session.is_due:
                return
            step = session.hand_out(self._lifeline.owner)
        task = asyncio.create_task(self._do(session, step))
        self._performing.add(task)
        task.add_done_callback(self._performing.discard)
        task.add_done_callback(self._crash_on_error)

    def _watch(self, owner: str) -> None:
        """Look again when that worker dies, since a death commits nothing."""
        if owner == self._lifeline.owner or owner in self._watched:
            return
        try:
            process = self._lifeline.process(owner)
        except ProcessLookupError:  # it died just now
            self._take_due_steps()
            return
        self._watched[owner] = process

        def died() -> None:
            self._stop_watching(owner)
            self._take_due_steps()

        asyncio.get_running_loop().add_reader(process, died)

    def _stop_watching(self, owner: str) -> None:
        process = self._watched.pop(owner)
        asyncio.get_running_loop().remove_reader(process)
        os.close(process)

    def _crash_on_error(self, task: asyncio.Task) -> None:
        """A worker that cannot use its store must not keep its Steps: its death hands them to another."""
        if not task.cancelled() and (error := task.exception()):
            logger.critical("the worker gives up", exc_info=error)
            os._exit(1)

    async def _do(self, session: Session, step: Step) -> None:
        try:
            await self._back_off(session, step)
            perform = self._run_model if step.type == RUN_MODEL else self._call_tool
            end = await perform(session, step)
        except Exception as error:  # whatever it was, the attempt is over
            logger.warning("%s %s, attempt %d, failed", session.session_id, step.type, step.attempt, exc_info=True)
            end = partial(self._lose_attempt, how="failed", error=str(error) or type(error).__name__)
        with self._store.change(session.session_id) as current:
            if current.step == step:
                end(current)
            else:
                logger.warning("%s was taken over; its late end is dropped", step.type)

    async def _back_off(self, session: Session, step: Step) -> None:
        if step.attempt > 1 and session.attempts[-1].outcome == "failed":
            await asyncio.sleep(self._agent.retry_backoff * 2 ** (step.attempt - 2))

    async def _run_model(self, session: Session, step: Step) -> Callable[[Session], None]:
        turn_id, session_id = session.turn_id, session.session_id
        resumed = session.call and session.record_in_turn(session.call.tool_call_id)
        recorded = {record.tool_call_id for record in session.records if record.turn_id == turn_id}
        stored = self._store.transcript(session_id)
        segment = await Segment(self._agent, stored, session.unsent_prompts, recorded, resumed).run()

        def end(current: Session) -> None:
            self._store.add_transcript(session_id, turn_id, segment.entries)
            if segment.call:
                current.suspend(segment.call, segment.usage)
            else:
                current.complete(stored_messages(self._store.transcript(session_id, turn_id)), segment.usage)

        return end

    async def _call_tool(self, session: Session, step: Step) -> Callable[[Session], None]:
        call = session.call
        if call.inside_cli:
            return lambda current: current.finish_call("succeeded", APPROVED_CLI_TOOL_OUTPUT)
        execution = Execution(call.idempotency_key, step.attempt, call.tool_call_id)
        answer = await self._agent.tools[call.tool].call(call.arguments, execution)
        outcome = "failed" if answer.get("is_error") else "succeeded"
        return lambda current: current.finish_call(outcome, content_text(answer["content"]))

    def _lose_attempt(self, session: Session, how: str, error: str) -> None:
        turn_id = session.turn_id
        session.lose_attempt(how, error, self._agent.max_attempts)
        if session.turn_id != turn_id:
            self._store.drop_transcript(session.session_id, turn_id)
