"""Chooses among ranked memories and says why each one is in or out.

Every bound that leaves a memory out is applied here, each with its verdict and reason, so that an
explanation accounts for every candidate.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.memory.formatter import MemoryWording, Packing
from synthorg_tui.memory.ranking import DiversePick, ScoredMemory, pick_diverse
from synthorg_tui.memory.retrieval.candidates import CandidateTrace
from synthorg_tui.memory.retrieval.clusters import lessons_alone, one_line_each
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval.hits import SearchHit, SearchResult
from synthorg_tui.memory.retrieval.latest import latest_first
from synthorg_tui.memory.retrieval.neighbours import Neighbours, beside
from synthorg_tui.memory.retrieval.relevance import Judgement, pool_size
from synthorg_tui.memory.retrieval.sensitivity import SensitivityFilter
from synthorg_tui.memory.retrieval.wording import (
    DIARY,
    HANDED_BEFORE,
    LEARNT,
    kind_of_memory,
    mark_of,
)
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig

_WORTH_OF_LEARNT: Final = 1.0
_WORTH_OF_OTHERS: Final = 0.75
_WORTH_OF_DIARY: Final = 0.6
_WORTH_OF_MORE: Final = 0.5
"""Share of its score by which a memory has its place: what holds, what helped, what merely tells
what happened, and more of that than is wanted. None is less than half, so that of two memories the
one with twice the score always comes first."""
_LEAST: Final = 0.6
_LEAST_OF_MORE: Final = 0.8
"""Share of the best score below which the diary isn't given, and more of it than is wanted: a room
that is left over is no reason to."""


class Selection:
    """Steps that choose among the memories of one run; call them in the order of their definition.

    Args:
        trace: Records the verdict on each memory.
        config: Limits to apply.
        pinned: Ids of memories exempt from all limits but sensitivity, filter and budget.
        sensitivity: Decides which memories are withheld.
    """

    def __init__(
        self,
        trace: CandidateTrace,
        config: MemoryRetrievalConfig,
        *,
        pinned: frozenset[str],
        sensitivity: SensitivityFilter,
    ) -> None:
        self._trace = trace
        self._config = config
        self._pinned = pinned
        self._sensitivity = sensitivity
        self._promoted: frozenset[str] = frozenset()
        self._before: Mapping[str, str] = {}
        self._spare: set[str] = set()
        self.lenders: frozenset[str] = frozenset()
        """Ids of the hits with enough evidence, which lend to those beside them."""
        self.seen: Mapping[str, str] = {}
        """How often what a memory says was seen, in words, where it was more than once."""

    def relevant(
        self, hits: Sequence[SearchHit], judgement: Judgement, neighbours: Neighbours
    ) -> tuple[SearchHit, ...]:
        """Return the hits with enough evidence and those beside them, and judge the others.

        What stands beside may be relevant by what is lent to it; only ``lenders`` lend.
        """
        cutoff = judgement.cutoff
        self.lenders = frozenset(
            hit.entry.id for position, hit in enumerate(hits) if judgement.is_relevant(position)
        )
        near = beside(self.lenders, neighbours) if self._config.neighbour_factor else frozenset()
        chosen = []
        for position, hit in enumerate(hits):
            if hit.entry.id in self.lenders or hit.entry.id in near:
                chosen.append(hit)
            elif judgement.answered:
                reason = f"evidence {judgement.evidence[position]:.2f} of {cutoff.plausible:.2f}"
                self._out(hit.entry.id, Verdict.NOT_RELEVANT, f"not about the query: {reason}")
            else:
                reason = f"best evidence {judgement.best:.2f} of {cutoff.convincing:.2f}"
                self._out(
                    hit.entry.id, Verdict.NOT_RELEVANT, f"nothing is about the query: {reason}"
                )
        return tuple(chosen)

    def unranked(self, hits: Sequence[SearchHit], ranked: Sequence[ScoredMemory]) -> None:
        """Record a verdict on hits that the configured fusion doesn't use."""
        seen = {memory.entry.id for memory in ranked}
        if self._config.fusion_strategy is FusionStrategy.RRF:
            size = pool_size(self._config)
            reason = f"not among the first {size} of either ranking, which is all that rrf reads"
        else:
            reason = "found by keywords only, which linear fusion doesn't read"
        for hit in hits:
            if hit.entry.id not in seen:
                is_found = hit.dense is not None or hit.sparse is not None
                why = reason if is_found else "only stands beside a hit, which this fusion skips"
                self._out(hit.entry.id, Verdict.BEYOND_MAXIMUM, why)

    def ranked(
        self,
        ranked: Sequence[ScoredMemory],
        hits: Sequence[SearchHit],
        excluded: Collection[str],
    ) -> tuple[ScoredMemory, ...]:
        """Return the memories that may be given and reach the minimum score or are pinned.

        Excluded and withheld memories are left out.
        """
        self._trace.ranked(ranked, boost=self._config.personal_boost)
        minimum = self._config.min_relevance
        chosen = []
        for memory in (*ranked, *self._pinned_only(ranked, hits)):
            key = memory.entry.id
            if key in excluded:
                self._trace.judge(key, Verdict.EXCLUDED, "excluded by hand")
            elif refusal := self._sensitivity.refusal(memory.entry):
                self._trace.judge(key, Verdict.SENSITIVE, refusal)
            elif key in self._pinned or memory.combined_score >= minimum:
                chosen.append(memory)
            else:
                reason = f"score {memory.combined_score:.2f} is below the minimum {minimum:.2f}"
                self._out(key, Verdict.BELOW_MINIMUM, reason)
        return tuple(chosen)

    def filtered(
        self, offered: Sequence[ScoredMemory], passed: Sequence[ScoredMemory], reason: str
    ) -> tuple[ScoredMemory, ...]:
        """Return what a filter passed of the offered memories; anything else it returns is ignored.

        ``reason`` is recorded for the memories that it left out.
        """
        known = {memory.entry.id for memory in offered}
        chosen = {memory.entry.id: memory for memory in passed if memory.entry.id in known}
        for key in known - chosen.keys():
            self._trace.judge(key, Verdict.FILTERED, reason)
        return tuple(chosen.values())

    def clustered(
        self, memories: tuple[ScoredMemory, ...], found: SearchResult, *, now: datetime
    ) -> tuple[ScoredMemory, ...]:
        """Return one memory for each cluster of those that say the same; pinned ones stay.

        What a lesson among them was made of leaves, too. Of conversations about one subject the
        latest comes first.
        """
        free = [memory for memory in memories if memory.entry.id not in self._pinned]
        free, replaced = lessons_alone(free, found.made_of)
        for key, lesson in replaced.items():
            reason = f"the lesson {lesson} was made of it, and says it for both"
            self._out(key, Verdict.REPLACED, reason)
        lines = one_line_each(free, found.copies, now=now, places=found.places)
        latest, self._before = latest_first(
            lines.memories, found.places, now=now, moved=found.moved
        )
        self.seen = lines.seen
        for key, others in lines.stands_for.items():
            self._trace.note(key, members=others, seen=lines.seen[key])
        for key, kept in lines.in_place_of.items():
            self._out(key, Verdict.ALIKE, f"says the same as {kept}, which stands for both")
        pinned = (memory for memory in memories if memory.entry.id in self._pinned)
        return (*pinned, *latest)

    def first(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Return pinned memories, then others up to ``max_memories``, diversified if configured.

        The best by score are chosen. Then the kind counts, too: what was learnt is worth more than
        what merely tells what happened, but never more than what has twice its score.
        """
        pinned = tuple(memory for memory in memories if memory.entry.id in self._pinned)
        rest = tuple(memory for memory in memories if memory.entry.id not in self._pinned)
        limit = max(0, self._config.max_memories - len(pinned))
        if not self._config.diversity_penalty_enabled:
            self._beyond(rest[limit:])
            return (*pinned, *self._best_first(rest[:limit]))
        pool = rest[: pool_size(self._config)]
        self._beyond(rest[len(pool) :])
        picks = pick_diverse(pool, diversity_lambda=self._config.diversity_lambda, limit=limit)
        for pick in picks:
            nearest = pick.similar_to.id if pick.similar_to else None
            self._trace.note(pick.memory.entry.id, similarity=pick.similarity, similar_to=nearest)
        without = frozenset(memory.entry.id for memory in rest[:limit])
        self._promoted = frozenset(pick.memory.entry.id for pick in picks[:limit]) - without
        self._too_similar([pick for pick in picks[limit:] if pick.memory.entry.id in without])
        self._beyond([pick.memory for pick in picks[limit:]])
        return (*pinned, *self._best_first([pick.memory for pick in picks[:limit]]))

    def _best_first(self, memories: Sequence[ScoredMemory]) -> list[ScoredMemory]:
        """The useful ones of the memories by their score, less a share of it for their kind.

        What something was put before, as by reranking, counts for what stands there.
        """
        own = [memory.combined_score for memory in reversed(memories)]
        scores = reversed(list(accumulate(own, max)))
        worth: dict[str, float] = {}
        little, diary, best = [], 0, max(own, default=0.0)
        for memory, score in zip(memories, scores, strict=True):
            kind = kind_of_memory(memory)
            diary += kind in DIARY
            share, least = _WORTH_OF_LEARNT if kind in LEARNT else _WORTH_OF_OTHERS, 0.0
            if kind in DIARY:
                share, least = _WORTH_OF_DIARY, _LEAST
            if kind in DIARY and diary > self._config.max_diary:
                share, least = _WORTH_OF_MORE, _LEAST_OF_MORE
                self._spare.add(memory.entry.id)
            worth[memory.entry.id] = share * score
            if score < least * best:
                little.append(memory)
        reason = f"it tells what happened, and scores far less than the best one's {best:.2f}"
        useful = self._without(memories, little, Verdict.BELOW_MINIMUM, reason)
        return sorted(useful, key=lambda memory: -worth[memory.entry.id])

    def news(
        self,
        memories: tuple[ScoredMemory, ...],
        passages: Mapping[str, MemoryWording],
        handed: frozenset[str],
    ) -> tuple[ScoredMemory, ...]:
        """Return what the session wasn't handed before; pinned ones always.

        It was when it was told in full, or with the passage by which it would be told now; of more
        of the diary than is wanted, when any of it was told.
        """
        known = []
        for memory in memories:
            key = memory.entry.id
            told = [passages[key].text, memory.entry.content, *([""] if key in self._spare else ())]
            if key not in self._pinned and any(mark_of(text, key) in handed for text in told):
                known.append(memory)
        return self._without(memories, known, Verdict.HANDED, HANDED_BEFORE)

    def packed(self, packing: Packing) -> None:
        """Record which memories fit the token budget and which didn't."""
        place = 0
        for packed in packing.packed:
            key = packed.memory.entry.id
            self._trace.note(key, tokens=packed.tokens)
            if not packed.fits:
                reason = f"needs {packed.tokens} tokens, {packed.room} were left"
                self._trace.judge(key, Verdict.OVER_BUDGET, reason)
                continue
            place += 1
            if key in self._pinned:
                self._trace.judge(key, Verdict.PINNED, "pinned by hand")
            else:
                reason = self._trace.place(key) + self._trace.loan(key)
                if key in self._before:
                    reason += f", before {self._before[key]}, which is about the same"
                if key in self._promoted:
                    reason += f", promoted to {place} for variety"
                self._trace.judge(key, Verdict.INCLUDED, reason)

    def _beyond(self, memories: Sequence[ScoredMemory]) -> None:
        limit = self._config.max_memories
        for memory in memories:
            reason = f"{self._trace.place(memory.entry.id)}; at most {limit} are given"
            self._out(memory.entry.id, Verdict.BEYOND_MAXIMUM, reason)

    def _too_similar(self, picks: Sequence[DiversePick]) -> None:
        for pick in picks:
            if pick.similar_to is not None:
                reason = f"{pick.similarity:.0%} like {pick.similar_to.id}, which comes before it"
                self._out(pick.memory.entry.id, Verdict.TOO_SIMILAR, reason)

    def _pinned_only(
        self, ranked: Sequence[ScoredMemory], hits: Sequence[SearchHit]
    ) -> list[ScoredMemory]:
        """Pinned memories that the ranking left out, with no score at all."""
        seen = {memory.entry.id for memory in ranked}
        return [
            ScoredMemory(
                entry=hit.entry,
                relevance_score=0.0,
                recency_score=0.0,
                combined_score=0.0,
                is_shared=hit.is_shared,
            )
            for hit in hits
            if hit.entry.id in self._pinned and hit.entry.id not in seen
        ]

    def _without(
        self,
        memories: Sequence[ScoredMemory],
        others: Sequence[ScoredMemory],
        verdict: Verdict,
        reason: str,
    ) -> tuple[ScoredMemory, ...]:
        """Leave ``others`` out for one reason, and return the rest of the memories."""
        out = {memory.entry.id for memory in others}
        for key in out:
            self._out(key, verdict, reason)
        return tuple(memory for memory in memories if memory.entry.id not in out)

    def _out(self, key: str, verdict: Verdict, reason: str) -> None:
        """Leave a memory out, unless it is pinned."""
        if key not in self._pinned:
            self._trace.judge(key, verdict, reason)
