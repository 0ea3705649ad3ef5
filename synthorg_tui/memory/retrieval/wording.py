"""How the memories of a digest are told: whole or by the passage that answers, and how often seen.

A short memory is told as it is; of a long one an agent is given what answers its question, and the
id by which it can read the rest. Each block has a mark, by which it is known whether a session was
handed the very same before.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from synthorg_tui.core.text import CHARS_PER_TOKEN
from synthorg_tui.memory.formatter import MemoryWording
from synthorg_tui.memory.kinds import MemoryKind, kind_of
from synthorg_tui.memory.models import MemoryEntry, short_id
from synthorg_tui.memory.ranking import ScoredMemory
from synthorg_tui.memory.retrieval.explanation import PreparedMessages, Verdict
from synthorg_tui.memory.retrieval.passages import PassageFinder

DIARY: Final = frozenset({MemoryKind.SESSION, MemoryKind.TASK, MemoryKind.COMMIT})
"""Kinds that tell what happened; what was learnt from it stands before them."""
LEARNT: Final = frozenset({MemoryKind.KNOWLEDGE, MemoryKind.LESSON, MemoryKind.FACT})
"""Kinds that tell what holds: of these a passage may lack the condition, so they get more room."""
HANDED_BEFORE: Final = "handed over earlier in this session, word for word"
ROOM_OF_LEARNT: Final = 3
"""How many times as long as other passages those of what holds are."""
WORTH_CUTTING: Final = 1.5
"""How much longer than an excerpt a text has to be: naming the rest takes room, too."""
_SHARE: Final = 0.5
"""Share of the room left that one memory may take before those after it had their turn."""
_IN_FULL: Final = 0.7
"""Share of a text from which on an agent has read it: the rest is no reason to give it again."""
_LESS: Final = 0.8
"""Share of a text that is tried next where a tokenizer counts it as too long."""


def kind_of_memory(memory: ScoredMemory) -> MemoryKind:
    """Return what sort of thing a memory tells."""
    entry = memory.entry
    return kind_of(entry.category, entry.metadata.tags, entry.content)


class Worder:
    """Words the memories that answer one query.

    Args:
        query: What the agent is about to do.
        max_tokens: About how many tokens a passage has at first; ``LEARNT`` kinds have thrice as
            many.
    """

    def __init__(self, query: str, max_tokens: int) -> None:
        self._finder = PassageFinder(query)
        self._chars = max_tokens * CHARS_PER_TOKEN

    def wordings(
        self, memories: Sequence[ScoredMemory], seen: Mapping[str, str]
    ) -> dict[str, MemoryWording]:
        """Return how each memory is told, by id; ``seen`` says of some how often they were seen."""
        return {
            memory.entry.id: self.worded(
                memory.entry, is_shared=memory.is_shared, seen=seen.get(memory.entry.id, "")
            )
            for memory in memories
        }

    def worded(
        self, entry: MemoryEntry, *, is_shared: bool = False, seen: str = ""
    ) -> MemoryWording:
        """Return how a memory is told; ``seen`` says how often it was seen."""
        content = entry.content
        kind = kind_of(entry.category, entry.metadata.tags, content)
        room = ROOM_OF_LEARNT if kind in LEARNT else 1
        limit = self._chars * room
        if len(content) <= limit * WORTH_CUTTING:
            return MemoryWording(content, seen=seen)
        told = self._finder.excerpt(content, limit)
        # Others' shared memories can't be asked for by id.
        whole = short_id(entry.id) if told.is_cut and not is_shared else ""
        return MemoryWording(told.text, whole, seen)

    def filling(
        self,
        memories: Sequence[ScoredMemory],
        passages: Mapping[str, MemoryWording],
        room: int,
        size: Callable[[ScoredMemory, MemoryWording], int],
    ) -> dict[str, MemoryWording]:
        """Return longer wordings in place of ``passages``, so that together they fill a room.

        Each memory, best first, is told in up to half of the room that those before it left; what
        is over in the end makes the first ones longer. ``size`` is that of a memory as worded. What
        doesn't fit keeps its passage.
        """
        told, taken, left = dict(passages), dict[str, int](), room
        for share in (_SHARE, 1.0):
            for memory in memories:
                key = memory.entry.id
                free = left + taken.get(key, 0)
                if share < 1.0 or key in taken:
                    longer = self._longer(memory, told[key], int(free * share), size)
                    if (need := size(memory, longer)) <= free:
                        told[key], taken[key], left = longer, need, free - need
        return told

    def _longer(
        self,
        memory: ScoredMemory,
        passage: MemoryWording,
        most: int,
        size: Callable[[ScoredMemory, MemoryWording], int],
    ) -> MemoryWording:
        """The whole text, or the most of it that takes no more than ``most``; else the passage."""
        content = memory.entry.content
        whole = passage._replace(text=content, whole="")
        if passage.text == content or size(memory, whole) <= most:
            return whole
        chars = (most - size(memory, passage._replace(text=""))) * CHARS_PER_TOKEN
        while chars > len(passage.text):
            told = self._finder.excerpt(content, chars)
            longer = passage._replace(text=told.text)
            if size(memory, longer) <= most:
                return longer
            chars = int(chars * _LESS)
        return passage


def mark_of(text: str, memory_id: str = "") -> str:
    """Return what tells a block from all others: what it says, and which memory it is of."""
    told = f"{memory_id}\0{text}".encode("utf-8", "replace")
    return hashlib.blake2b(told, digest_size=8).hexdigest()


def marks_of(
    memories: Iterable[ScoredMemory],
    passages: Mapping[str, MemoryWording],
    told: Mapping[str, MemoryWording],
) -> tuple[str, ...]:
    """Return the marks of memories that are given: of each, its passage, and what is in full."""
    marks: list[str] = []
    for memory in memories:
        key, content = memory.entry.id, memory.entry.content
        marks += mark_of("", key), mark_of(passages[key].text, key)
        if len(told[key].text) >= _IN_FULL * len(content):
            marks.append(mark_of(content, key))
    return tuple(dict.fromkeys(marks))


def only_news(prepared: PreparedMessages, handed: Collection[str]) -> PreparedMessages:
    """Return the messages, or none when the session was handed the very same text before.

    The explanation then gives that as the reason, else it has the mark of the whole text.
    """
    explanation = prepared.explanation
    whole = mark_of(explanation.text)
    if not explanation.text or whole not in handed:
        return prepared._replace(
            explanation=replace(explanation, marks=(*explanation.marks, whole))
        )
    candidates = tuple(
        replace(candidate, verdict=Verdict.HANDED, reason=HANDED_BEFORE)
        if candidate.verdict.is_in
        else candidate
        for candidate in explanation.candidates
    )
    nothing: dict[str, Any] = {"text": "", "tokens_used": 0, "frame_tokens": 0}
    return PreparedMessages((), replace(explanation, candidates=candidates, **nothing))
