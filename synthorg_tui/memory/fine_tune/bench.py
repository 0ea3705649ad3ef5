"""Ranks memories for the questions of a run with any vectors of theirs, as a search would.

By meaning everything is scored exactly, here; by words the index is asked, once a question. What
comes of both is fused as in a search, without the cutoff: that is fitted afterwards.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple, TypeAlias

from synthorg_tui.memory.evaluation.metrics import ndcg_at, paired_difference, recall_at
from synthorg_tui.memory.fine_tune.mining import MemoryPool, far_from_answers
from synthorg_tui.memory.fine_tune.models import CutoffValues, EvalMetrics
from synthorg_tui.memory.fine_tune.store import TrainingQuestion
from synthorg_tui.memory.fine_tune.training import Numbers
from synthorg_tui.memory.index.protocol import IndexFilter, IndexHit, IndexHits
from synthorg_tui.memory.retrieval.relevance import (
    DEFAULT_CUTOFF,
    SEARCH_DEPTH,
    fuse_hits,
    joined,
    moved_cutoff,
)
from synthorg_tui.memory.store.core import Core
from synthorg_tui.persistence.port import Connection

MAX_POOL: Final = 20_000
"""Memories of one agent that questions are asked among; those that answer come first."""
AT: Final = 10
_TAIL: Final = 90
"""Percentile of unrelated memories' similarities that stays below the cutoff as before."""


QuestionVector: TypeAlias = Callable[[TrainingQuestion], Numbers]
"""Returns the unit vector of a question, as one way of embedding questions gives it."""
RankingMeasure: TypeAlias = Callable[[Sequence[str], Collection[str], int], float]
"""Returns a figure of the first ids of a ranking, given the relevant ones and how many count."""


def base_vector(question: TrainingQuestion) -> Numbers:
    """Return the vector that the base gives a question."""
    import numpy as np

    vector: Numbers = np.frombuffer(question.vector, np.float32)
    return vector


class RankedIds(NamedTuple):
    """Ids of memories for a question, best first: by meaning alone, and as agents get them."""

    dense: list[str]
    fused: list[str]


