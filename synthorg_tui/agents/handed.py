"""What each session was handed already, so that no agent pays for the same text twice.

Blocks are known by marks, which tell what they say: one that changed is handed over again. So is
all when the agent's context is empty, as after a compaction, of which its hook tells. How long ago
it was doesn't matter: until then the agent has the text before it, and of a remedy it is reminded
by the hint about the failing call. Whoever searches is answered in full, since it asked. It is
kept in memory only; after a new start a session is handed everything once more, which is no harm.

A text counts as handed over once its receipt was acknowledged: the hook wrote it, the answer of
the tool was sent. What isn't acknowledged, since the hook gave up or was killed, is given again.
"""

import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

MAX_SESSIONS: Final = 256
MAX_MARKS: Final = 2_000
MAX_RECEIPTS: Final = 64
"""Texts of one connection that are on their way; those before them count as not handed over."""


class SessionMarks(OrderedDict[str, None]):
    """The marks of the blocks that one session was handed, of which the last ones are kept."""

    async def add(self, marks: Iterable[str]) -> None:
        """Remember what the session was handed; receipts await it."""
        remember(self, marks, MAX_MARKS)


class HandedOver:
    """The marks of the sessions used last."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], SessionMarks] = OrderedDict()

    def of(self, agent_id: str, session: str) -> SessionMarks:
        """Return the marks of a session.

        What is added to them after ``forget`` is lost: it was handed to the context before.
        """
        marks = self._sessions.setdefault((agent_id, session), SessionMarks())
        self._sessions.move_to_end((agent_id, session))
        keep_latest(self._sessions, MAX_SESSIONS)
        return marks

    def forget(self, agent_id: str, session: str) -> None:
        """Forget what a session was handed: it ended, or its agent starts with nothing again."""
        self._sessions.pop((agent_id, session), None)


class Receipts:
    """The texts that one connection was given and hasn't acknowledged yet."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Callable[[], Awaitable[None]]] = OrderedDict()

    def issue(self, note: Callable[[], Awaitable[None]]) -> str:
        """Return a receipt; ``note`` is awaited when it is acknowledged."""
        receipt = uuid.uuid4().hex
        self._open[receipt] = note
        keep_latest(self._open, MAX_RECEIPTS)
        return receipt

    async def acknowledge(self, receipt: str) -> None:
        """Note that the text was handed over; a receipt that isn't open is ignored."""
        note = self._open.pop(receipt, None)
        if note is not None:
            await note()


def remember(latest: OrderedDict[str, None], names: Iterable[str], most: int) -> None:
    """Add names to those that came last, of which at most ``most`` stay."""
    for name in names:
        latest[name] = None
        latest.move_to_end(name)
    keep_latest(latest, most)


def keep_latest(ordered: OrderedDict[Any, Any], most: int) -> None:
    """Drop the entries before the last ``most``."""
    while len(ordered) > most:
        ordered.popitem(last=False)
