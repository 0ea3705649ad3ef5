"""Keeps of a dense text what must not be reworded: its facts as they are, and three passages.

For code, data and identifiers a summary is wrong by nature. So nothing is written here: all of the
result but its headings stands in the text, letter for letter.
"""

from collections.abc import Iterator
from typing import Final

from synthorg_tui.core.text import compiled
from synthorg_tui.memory.consolidation.density import LONG_HEX, URL, UUID

MAX_FACT_CHARS: Final = 300
"""What is longer is data, not a fact; cut short it would be wrong."""

_VERSION: Final = r"\bv\d+\.\d+\.\d+(?:\.\d+)?\b|(?<![\w.])\d+\.\d+\.\d+(?!\.?\d)"
_KEY_VALUE: Final = r"(?m:^[ \t]{0,40}[A-Za-z_][\w. -]{0,60}[:=][ \t]?\S[^\n]*$)"
_FACTS: Final = (URL, UUID, LONG_HEX, _VERSION, _KEY_VALUE)


class ExtractivePreserver:
    """Extracts facts and passages from dense texts.

    Args:
        max_facts: Most facts of one text.
        anchor_length: Length of each passage in characters.

    Raises:
        ValueError: One of them is below 1.
    """

    def __init__(self, max_facts: int = 20, anchor_length: int = 150) -> None:
        if max_facts < 1:
            raise ValueError(f"max_facts must be >= 1, not {max_facts}")
        if anchor_length < 1:
            raise ValueError(f"anchor_length must be >= 1, not {anchor_length}")
        self._max_facts = max_facts
        self._length = anchor_length

    def extract(self, content: str) -> str:
        """Return the text's facts and its beginning, middle and end, each under a heading.

        A text no longer than one passage is its beginning, whole.
        """
        lines = ["[Extractive preservation]"]
        if facts := key_facts(content)[: self._max_facts]:
            lines += ["Key facts:", *(f"- {fact}" for fact in facts)]
        return "\n".join((*lines, *self._anchors(content)))

    def _anchors(self, content: str) -> Iterator[str]:
        length = self._length
        if len(content) <= length:
            yield f"[START] {content}"
            return
        middle = (len(content) - length) // 2
        yield f"[START] {content[:length]}..."
        yield f"[MID] ...{content[middle : middle + length]}..."
        yield f"[END] ...{content[-length:]}"


def key_facts(content: str) -> tuple[str, ...]:
    """Return the facts in a text, each once.

    First all addresses, then UUIDs, long hexadecimal numbers, versions, and lines of the form
    ``key: value`` or ``key=value``; each sort in the text's order.
    """
    found = (
        match[0].strip().rstrip(".,;:!?" if pattern is URL else "")
        for pattern in _FACTS
        for match in compiled(pattern).finditer(content)
    )
    return tuple(dict.fromkeys(fact for fact in found if 0 < len(fact) <= MAX_FACT_CHARS))
