"""Organisation memory that answers questions in several steps, by paths through its facts.

The graph is drawn anew of the facts that stand whenever one has changed, and never stored: there is
no second record. What can't be answered step by step is answered as the default backend does.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import safe_text, truncate
from synthorg_tui.memory.org.graph import OrgGraph, OrgPath
from synthorg_tui.memory.org.log import FactRow, all_rows, rows_of_ids
from synthorg_tui.memory.org.models import OrgFact, OrgMemoryQuery
from synthorg_tui.memory.org.search import FoundFact, OrgSearch, as_candidate
from synthorg_tui.memory.org.standing import Standings
from synthorg_tui.memory.org.statements import OrgLink, links_of
from synthorg_tui.memory.store.core import Core

_MAX_TOLD: Final = 300
"""Characters of a path in an explanation."""

Extraction: TypeAlias = Callable[[OrgFact], tuple[OrgLink, ...]]
"""Reads from a fact what it states."""
EXTRACTIONS: Final[Mapping[str, Extraction]] = {"auto": links_of}
"""By the name that the settings have for it."""


class SearchByPaths(OrgSearch):
    """The search of the backend ``graph_rag``; ``extract`` reads what a fact states."""

    def __init__(self, core: Core, extract: Extraction = links_of) -> None:
        super().__init__(core)
        self._extract = extract
        self._drawn_of: Standings | None = None
        self._graph = OrgGraph(())
        self._stated: dict[tuple[str, int], tuple[OrgLink, ...]] = {}
        """What each fact stated at its revision, for the next graph."""
        self._drawing = asyncio.Lock()

    async def find(
        self, query: OrgMemoryQuery, *, project: str | None = None
    ) -> tuple[FoundFact, ...]:
        """Return facts of paths in the order of their steps, then what else is found."""
        others = await super().find(query, project=project)
        if query.context is None:
            return others
        told: dict[str, str] = {}
        for path in await self.paths(query.context, categories=query.categories, project=project):
            for fact_id in path.fact_ids:
                told.setdefault(fact_id, str(path))
        rows = await self._core.read(lambda db: rows_of_ids(db, told))
        steps = _as_found(told, rows)
        seen = {found.fact.id for found in steps}
        return (*steps, *(found for found in others if found.fact.id not in seen))[: query.limit]

    async def paths(
        self,
        question: str,
        *,
        categories: Collection[OrgFactCategory] | None = None,
        project: str | None = None,
    ) -> tuple[OrgPath, ...]:
        """Return the ways through facts that answer a question, each step with its fact.

        Only facts of the categories are walked, and such as are for who asks from the project.
        None when the question isn't one of steps.
        """
        async with self._drawing:  # one caller at a time draws it, beside the event loop
            standings = await self.standings()
            if standings is not self._drawn_of:
                rows = await self._core.read(lambda db: all_rows(db, retracted=False))
                self._graph, self._stated = await asyncio.to_thread(self._draw, rows)
                self._drawn_of = standings
            graph = self._graph
        return graph.paths(
            question, lambda fact_id: standings.answer(fact_id, project, categories) == fact_id
        )

    def _draw(
        self, rows: Sequence[FactRow]
    ) -> tuple[OrgGraph, dict[tuple[str, int], tuple[OrgLink, ...]]]:
        """The graph of facts; what was read of one that is as it was isn't read again.

        Facts that were given up or replaced are in it, too: whoever asks from another project may
        have them still. What a question may use is decided when it is asked.
        """
        facts = {(row.fact_id, row.revision): row.fact() for row in rows}
        stated = {
            key: self._stated[key] if key in self._stated else self._extract(fact)
            for key, fact in facts.items()
        }
        return OrgGraph.of((fact, stated[key]) for key, fact in facts.items()), stated


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