class Bench:
    """Ranks the memories of one store for questions; what was read of it is kept."""

    def __init__(self, core: Core, seed_ids: Sequence[str] = ()) -> None:
        self._core = core
        self._first = sorted(set(seed_ids))
        self._pools: dict[str, MemoryPool] = {}
        self._worded: dict[int, tuple[IndexHit, ...]] = {}

    async def pool(self, agent_id: str) -> MemoryPool:
        """Return the live memories with vectors that an agent is given answers from."""
        known = self._pools.get(agent_id)
        if known is None:
            known = self._pools[agent_id] = await self._core.read(
                lambda db: self._load(db, agent_id)
            )
        return known

    async def pools(self, agents: Collection[str]) -> dict[str, MemoryPool]:
        """Return the pool of each of these agents."""
        return {agent: await self.pool(agent) for agent in agents}

    def _load(self, db: Connection, agent_id: str) -> MemoryPool:
        import numpy as np

        where = self._core.live_where()
        where.add("(m.agent_id = ? OR m.shared)", agent_id)
        rows = db.execute(
            "SELECT m.id::VARCHAR, coalesce(m.session_id, m.source, m.id::VARCHAR), v.vector "
            "FROM memories m JOIN vectors v ON v.memory_id = m.id "
            f"WHERE {where} AND v.fingerprint = ? "
            "ORDER BY list_contains(?::VARCHAR[], m.id::VARCHAR) DESC, m.id LIMIT ?",
            [*where.values, self._core.embedder.fingerprint, self._first, MAX_POOL],
        ).fetchall()
        rows.sort(key=lambda row: str(row[0]))
        vectors = [np.frombuffer(row[2], np.float32) for row in rows]
        return MemoryPool(
            tuple(str(row[0]) for row in rows),
            tuple(str(row[1]) for row in rows),
            np.stack(vectors) if vectors else np.zeros((0, self._core.embedder.dims), np.float32),
        )

    async def by_words(self, question: TrainingQuestion) -> tuple[IndexHit, ...]:
        """Return the ranking by words of a question; the index is asked once."""
        found = self._worded.get(question.number)
        if found is None:
            index = (await self._core.indexed()).index
            now = self._core.clock.now()
            ended = self._core.ages.ended_points(now)
            agents = frozenset({question.agent_id})
            sparse = self._core.tokenizer.encode(question.text)
            scopes = (
                IndexFilter(now=now, ended=ended, agents=agents),
                IndexFilter(now=now, ended=ended, exclude_agent=question.agent_id, shared=True),
            )
            parts = [
                await index.search(scope, dense=None, sparse=sparse, limit=SEARCH_DEPTH)
                for scope in scopes
            ]
            found = self._worded[question.number] = joined(parts).sparse
        return found

    async def prepare(self, questions: Sequence[TrainingQuestion]) -> None:
        """Read all that ``ranked`` needs for these questions."""
        await self.pools({question.agent_id for question in questions})
        for question in questions:
            await self.by_words(question)

    def ranked(self, question: TrainingQuestion, vector_of: QuestionVector) -> RankedIds:
        """Rank for a question that was prepared."""
        import numpy as np

        pool = self._pools[question.agent_id]
        scores = pool.vectors @ vector_of(question)
        order = np.argsort(-scores, kind="stable")[:SEARCH_DEPTH]
        dense = tuple(IndexHit(pool.ids[row], float(scores[row])) for row in order)
        hits = IndexHits(dense=dense, sparse=self._worded[question.number])
        fused = fuse_hits(hits, limit=SEARCH_DEPTH)
        return RankedIds([hit.id for hit in dense], [hit.id for hit in fused])

    def ndcg(self, questions: Sequence[TrainingQuestion], vector_of: QuestionVector) -> float:
        """Return the mean NDCG@10 of prepared questions, of both rankings: what training watches.

        The fused one alone moves by single questions between two looks, the dense one steadily.
        """
        return _mean(
            [
                ndcg_at(ids, question.relevant, AT)
                for question in questions
                for ids in self.ranked(question, vector_of)
            ]
        )

    def compare(
        self, questions: Sequence[TrainingQuestion], vector_of: QuestionVector
    ) -> EvalMetrics:
        """Return the figures of what was trained beside the base, on prepared questions."""
        ours = [self.ranked(question, vector_of) for question in questions]
        base = [self.ranked(question, base_vector) for question in questions]
        relevant = [question.relevant for question in questions]

        def of_each(
            measure: RankingMeasure, ranked: list[RankedIds], *, dense: bool = False
        ) -> list[float]:
            lists = [each.dense if dense else each.fused for each in ranked]
            return [measure(ids, wanted, AT) for ids, wanted in zip(lists, relevant, strict=True)]

        gain = paired_difference(of_each(ndcg_at, ours), of_each(ndcg_at, base))
        return EvalMetrics(
            ndcg_at_10=_mean(of_each(ndcg_at, ours)),
            recall_at_10=_mean(of_each(recall_at, ours)),
            base_ndcg_at_10=_mean(of_each(ndcg_at, base)),
            base_recall_at_10=_mean(of_each(recall_at, base)),
            dense_ndcg_at_10=_mean(of_each(ndcg_at, ours, dense=True)),
            dense_recall_at_10=_mean(of_each(recall_at, ours, dense=True)),
            base_dense_ndcg_at_10=_mean(of_each(ndcg_at, base, dense=True)),
            base_dense_recall_at_10=_mean(of_each(recall_at, base, dense=True)),
            questions=len(questions),
            gain_low=round(gain.low, 6),
            gain_high=round(gain.high, 6),
        )

    def cutoff(
        self, questions: Sequence[TrainingQuestion], vector_of: QuestionVector
    ) -> CutoffValues:
        """Return the cutoffs for what was trained: moved as far as it moves what is no answer.

        They aren't raised further than it takes to let as few unrelated memories pass as before.
        """
        before, after, answers = [], [], []
        for question in questions:
            pool = self._pools[question.agent_id]
            base = pool.vectors @ base_vector(question)
            far, known = (
                far_from_answers(question.relevant, pool, base),
                pool.rows(question.relevant),
            )
            if known and far.any():
                tuned = pool.vectors @ vector_of(question)
                before.append(float(base[far].max()))
                after.append(float(tuned[far].max()))
                answers.append(float(tuned[known].max()))
        moved = round(_moved(before, after, answers), 4)
        fitted = moved_cutoff(moved)
        return CutoffValues(
            moved=moved,
            convincing=round(fitted.convincing, 4),
            plausible=round(fitted.plausible, 4),
        )


def _moved(before: Sequence[float], after: Sequence[float], answers: Sequence[float]) -> float:
    """How far cutoffs move.

    ``before`` and ``after`` have the best unrelated memory of each question, ``answers`` the best
    answer afterwards: nine in ten of these stay above a cutoff that is raised.
    """
    import numpy as np

    if not before:
        return 0.0
    shift = float(np.percentile(after, _TAIL) - np.percentile(before, _TAIL))
    if shift <= 0:
        return shift
    passed = float(np.mean(np.asarray(before) >= DEFAULT_CUTOFF.convincing))
    enough = float(np.quantile(after, 1 - passed)) - DEFAULT_CUTOFF.convincing
    bearable = float(np.percentile(answers, 100 - _TAIL)) - DEFAULT_CUTOFF.convincing
    return max(0.0, min(shift, enough, bearable))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
