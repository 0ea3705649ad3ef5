"""What each session was handed already, so that no agent pays for the same text twice.

Blocks are known by marks, which tell what they say: one that changed is handed over again. So is
all when the agent's context is empty, as after a compaction, of which its hook tells. How long ago
it was doesn't matter: until then the agent has the text before it, and of a remedy it is reminded
by the hint about the failing call. Whoever searches is answered in full, since it asked. It is
kept in memory only; after a new start a session is handed everything once more, which is no harm.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

MAX_SESSIONS: Final = 256
MAX_MARKS: Final = 2_000
LATE_SECONDS: Final = 0.8
"""From here on a hook may have given up waiting: what took so long counts as not handed over."""


class HandedOver:
    """The marks of the blocks that each session was handed, of the sessions used last."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], OrderedDict[str, None]] = OrderedDict()

    def marks(self, agent_id: str, session: str) -> frozenset[str]:
        """Return the marks of all that a session was handed."""
        return frozenset(self._sessions.get((agent_id, session), ()))

    def note(self, agent_id: str, session: str, marks: Iterable[str], *, seconds: float) -> None:
        """Remember what a session was handed, unless preparing it took too many ``seconds``."""
        if seconds >= LATE_SECONDS:
            return
        key = (agent_id, session)
        known = self._sessions.setdefault(key, OrderedDict())
        self._sessions.move_to_end(key)
        for mark in marks:
            known[mark] = None
            known.move_to_end(mark)
        while len(known) > MAX_MARKS:
            known.popitem(last=False)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def forget(self, agent_id: str, session: str) -> None:
        """Forget what a session was handed: it ended, or its agent starts with nothing again."""
        self._sessions.pop((agent_id, session), None)
