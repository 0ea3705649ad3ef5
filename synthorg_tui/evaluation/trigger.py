"""Trigger evaluation: whether recorded prompts would bring a skill up, offline and in seconds.

Two ways lead to a skill. An agent reads its description and chooses it, which is judged here by the
measure of the search: similar in meaning, or in words. And the digest for the prompt holds its
memory: that is asked of the service which prepares digests, and recorded nowhere. Hints before a
call come of the call and not of a prompt; before how many failing ones is counted beside.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from synthorg_tui.evaluation.models import PromptOutcome, SkillUnderTest, TriggerResult
from synthorg_tui.evaluation.prompts import (
    RecordedPrompt,
    RecordedSession,
    prompts_for,
)
from synthorg_tui.executions.facts import readable_record
from synthorg_tui.memory.retrieval.relevance import meaning_of, moved_cutoff
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.strategies.service import InjectionService, agents_request
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.embedding.errors import EmbeddingError
from synthorg_tui.providers.embedding.protocol import Vectors

MAX_SESSIONS: Final = 200
"""Sessions that are looked through, the latest ones, besides those that a skill names."""
_RECORDS: Final = (
    "SELECT record FROM executions WHERE id IN (SELECT unnest(?::VARCHAR[])) OR id IN "
    "(SELECT id FROM executions ORDER BY coalesce(ended_at, started_at) DESC NULLS LAST, id "
    "LIMIT ?) ORDER BY id"
)
TriggerProgress = Callable[[int, int], None]
"""Told of how many skills of how many are done."""


class TriggerEvaluation:
    """Tries skills with recorded prompts.

    Args:
        database: Where the recorded sessions are.
        core: The local store, for its embedder and its words.
        injection: Prepares digests as agents get them.
        token_budget: The budget of such a digest.
    """

    def __init__(
        self, database: StoreDatabase, core: Core, injection: InjectionService, token_budget: int
    ) -> None:
        self._database = database
        self._core = core
        self._injection = injection
        self._budget = token_budget

    async def run(
        self,
        skills: Sequence[SkillUnderTest],
        *,
        progress: TriggerProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, TriggerResult]:
        """Return the result of each skill by its path; those not reached are missing."""
        named = sorted({seen.execution for skill in skills for seen in skill.evidence})
        rows = await self._database.read(
            lambda db: db.execute(_RECORDS, [named, MAX_SESSIONS]).fetchall()
        )
        sessions = await asyncio.to_thread(_read, [record for (record,) in rows])
        digests: dict[tuple[str, str | None, str], frozenset[str]] = {}
        results: dict[str, TriggerResult] = {}
        for number, skill in enumerate(skills, 1):
            if cancel is not None and cancel.is_set():
                break
            results[skill.path] = await self._evaluate(skill, sessions, digests)
            if progress is not None:
                progress(number, len(skills))
        return results

    async def _evaluate(
        self,
        skill: SkillUnderTest,
        sessions: Sequence[RecordedSession],
        digests: dict[tuple[str, str | None, str], frozenset[str]],
    ) -> TriggerResult:
        started = time.perf_counter()
        if not skill.evidence:  # nothing recorded says when it is wanted
            return TriggerResult(sessions=len(sessions), is_estimated=not skill.memory_ids)
        words = f"{skill.name.replace('-', ' ')}: {skill.description}"
        terms = frozenset(self._core.tokenizer.tokenize(words))
        chosen = await asyncio.to_thread(
            prompts_for, skill, sessions, self._core.tokenizer.coverage, terms
        )
        texts = (words, skill.memory_text or words)
        vectors = await self._embedded(texts) if chosen.wanted or chosen.misses else None
        outcomes = []
        labelled = [(True, prompt) for prompt in chosen.wanted]
        labelled += [(False, prompt) for prompt in chosen.misses]
        for wanted, prompt in labelled:
            described, near = await self._judged(prompt, texts, vectors)
            is_given = near
            if skill.memory_ids:
                given = await self._digest(skill.agent_id, prompt, digests)
                is_given = not given.isdisjoint(skill.memory_ids)
            outcomes.append(
                PromptOutcome(
                    lines=prompt.lines, wanted=wanted, described=described, digested=is_given
                )
            )
        return TriggerResult(
            outcomes=tuple(outcomes),
            sessions=len(sessions),
            failures=chosen.failures,
            warned=chosen.warned,
            is_estimated=not skill.memory_ids,
            seconds=round(time.perf_counter() - started, 3),
        )

    async def _judged(
        self, prompt: RecordedPrompt, texts: Sequence[str], vectors: Vectors | None
    ) -> tuple[bool, bool]:
        """Whether the description, and the memory's text, answer the prompt convincingly."""
        asked = None
        if vectors is not None:
            asked = await self._core.embedder.embed_query(meaning_of(prompt.text))
        terms = frozenset(self._core.tokenizer.tokenize(prompt.text))
        found, cutoff = [], moved_cutoff(self._core.moved)
        for at, text in enumerate(texts):
            dense = None if asked is None or vectors is None else float(vectors[at] @ asked)
            evidence = cutoff.evidence(dense, self._core.tokenizer.coverage(terms, text))
            found.append(evidence >= cutoff.convincing)
        return found[0], found[1]

    async def _embedded(self, texts: Sequence[str]) -> Vectors | None:
        """The vectors of texts; ``None`` without a model, when words alone decide."""
        try:
            return await self._core.embedder.embed(texts)
        except EmbeddingError:
            return None

    async def _digest(
        self,
        agent_id: str,
        prompt: RecordedPrompt,
        known: dict[tuple[str, str | None, str], frozenset[str]],
    ) -> frozenset[str]:
        """The memories that the digest for a prompt would hold, or that stand for others in it."""
        key = (agent_id, prompt.project, prompt.text)
        if key not in known:
            request = agents_request(
                agent_id, prompt.text, self._budget, project=prompt.project, session_id=None
            )
            given = (await self._injection.prepare(request)).explanation.included
            ids = [memory_id for each in given for memory_id in (each.entry.id, *each.members)]
            known[key] = frozenset(ids)
        return known[key]


def _read(records: Sequence[bytes]) -> list[RecordedSession]:
    """The sessions with prompts of a person; what an agent told of itself shows nothing."""
    sessions = []
    for record in records:
        execution = readable_record(record)
        if execution is not None and not execution.is_reported:
            sessions.append(RecordedSession(execution))
    return sessions
