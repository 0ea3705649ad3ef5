"""Finds facts of the organisation by meaning and words, in the index that memories have, too.

How two rankings are fused and from when on there is an answer is in ``retrieval.relevance``. What
was replaced is found by its words and answered by what replaced it. The documented order by text
stands beside: for a phrase in quotes or as it is written, and where the index can't be asked.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import estimate_tokens, safe_text, truncate
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.protocol import IndexFilter, IndexHits, SparseVector
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER, ListedMemory
from synthorg_tui.memory.org.log import FactRow, rows_of_ids, rows_with
from synthorg_tui.memory.org.models import OrgFact, OrgMemoryQuery
from synthorg_tui.memory.org.standing import Standings
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.retrieval.explanation import Candidate, Verdict
from synthorg_tui.memory.retrieval.relevance import (
    SEARCH_DEPTH,
    FusedHit,
    fuse_hits,
    meaning_of,
    moved_cutoff,
    relevant_hits,
)
from synthorg_tui.memory.store.core import Core
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors

WRITTEN: Final = "has the words as they are written"
"""Why a fact was found by its text."""
MAX_PHRASE_CHARS: Final = 400
"""Characters of a question up to which it is looked for as it is written."""
_MIN_CANDIDATES: Final = 30
_QUOTED: Final = re.compile(r"\s*[\"\u201c](.+)[\"\u201d]\s*", re.DOTALL)
_MAX_NAMED: Final = 60

AnswerOf = Callable[[str], str | None]
"""Returns the fact to give for one that matches, if any; see ``Standings.answer``."""


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact that answers a question: ``score`` in [0, 1], and why in the form of memories."""

    fact: OrgFact
    score: float
    explained: Candidate

    @property
    def why(self) -> str:
        """The reason as a sentence for a person."""
        return self.explained.reason


class _Match(NamedTuple):
    """A fact that the index or the text order found, and the one that stands in its place."""

    matched: FactRow
    stands: str
    dense: float | None
    sparse: float | None
    fused: float
    how: str


