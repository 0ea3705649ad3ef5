"""Organisation memory that knows how facts changed: each answer says what the fact said before.

Answers are of today's truth; what it replaced is named in their explanation, from the append-only
log. A bound on how long the past is told leaves the log whole: of what ended longer ago the words
are kept back, not when it was said or by whom.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.memory.org.config import OrgTemporalConfig
from synthorg_tui.memory.org.log import LogRow, log_rows
from synthorg_tui.memory.org.models import OrgMemoryQuery
from synthorg_tui.memory.org.search import FoundFact, OrgSearch
from synthorg_tui.memory.store.core import Core
from synthorg_tui.persistence.port import Connection

_MAX_TOLD: Final = 80


class SearchWithPast(OrgSearch):
    """The search of the backend ``temporal_kg``; ``temporal`` says what of the past is told."""

    def __init__(self, core: Core, temporal: OrgTemporalConfig) -> None:
        super().__init__(core)
        self._temporal = temporal

    async def find(
        self, query: OrgMemoryQuery, *, project: str | None = None
    ) -> tuple[FoundFact, ...]:
        """Return what ``OrgSearch.find`` does, with what each fact said before."""
        found = await super().find(query, project=project)
        if not found or not self._temporal.track_changes:
            return found
        ids = [hit.fact.id for hit in found]

        def read(db: Connection) -> list[LogRow]:
            about = "list_contains(?::UUID[], fact_id) ORDER BY fact_id, version"
            return log_rows(db, about, [ids])

        logs: dict[str, list[LogRow]] = {fact_id: [] for fact_id in ids}
        for row in await self._core.read(read):
            logs[row.fact_id].append(row)
        days, cutoff = self._temporal.history_retention_days, None
        if days is not None:
            cutoff = self._core.clock.now() - timedelta(days=days)
        return tuple(_with_past(hit, logs[hit.fact.id], cutoff) for hit in found)


def _with_past(hit: FoundFact, log: Sequence[LogRow], cutoff: datetime | None) -> FoundFact:
    """The hit, with what the fact said before in its explanation."""
    said = [line for line in log if line.content is not None]
    for former, newer in reversed(list(pairwise(said))):
        if former.content != newer.content:
            break
    else:
        return hit
    text = " ".join((former.content or "").split())
    words = f"'{safe_text(truncate(text, _MAX_TOLD))}'"
    if cutoff is not None and newer.made_at.replace(tzinfo=UTC) <= cutoff:
        words = "something else"
    who = "a person" if former.author_is_human else safe_text(str(former.author_agent_id))
    day = newer.made_at.date().isoformat()
    reason = f"{hit.why}; holds since {day}, before that it said {words} ({who})"
    return replace(hit, explained=replace(hit.explained, reason=reason))
