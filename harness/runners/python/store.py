"""Durable state of sessions: one SQLite file that client and workers share.

The file keeps SQLite's rollback journal on purpose: a commit *is* the removal of the journal file, so
whoever watches the directory learns of every commit, also of one whose worker died right after it.
"""

import fcntl
import json
import os
import sqlite3
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from asyncinotify import Inotify, Mask

from session import Session

DATABASE = "sessions.db"


class UnknownSession(Exception):
    kind = "unknown_session"


class SessionExists(Exception):
    kind = "session_exists"


class Store:
    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir
        state_dir.mkdir(parents=True, exist_ok=True)
        # No implicit transactions: each one is opened by _transaction, with the write lock from the start.
        self._database = sqlite3.connect(state_dir / DATABASE, timeout=30, isolation_level=None)
        with self._transaction():
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS sessions (session_id TEXT PRIMARY KEY, revision INTEGER, state TEXT)"
            )
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS transcript"
                " (position INTEGER PRIMARY KEY, session_id TEXT, turn_id TEXT, entry TEXT)"
            )

    def create(self, session: Session) -> None:
        try:
            with self._transaction():
                self._database.execute(
                    "INSERT INTO sessions VALUES (?, 1, ?)", (session.session_id, session.model_dump_json())
                )
        except sqlite3.IntegrityError:
            raise SessionExists(f"start session {session.session_id}: it exists; send to it instead") from None

    def read(self, session_id: str) -> tuple[int, Session]:
        """The session and its revision, which rises with every change."""
        query = "SELECT revision, state FROM sessions WHERE session_id = ?"
        row = self._database.execute(query, (session_id,)).fetchone()
        if row is None:
            raise UnknownSession(f"find session {session_id}: it was never started")
        return row[0], Session.model_validate_json(row[1])

    def revisions(self) -> dict[str, int]:
        return dict(self._database.execute("SELECT session_id, revision FROM sessions"))

    @contextmanager
    def change(self, session_id: str) -> Iterator[Session]:
        """One transaction. What the caller does to the session is stored, unless it raises."""
        with self._transaction():
            revision, session = self.read(session_id)
            before = session.model_copy(deep=True)
            yield session
            if session != before:
                self._database.execute(
                    "UPDATE sessions SET revision = ?, state = ? WHERE session_id = ?",
                    (revision + 1, session.model_dump_json(), session_id),
                )

    def transcript(self, session_id: str, turn_id: str | None = None) -> list[dict]:
        """Stored transcript entries of a session, or of one of its turns, in order."""
        rows = self._database.execute(
            "SELECT entry FROM transcript WHERE session_id = ? AND turn_id = ifnull(?, turn_id) ORDER BY position",
            (session_id, turn_id),
        )
        return [json.loads(entry) for (entry,) in rows]

    def add_transcript(self, session_id: str, turn_id: str, entries: list[dict]) -> None:
        self._database.executemany(
            "INSERT INTO transcript (session_id, turn_id, entry) VALUES (?, ?, ?)",
            [(session_id, turn_id, json.dumps(entry)) for entry in entries],
        )

    def drop_transcript(self, session_id: str, turn_id: str) -> None:
        self._database.execute("DELETE FROM transcript WHERE session_id = ? AND turn_id = ?", (session_id, turn_id))

    async def commits(self) -> AsyncIterator[None]:
        """Yields once at once and then after every commit of any process."""
        with Inotify() as inotify:
            inotify.add_watch(self._directory, Mask.DELETE)
            yield
            async for event in inotify:
                if event.name is not None and event.name.name == f"{DATABASE}-journal":
                    yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


class Lifeline:
    """A worker's proof of life: a lock on a file, which ends with the process however it ends."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / "workers"
        self._directory.mkdir(parents=True, exist_ok=True)
        self.owner = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._file = open(self._directory / self.owner, "w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def is_dead(self, owner: str) -> bool:
        try:
            with open(self._directory / owner) as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    def process(self, owner: str) -> int:
        """A descriptor that becomes readable when that worker's process ends."""
        return os.pidfd_open(int(owner.partition("-")[0]))

    def close(self) -> None:
        (self._directory / self.owner).unlink()
        self._file.close()