class OrgSearch:
    """Searches the facts of a store whose core is open; retracted ones are never found."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._standings: Standings | None = None

    async def find(
        self, query: OrgMemoryQuery, *, project: str | None = None
    ) -> tuple[FoundFact, ...]:
        """Return the facts that answer a question, the best first, at most ``query.limit``.

        None if nothing found is evidence enough; without a context the newest facts. Facts about
        one project are found for it and its worktrees: ``project`` is where the question comes
        from, ``None`` for a person, who sees all, and empty for a place in no project.
        """
        standings = await self.standings()
        if not standings.has_any(query.categories):
            return ()
        if query.context is None:
            matches = await self._newest(query, standings, project)
        else:
            matches = await self._answering(query.context, query, standings, project)
        return await self._explained(matches[: query.limit], standings)

    async def standings(self) -> Standings:
        """Return which facts stand at present; what was told before is kept until one changes."""
        known = self._standings
        self._standings = await self._core.read(lambda db: Standings.load(db, known))
        return self._standings

    async def _newest(
        self, query: OrgMemoryQuery, standings: Standings, project: str | None
    ) -> list[_Match]:
        standing = (
            fact_id
            for fact_id in standings.facts
            if standings.answer(fact_id, project, query.categories) == fact_id
        )
        ids = list(islice(standing, query.limit))
        rows = await self._core.read(lambda db: rows_of_ids(db, ids))
        found = [rows[fact_id] for fact_id in ids if fact_id in rows]
        return [_Match(row, row.fact_id, None, None, 1.0, "is among the newest") for row in found]

    async def _answering(
        self, context: str, query: OrgMemoryQuery, standings: Standings, project: str | None
    ) -> list[_Match]:
        answer_of = partial(standings.answer, project=project, categories=query.categories)
        quoted = _QUOTED.fullmatch(context)
        if quoted:
            return await self._with_text(quoted[1].strip(), answer_of)
        try:
            found = await self._by_evidence(context, query.limit, answer_of)
        except (VectorIndexError, EmbeddingError) as error:
            note = f"found by its text only: {error.message}"
            found = await self._with_text(context, answer_of)
            return [match._replace(how=f"{match.how}; {note}") for match in found]
        if len(context) > MAX_PHRASE_CHARS or not self._core.tokenizer.tokenize(context):
            return found
        if not found:  # it may be a part of a word
            return await self._with_text(context, answer_of)
        return _written_first(found, context) if len(context.split()) > 1 else found

    async def _with_text(self, text: str, answer_of: AnswerOf) -> list[_Match]:
        """Facts that hold the text, in the documented order; what replaced one in its place."""
        rows = await self._core.read(lambda db: rows_with(db, text, None, None))
        return _each_once(
            _Match(row, stands, None, None, 1.0, WRITTEN)
            for row in rows
            if (stands := answer_of(row.fact_id)) is not None
        )

    async def _by_evidence(self, context: str, limit: int, answer_of: AnswerOf) -> list[_Match]:
        """What the index finds, as far as it is evidence; each answer once.

        A text that can't be embedded is asked for by its words alone. The index knows nothing of
        categories and of what was replaced, so it is asked for more until enough remain.
        """
        core, note, dense = self._core, "", None
        try:
            if core.asks_by_meaning(context):
                dense = await core.embedder.embed_query(meaning_of(context))
        except EmbeddingError as error:
            note = f"found by words only: {error.message}"
        depth, wanted = max(SEARCH_DEPTH, 2 * limit), max(_MIN_CANDIDATES, 2 * limit)
        while True:
            hits = await self._hits(dense, core.tokenizer.encode(context), depth)
            fused = fuse_hits(hits, limit=2 * depth)
            answers = [(hit, stands) for hit in fused if (stands := answer_of(hit.id))]
            if len(answers) >= wanted or max(len(hits.dense), len(hits.sparse)) < depth:
                break
            depth *= 4
        answers = answers[:wanted]
        rows = await core.read(lambda db: rows_of_ids(db, [hit.id for hit, _ in answers]))
        matches = [
            _Match(rows[hit.id], stands, hit.dense, hit.sparse, hit.fused, _how(hit, note))
            for hit, stands in answers
            if hit.id in rows
        ]
        terms = frozenset(core.tokenizer.tokenize(context))
        relevant = relevant_hits(
            matches,
            coverage=lambda match: core.tokenizer.coverage(terms, match.matched.content),
            limit=wanted,
            cutoff=moved_cutoff(core.moved),
        )
        return _each_once(relevant)

    async def _hits(self, dense: Vectors | None, sparse: SparseVector, depth: int) -> IndexHits:
        core = self._core
        where = IndexFilter(
            now=core.clock.now(),
            agents=frozenset({ORG_OWNER}),
            namespaces=frozenset({ORG_NAMESPACE}),
        )
        await core.is_current()
        return await (await core.indexed()).index.search(
            where, dense=dense, sparse=sparse, limit=depth
        )

    async def _explained(
        self, matches: Sequence[_Match], standings: Standings
    ) -> tuple[FoundFact, ...]:
        former = {match.stands: standings.former(match.stands) for match in matches}
        rows = {match.matched.fact_id: match.matched for match in matches}
        ids = {*former, *(old for olds in former.values() for old in olds)} - rows.keys()
        if ids:
            rows |= await self._core.read(lambda db: rows_of_ids(db, ids))
        rows = {key: row for key, row in rows.items() if row.is_active}
        active = [match for match in matches if match.stands in rows]
        return tuple(
            _found(match, rows, former[match.stands], rank)
            for rank, match in enumerate(active, start=1)
        )


def fact_title(row: FactRow) -> str:
    """Return what a fact is called in a sentence: its title, or how its text begins."""
    traits = OrgTraits.of(row.fact().tags)
    name = traits.title or next(iter(row.content.strip().splitlines()), "")
    return safe_text(truncate(" ".join(name.split()), _MAX_NAMED))


def as_candidate(fact: OrgFact, *, reason: str, score: float = 1.0, rank: int = 1) -> Candidate:
    """Return the explanation of a found fact in the form that memories have."""
    return Candidate(
        entry=ListedMemory(
            id=fact.id,
            agent_id=ORG_OWNER,
            category=MemoryCategory.SEMANTIC,
            content=fact.content,
            created_at=fact.created_at,
            tags=fact.tags,
            namespace=ORG_NAMESPACE,
        ),
        verdict=Verdict.INCLUDED,
        reason=reason,
        is_shared=True,
        relevance=score,
        combined=score,
        rank=rank,
        tokens=estimate_tokens(fact.content),
        author=fact.author.agent_id or "a person",
    )


def _found(
    match: _Match, rows: Mapping[str, FactRow], former: Sequence[str], rank: int
) -> FoundFact:
    fact = rows[match.stands].fact()
    reason = match.how
    if former:
        names = ", ".join(f"'{fact_title(rows[old])}'" for old in former[:3] if old in rows)
        reason = f"{reason}; replaces {names}"
    if match.matched.fact_id != match.stands:
        reason = f"{reason}, whose words match"
    explained = as_candidate(fact, reason=reason, score=match.fused, rank=rank)
    explained = replace(explained, dense=match.dense, sparse=match.sparse)
    return FoundFact(fact, match.fused, explained)


def _how(hit: FusedHit, note: str) -> str:
    found = [
        name for name, score in (("meaning", hit.dense), ("words", hit.sparse)) if score is not None
    ]
    return f"matches by {' and '.join(found)}" + (f"; {note}" if note else "")


def _written_first(matches: Sequence[_Match], phrase: str) -> list[_Match]:
    """The matches, first those that have a phrase as it is asked for, in the documented order."""
    words = r"\s+".join(map(re.escape, phrase.split()))
    whole = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    places = {match.stands: whole.search(match.matched.content) for match in matches}
    written: list[tuple[int, int, float, _Match]] = []
    for match in matches:
        if (place := places[match.stands]) is not None:
            row = match.matched
            order = (place.start(), len(row.content), -row.created_at.timestamp())
            written.append((*order, match._replace(how=WRITTEN)))
    written.sort(key=lambda each: each[:3])
    first = [match for *_, match in written]
    return [*first, *(match for match in matches if places[match.stands] is None)]


def _each_once(matches: Iterable[_Match]) -> list[_Match]:
    """The matches by what they are answered with, the first of each."""
    once: dict[str, _Match] = {}
    for match in matches:
        once.setdefault(match.stands, match)
    return list(once.values())
