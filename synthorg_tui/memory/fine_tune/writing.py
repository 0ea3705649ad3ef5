"""Questions that a language model writes about memories, where too few were asked to learn from.

They are learnt from alone: what decides when to stop, and whether the result is any good, was asked
by somebody. A model may talk about its instructions, repeat the memory or ask about nothing in it;
such an answer isn't taken. What it reads is fenced, since memories are strangers' text.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.core.untrusted import untrusted_content_directive, wrap_untrusted
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT
from synthorg_tui.memory.fine_tune.errors import FineTuneError
from synthorg_tui.memory.fine_tune.generating import question_vectors
from synthorg_tui.memory.fine_tune.mining import MemoryPool
from synthorg_tui.memory.fine_tune.store import PairSplit, TrainingQuestion
from synthorg_tui.memory.fine_tune.training import Numbers
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.memory.retrieval.tags import parse_tags
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.providers.completion.protocol import CompletionOptions, CompletionProvider
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.providers.models import ChatMessage

MAX_SHOWN: Final = 1_200
"""Characters of a memory that the model reads."""
MIN_CONTENT: Final = 40
"""Characters of a memory below which there is nothing to ask."""
FOUND_WITHIN: Final = 20
"""Place among an agent's memories, by meaning, within which the memory must stand for a question
about it; further down the question is about something else."""
MAX_COPIED: Final = 0.8
"""Share of a question's words that may be a run of the memory's own: more is a quotation."""
_MAX_QUESTION: Final = 300
_MIN_WORDS: Final = 4
_TAG: Final = "memory-entry"
_OPTIONS: Final = CompletionOptions(max_tokens=48, stop=("\n",), repeat_penalty=1.1)
_ROLE: Final = "You write what a developer would ask before they know the answer."
_INSTRUCTION: Final = (
    "Write one short question that this note answers, in other words than it uses: what somebody "
    "would ask who doesn't know the note. Write only the question."
)


class WritableMemory(NamedTuple):
    """A memory that a question may be written about, and whose it is."""

    id: str
    agent_id: str
    session: str


def writable(
    pools: Mapping[str, MemoryPool], held_back: Collection[str], *, count: int, seed: int
) -> list[WritableMemory]:
    """Return the memories to write about, in an order that depends on their ids and the seed alone.

    None is of a session in ``held_back``: what a run is judged by isn't learnt from.
    """
    apart = frozenset(held_back)
    known: dict[str, WritableMemory] = {}
    for agent in sorted(pools):
        pool = pools[agent]
        for key, session in zip(pool.ids, pool.sessions, strict=True):
            if session not in apart:
                known.setdefault(key, WritableMemory(key, agent, session))
    ordered = sorted(
        known.values(),
        key=lambda memory: hashlib.sha256(f"{seed}:written:{memory.id}".encode()).digest(),
    )
    return ordered[:count]


class WrittenQuestions:
    """Has a language model write questions to learn from, each about one memory.

    It decides which of the model's answers are taken.

    Args:
        core: The store.
        provider: The model; without one nothing can be written.
        pools: What each agent is given answers from.
    """

    def __init__(
        self, core: Core, provider: CompletionProvider | None, pools: Mapping[str, MemoryPool]
    ) -> None:
        if provider is None:
            raise FineTuneError(
                "questions are to be written, and no language model is set",
                remedy="Set providers.completion, or leave --write-about out.",
            )
        self._core = core
        self._pools = pools
        self._provider = provider
        self._tokenizer = BM25Tokenizer()

    async def about(
        self, memories: Sequence[WritableMemory], first: int
    ) -> tuple[TrainingQuestion, ...]:
        """Return the questions about some memories, numbered from ``first`` by their place.

        Memories that are sensitive or too short have none, and a model's answer that isn't taken
        leaves its number free. Raises ``CompletionError``.
        """
        ids = [memory.id for memory in memories]
        rows = await self._core.read(partial(queries.rows_by_id, ids=ids))
        contents = {
            key: row.content
            for key, row in rows.items()
            if len(row.content) >= MIN_CONTENT
            and parse_tags(row.tags).sensitivity in GIVEN_BY_DEFAULT
        }
        found = []
        for number, memory in enumerate(memories, first):
            text = contents.get(memory.id)
            question = await self.question_about(text) if text is not None else None
            if question is None:
                continue
            (vector,) = await question_vectors(self._core.embedder, [question])
            if is_about(vector, memory.id, self._pools[memory.agent_id]):
                found.append(
                    TrainingQuestion(
                        number=number,
                        text=question,
                        agent_id=memory.agent_id,
                        relevant=(memory.id,),
                        session=memory.session,
                        split=PairSplit.TRAINING,
                        vector=vector.tobytes(),
                    )
                )
        return tuple(found)

    async def question_about(self, content: str) -> str | None:
        """Return a question that a memory answers, ``None`` when the model wrote none.

        Raises:
            CompletionError: The model failed.
        """
        shown = safe_text(content[:MAX_SHOWN])
        messages = (
            ChatMessage(
                role=MessageRole.SYSTEM, content=f"{_ROLE} {untrusted_content_directive([_TAG])}"
            ),
            # The wish comes last: a small model answers what it read last.
            ChatMessage(
                role=MessageRole.USER, content=f"{wrap_untrusted(_TAG, shown)}\n\n{_INSTRUCTION}"
            ),
        )
        return self.accepted((await self._provider.complete(messages, _OPTIONS)).text, content)

    def accepted(self, answer: str, content: str) -> str | None:
        """Return the question in a model's answer, ``None`` when it is no question of its own."""
        question, mark, _ = " ".join(answer.split()).strip("\"'* ").partition("?")
        text = redact_text(f"{question}?", RedactionTally())
        speaks_of_its_task = any(
            word in text.lower() for word in (_TAG, "untrusted", "this note", "the note")
        )
        if not mark or len(text) > _MAX_QUESTION or speaks_of_its_task:
            return None
        terms, known = self._tokenizer.tokenize(text), self._tokenizer.tokenize(content)
        if len(text.split()) < _MIN_WORDS or not terms:
            return None
        return None if _longest_run(terms, known) > MAX_COPIED * len(terms) else text


def is_about(vector: Numbers, memory_id: str, pool: MemoryPool) -> bool:
    """Return whether a question, by its vector, finds the memory that it was written about."""
    import numpy as np

    rows = pool.rows([memory_id])
    if not rows:
        return False
    scores = pool.vectors @ vector
    return int(np.count_nonzero(scores > scores[rows[0]])) < FOUND_WITHIN


def _longest_run(terms: Sequence[str], known: Sequence[str]) -> int:
    """The most terms in a row that stand in the same order elsewhere."""
    longest, before = 0, [0] * (len(known) + 1)
    for term in terms:
        now = [0] * (len(known) + 1)
        for at, other in enumerate(known, 1):
            if term == other:
                now[at] = before[at - 1] + 1
                longest = max(longest, now[at])
        before = now
    return longest
