"""Tells code, data and identifiers from talk, by counting what they are made of.

Dense text must be quoted: a summary of it loses what it is kept for. No model is asked, and the
same text always has the same density.
"""

from collections.abc import Sequence
from typing import Final

from synthorg_tui.core.text import compiled
from synthorg_tui.memory.consolidation.models import ContentDensity
from synthorg_tui.memory.models import MemoryEntry

__all__ = ["ContentDensity", "DensityClassifier"]


UUID: Final = r"(?i:\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
LONG_HEX: Final = r"(?i:\b[0-9a-f]{32,}\b)"
URL: Final = r"(?i:\bhttps?://[^\s<>\"'`)\]]+)"

_CODE: Final = (
    r"\bdef \w+\(|\bclass \w|\bimport \w|\bfrom [\w.]{1,100} import\b|\breturn "
    r"|\bif [^:\n]{1,200}:|\bfor \w+ in |=\s?[\[{(]|[{}\[\]();]"
)
_STRUCTURED: Final = (
    r"\"[^\"\n]{1,100}\"\s?:|(?m:^[ \t]{0,40}[A-Za-z_][\w.-]{0,60}:[ \t]+\S)"
    r"|</?[A-Za-z][^<>\n]{0,200}>|(?m:^[ \t]{0,40}- \S)"
)
_IDENTIFIERS: Final = (
    rf"{UUID}|{LONG_HEX}|{URL}|\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+){{2,}}\b"
    r"|\b[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]+){2,}\b"
)
_NUMERIC: Final = (
    r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|\bv?\d+\.\d+\.\d+\b|(?<!\d)\d{5,}(?!\d)"
)

_WEIGHTS: Final = (
    (_CODE, 0.30, 5),
    (_STRUCTURED, 0.25, 2),
    (_IDENTIFIERS, 0.20, 8),
    (_NUMERIC, 0.10, 10),
)
"""For each signal its pattern, its weight, and by how much hits are multiplied."""

_LINES_WEIGHT: Final = 0.15
_LONG_LINE: Final = 80
_MANY_LINES: Final = 10


class DensityClassifier:
    """Classifies texts as dense or sparse.

    Args:
        dense_threshold: Least score of a dense text, in [0, 1]: 0 makes every text dense.

    Raises:
        ValueError: The threshold is outside [0, 1].
    """

    def __init__(self, dense_threshold: float = 0.5) -> None:
        if not 0.0 <= dense_threshold <= 1.0:
            raise ValueError(f"dense_threshold must be in [0, 1], not {dense_threshold}")
        self._threshold = dense_threshold

    def classify(self, content: str) -> ContentDensity:
        """Return ``DENSE`` when the text's score reaches the threshold, else ``SPARSE``."""
        dense = density_score(content) >= self._threshold
        return ContentDensity.DENSE if dense else ContentDensity.SPARSE

    def classify_batch(
        self, entries: Sequence[MemoryEntry]
    ) -> tuple[tuple[MemoryEntry, ContentDensity], ...]:
        """Return each memory with its density, in the order given."""
        return tuple((entry, self.classify(entry.content)) for entry in entries)


def density_score(content: str) -> float:
    """Return how dense a text is, in [0, 1]; 0 for an empty one.

    Weighted are signs of code, of structured data and of identifiers, numbers, and short lines.
    Structured data is counted by lines, the other signs by words.
    """
    words, lines = len(content.split()), content.splitlines()
    if not words:
        return 0.0
    score = _LINES_WEIGHT * _line_structure(lines)
    for pattern, weight, scale in _WEIGHTS:
        size = len(lines) if pattern is _STRUCTURED else words
        hits = sum(1 for _ in compiled(pattern).finditer(content))
        score += weight * min(1.0, hits / size * scale)
    return min(1.0, score)


def _line_structure(lines: Sequence[str]) -> float:
    """How much the text is made of many short lines, in [0, 1]; 0 for a single one."""
    if len(lines) < 2:
        return 0.0
    mean = sum(map(len, lines)) / len(lines)
    return max(0.0, 1.0 - mean / _LONG_LINE) * min(len(lines) / _MANY_LINES, 1.0)
