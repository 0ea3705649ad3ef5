"""Organisation memory that answers questions in several steps, by paths through its facts.

The graph is drawn anew of the facts that stand whenever one has changed, and never stored: there is
no second record. What can't be answered step by step is answered as the default backend does.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.org.access_control import WriteAccessConfig
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, translate_org_errors
from synthorg_tui.memory.org.graph import OrgGraph, OrgPath, decisions_of
from synthorg_tui.memory.org.hybrid_backend import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.log import FactRow, all_rows, rows_of_ids
from synthorg_tui.memory.org.models import OrgFact, OrgMemoryQuery
from synthorg_tui.memory.org.search import FoundFact, OrgSearch, as_candidate
from synthorg_tui.memory.org.standing import Standings
from synthorg_tui.memory.org.statements import OrgLink, links_of, replaced_links
from synthorg_tui.memory.org.store import OrgStore

_MAX_TOLD: Final = 300
"""Characters of a path in an explanation."""

Extraction: TypeAlias = Callable[[OrgFact], tuple[OrgLink, ...]]
"""Reads from a fact what it states."""
EXTRACTIONS: Final[Mapping[str, Extraction]] = {"auto": links_of}
"""By the name that the settings have for it."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The graph of one revision, and what each fact stated at its revision, for the next one."""

    standings: Standings
    graph: OrgGraph
    stated: Mapping[tuple[str, int], tuple[OrgLink, ...]] = field(default_factory=dict)


class GraphRagBackend(HybridPromptRetrievalBackend):
    """The backend ``graph_rag``, constructed as the default one, and with what reads a fact."""

    backend_name: NotBlankStr = "graph_rag"

    def __init__(
        self,
        *,
        core_policies: Sequence[str] = (),
        store: OrgStore,
        access_config: WriteAccessConfig | None = None,
        search: OrgSearch | None = None,
        extract: Extraction = links_of,
    ) -> None:
        super().__init__(
            core_policies=core_policies, store=store, access_config=access_config, search=search
        )
        self._extract = extract
        self._drawn: _Drawn | None = None
        self._drawing = asyncio.Lock()

    async def paths(
        self,
        question: str,
        *,
        categories: Collection[OrgFactCategory] | None = None,
        project: str | None = None,
    ) -> tuple[OrgPath, ...]:
        """Return the ways through facts that answer a question, each step with its fact.

        Only facts of the categories are walked, and such as are for who asks from the project.
        None when the question isn't one of steps. Raises ``OrgMemoryQueryError``.
        """
        self._require_connection()
        with translate_org_errors(OrgMemoryQueryError, "searching the graph of facts"):
            return await self._paths(question, categories, project)

    async def _found(self, query: OrgMemoryQuery, project: str | None) -> tuple[FoundFact, ...]:
        """Facts that paths stand on, in the order of their steps, then what is found otherwise."""
        others = await super()._found(query, project)
        if query.context is None:
            return others
        told: dict[str, str] = {}
        for path in await self._paths(query.context, query.categories, project):
            for fact_id in path.fact_ids:
                told.setdefault(fact_id, str(path))
        rows = await self._store.core.read(lambda db: rows_of_ids(db, told))
        steps = _as_found(told, rows)
        seen = {found.fact.id for found in steps}
        return (*steps, *(found for found in others if found.fact.id not in seen))[: query.limit]

    async def _paths(
        self, question: str, categories: Collection[OrgFactCategory] | None, project: str | None
    ) -> tuple[OrgPath, ...]:
        drawn = await self._current()
        standings = drawn.standings

        def allowed(fact_id: str) -> bool:
            is_there = standings.stands(fact_id, project)
            return is_there and (
                categories is None or standings.facts[fact_id].category in categories
            )

        return drawn.graph.paths(question, allowed)

    async def _current(self) -> _Drawn:
        """The graph of the present facts; drawn by one caller at a time, beside the event loop."""
        async with self._drawing:
            core, known = self._store.core, self._drawn
            standings = await core.read(
                lambda db: Standings.load(db, known.standings if known else None)
            )
            if known is not None and known.standings is standings:
                return known
            rows = await core.read(lambda db: all_rows(db, retracted=False))
            stated = known.stated if known else {}
            self._drawn = await asyncio.to_thread(_draw, standings, rows, stated, self._extract)
            return self._drawn


def _draw(
    standings: Standings,
    rows: Sequence[FactRow],
    known: Mapping[tuple[str, int], tuple[OrgLink, ...]],
    extract: Extraction,
) -> _Drawn:
    """The graph of facts; what was read of one that is as it was isn't read again.

    Facts that were given up or replaced are in it, too: whoever asks from another project may have
    them still. What a question may use is decided when it is asked.
    """
    facts: list[tuple[OrgFact, int]] = [(row.fact(), row.revision) for row in rows]
    decisions = decisions_of([fact for fact, _ in facts])
    stated: dict[tuple[str, int], tuple[OrgLink, ...]] = {}
    links: list[OrgLink] = []
    for fact, revision in facts:
        read = known.get((fact.id, revision))
        stated[fact.id, revision] = extract(fact) if read is None else read
        links += stated[fact.id, revision]
        links += replaced_links(fact, decisions)
    return _Drawn(standings, OrgGraph(links), stated)


def _as_found(told: Mapping[str, str], rows: Mapping[str, FactRow]) -> tuple[FoundFact, ...]:
    facts = [rows[fact_id].fact() for fact_id in told if fact_id in rows]
    return tuple(
        FoundFact(
            fact,
            1.0,
            as_candidate(
                fact,
                reason=f"is a step of: {safe_text(truncate(told[fact.id], _MAX_TOLD))}",
                rank=rank,
            ),
        )
        for rank, fact in enumerate(facts, start=1)
    )
