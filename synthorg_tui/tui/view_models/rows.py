"""Memories as lines of a list."""

from datetime import datetime
from functools import lru_cache

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.tui.ports import Facets, MemoryRow
from synthorg_tui.tui.view_models.clockwork import ago
from synthorg_tui.tui.view_models.ink import Line, beside, line, one_line

GLYPHS = {
    MemoryCategory.WORKING: "◌",
    MemoryCategory.EPISODIC: "●",
    MemoryCategory.SEMANTIC: "◆",
    MemoryCategory.PROCEDURAL: "▲",
    MemoryCategory.SOCIAL: "■",
}
"""A shape per category, so that colour is never the only sign."""

_AGENT_WIDTH = 12
_PREVIEW = 400
_LESSON = "[DISCOVERY] "
"""What the memory of a lesson begins with: in a list the glyph says it."""


def category_mark(category: MemoryCategory) -> tuple[str, str]:
    """The category's glyph and role."""
    return GLYPHS[category], f"cat-{category.value}"


def bar(share: float, width: int, role: str = "accent") -> Line:
    """A thin bar filled to ``share`` in [0, 1], in half-cell steps."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    full, half = divmod(halves, 2)
    return line(("━" * full + "╸" * half, role), ("─" * (width - full - half), "track"))


def memory_line(row: MemoryRow, width: int, *, now: datetime, marked: bool) -> Line:
    """One row: mark, category glyph, first line of the content and what follows, agent, age.

    Rows that look the same share a line, which is not to be changed.
    """
    age = ago(row.created_at, now)
    return _memory_line(row.content[:_PREVIEW], row.category, row.agent_id, age, width, marked)


@lru_cache(maxsize=1024)  # a list that memories come to asks for the same ones a row further down
def _memory_line(
    content: str, category: MemoryCategory, agent_id: str, age: str, width: int, marked: bool
) -> Line:
    left = line(("✓ " if marked else "  ", "accent"))
    left.add(GLYPHS[category] + " ", f"cat-{category.value}")
    title, _, rest = content.strip().partition("\n")
    left.add(one_line(title).removeprefix(_LESSON), "text")
    if rest:
        left.add("  " + one_line(rest), "faint")
    room = min(_AGENT_WIDTH, max(width // 5, 6))
    right = line((one_line(agent_id), "muted")).fit(room, "muted")
    return beside(left, right.add(age.rjust(5), "faint"), width)


def score_line(row: MemoryRow, width: int, *, best_sparse: float) -> Line:
    """The row's scores as bars; the keyword score is drawn against the best of the result."""
    size, gap = (8, "   ") if width >= 76 else (4, "  ") if width >= 58 else (3, " ")
    made = line(("    ", "text"))
    for name, score, share, role in (
        ("fused", row.fused, row.fused or 0.0, "accent"),
        ("dense", row.dense, row.dense or 0.0, "good"),
        ("sparse", row.sparse, (row.sparse or 0.0) / (best_sparse or 1.0), "warn"),
    ):
        made.add(f"{name} ", "faint").extend(bar(share, size, role))
        made.add(f" {_number(score)}{gap}", "muted" if score is not None else "faint")
    return made.fit(width)


def _number(score: float | None) -> str:
    if score is None:
        return "  – "
    return f"{score:4.2f}" if score < 10 else f"{score:4.1f}"


def waiting_line(width: int) -> Line:
    """The place of a row that is not loaded yet."""
    return line(("  · ", "faint"), ("·····", "faint")).fit(width)


def facet_lines(
    facets: Facets, width: int, *, agents: tuple[str, ...], categories: tuple[MemoryCategory, ...]
) -> list[tuple[tuple[str, str] | None, Line]]:
    """The left pane: lines with the operator and value they toggle, ``None`` for a heading."""
    made: list[tuple[tuple[str, str] | None, Line]] = []
    made.append((None, line(("Categories", "title")).fit(width)))
    counts = dict(facets.categories)
    for category in MemoryCategory:
        left = _choice(category in categories)
        glyph, role = category_mark(category)
        left.add(glyph + " ", role).add(category.value, "text" if counts.get(category) else "faint")
        count = line((f"{counts.get(category, 0):,}", "muted"))
        made.append((("cat:", category.value), beside(left, count, width)))
    made.append((None, line(("", "text")).fit(width)))
    made.append((None, line(("Agents", "title")).fit(width)))
    for agent, number in facets.agents:
        left = _choice(agent in agents).add(one_line(agent), "text")
        made.append((("agent:", agent), beside(left, line((f"{number:,}", "muted")), width)))
    if not facets.agents:
        made.append((None, line(("  none yet", "faint")).fit(width)))
    return made


def _choice(chosen: bool) -> Line:
    return line(("▸ " if chosen else "  ", "accent"))
