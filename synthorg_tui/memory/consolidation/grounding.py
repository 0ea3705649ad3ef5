"""Whether a model's text stands on the memories that it was made of.

A small model declines, talks about its instructions, or makes up a path. Such a text would stand
for memories that leave, so whatever isn't plainly theirs is not taken. This compares words; whether
a sentence is true of its source is for the person who is asked about it.
"""

import re
from collections.abc import Sequence
from typing import Final

from synthorg_tui.memory.retrieval.sparse import STOP_WORDS

MIN_SHARE: Final = 0.6
"""Share of a text's words that the memories must have; of good summaries measured .67 to .97."""
_STEM: Final = 4
"""Letters by which words are compared: "test" and "tests" are one word."""
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_EXACT: Final = re.compile(r"[\w./@:-]*\w")
_IS_EXACT: Final = re.compile(r"\d|[_/@]|\w\.\w|[a-z][A-Z]")
_OF_FENCES: Final = ("untrusted", "memory-entry", "task-data")
"""Words of the instructions; a text that has them talks about its question."""


def is_grounded(text: str, sources: Sequence[str]) -> bool:
    """Return whether a text says what its sources say.

    Numbers, paths and identifiers must be in the sources as they stand, and so must at least
    ``MIN_SHARE`` of the other words, by their beginnings. A text without words isn't grounded.
    """
    known = "\n".join(sources).lower()
    said = text.lower()
    if any(word in said and word not in known for word in _OF_FENCES):
        return False
    for found in _EXACT.finditer(text):
        exact = said[found.start() : found.end()].strip("./:-")
        # A path or number is there, whole or as a part of a longer path.
        if _IS_EXACT.search(found[0]) and not re.search(rf"(?<!\w){re.escape(exact)}(?!\w)", known):
            return False
    words, stems = _stems(said), _stems(known)
    return bool(words) and len(words & stems) >= MIN_SHARE * len(words)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text) if word not in STOP_WORDS)
