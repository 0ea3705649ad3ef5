"""Rows, groups, filters and reports of the Memories pane and its import screen, as styled lines.

A memory in full is rendered in ``detail``. Nothing here knows widgets.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.memory.listing import BrowseFilter, Facets, ListedMemory
from synthorg_tui.tui.base.filters import Chip, Query, filter_line
from synthorg_tui.tui.base.formatting import ago, counted, duration, memories, size
from synthorg_tui.tui.base.lines import Line, bar, beside, error_lines, keys_line, line, one_line
from synthorg_tui.tui.memories.state import Listing

if TYPE_CHECKING:  # they need pydantic, which the first rows don't wait for
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportProgress, ImportReport

GLYPHS = {
    MemoryCategory.WORKING: "◌",
    MemoryCategory.EPISODIC: "●",
    MemoryCategory.SEMANTIC: "◆",
    MemoryCategory.PROCEDURAL: "▲",
    MemoryCategory.SOCIAL: "■",
}
"""Glyphs of the categories, so that they differ in more than colour."""

_AGENT_WIDTH = 12
_PREVIEW = 400
_LESSON = "[DISCOVERY] "
"""Start of the memory of a lesson, left out in lists, where the glyph shows it."""


def category_mark(category: MemoryCategory) -> tuple[str, str]:
    """Return the glyph and the style role of a category."""
    return GLYPHS[category], f"cat-{category.value}"


def memory_line(row: ListedMemory, width: int, *, now: datetime, marked: bool) -> Line:
    """Render a memory in one line: mark, category glyph, start of the content, agent and age.

    The result is shared by equal rows; don't modify it.
    """
    age = ago(row.created_at, now)
    if row.deleted_at is None and not row.is_live(now):
        age = "exp."
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


def score_line(row: ListedMemory, width: int, *, best_sparse: float) -> Line:
    """Render a row's search scores as bars.

    ``best_sparse`` is the highest keyword score in the result, for which the bar is full.
    """
    size, gap = (8, "   ") if width >= 76 else (4, "  ") if width >= 58 else (3, " ")
    scores = line(("    ", "text"))
    for name, score, share, role in (
        ("relevance", row.fused, row.fused or 0.0, "accent"),
        ("meaning", row.dense, row.dense or 0.0, "good"),
        ("words", row.sparse, (row.sparse or 0.0) / (best_sparse or 1.0), "warn"),
    ):
        scores.add(f"{name} ", "faint").extend(bar(share, size, role))
        scores.add(f" {_number(score)}{gap}", "muted" if score is not None else "faint")
    return scores.fit(width)


def _number(score: float | None) -> str:
    if score is None:
        return "  – "
    return f"{score:4.2f}" if score < 10 else f"{score:4.1f}"


def waiting_line(width: int) -> Line:
    """Render the placeholder of a row that isn't loaded yet."""
    return line(("  · ", "faint"), ("·····", "faint")).fit(width)


def facet_lines(
    facets: Facets, width: int, *, chosen: BrowseFilter
) -> list[tuple[tuple[str, str] | None, Line]]:
    """Render the categories and agents with their counts.

    Each line comes with the filter operator and value it toggles, or ``None`` for a heading.
    """
    groups: list[tuple[tuple[str, str] | None, Line]] = []
    groups.append((None, line(("Categories", "title")).fit(width)))
    counts = dict(facets.categories)
    for category in MemoryCategory:
        left = _choice(category in chosen.categories)
        glyph, role = category_mark(category)
        left.add(glyph + " ", role).add(category.value, "text" if counts.get(category) else "faint")
        count = line((f"{counts.get(category, 0):,}", "muted"))
        groups.append((("cat:", category.value), beside(left, count, width)))
    groups.append((None, line(("", "text")).fit(width)))
    groups.append((None, line(("Agents", "title")).fit(width)))
    for agent, number in facets.agents:
        left = _choice(agent in chosen.agents).add(one_line(agent), "text")
        count = line((f"{number:,}", "muted"))
        if facets.is_full(number):
            count = line(("full ", "warn"), (f"{number:,}", "warn"))
        groups.append((("agent:", agent), beside(left, count, width)))
    if not facets.agents:
        groups.append((None, line(("  none yet", "faint")).fit(width)))
    return groups


def _choice(chosen: bool) -> Line:
    return line(("▸ " if chosen else "  ", "accent"))


def chip_line(query: Query, width: int, *, search: bool) -> Line:
    """Render the parts of a filter or a search as chips; the words of a search form one chip."""
    if search and query.text:
        rest = (chip for chip in query.chips if chip.kind != "word")
        query = replace(query, chips=(Chip("word", query.text, "match"), *rest))
    return filter_line(query, width, title="search " if search else "filter ")


def empty_lines(listing: Listing) -> list[Line]:
    """Render why the list is empty, and what the person can do next."""
    if listing.searching:
        subject = listing.query.text or listing.search_text
        return _notice(
            "Nothing relevant",
            f"No memory is about “{subject}”.",
            ("esc", "goes back"),
            ("s", "asks again"),
        )
    if listing.filter_text.strip():
        hidden = f"{memories(listing.facets.total)} hidden by the filter."
        return _notice("No memory matches", hidden, ("esc", "clears it"), ("/", "changes it"))
    return _notice(
        "No memories yet",
        "They come from the sessions of your coding agents.",
        ("i", "imports sessions"),
        ("a", "writes one"),
    )


def _notice(title: str, reason: str, *keys: tuple[str, str]) -> list[Line]:
    return [line((title, "title")), Line(), line((reason, "text")), _keys(*keys)]


def _keys(*pairs: tuple[str, str]) -> Line:
    """Keys with what they do, and nothing after the last: placeholders are centred."""
    keys = keys_line(*pairs)
    last, role = keys.spans[-1]
    keys.spans[-1] = (last.rstrip(), role)
    return keys


def loading_lines(owner: str = "") -> list[Line]:
    """Render the text shown while the store is being read.

    If ``owner`` is given, the app waits for this process to release the store.
    """
    if not owner:
        return [line(("Reading the store …", "muted"))]
    return [
        line((owner, "text")),
        Line(),
        line(("Waiting a few seconds for it to end …", "muted")),
    ]


def listing_error(error: DomainError) -> list[Line]:
    """Render an error's cause and remedy in place of the list."""
    keys = _keys(("r", "tries again"), ("q", "quits"))
    return error_lines("The memories can't be shown", error, keys)


_MAX_SKIPPED = 200


def place_line(place: "FoundTranscripts", width: int, *, chosen: bool) -> Line:
    """Render a place with transcripts: whether it is selected, its path and its amount of data."""
    box = ("■ ", "accent") if chosen else ("□ ", "muted")
    left = line(("  ", "text"), box, (place.reader.replace("_", "-"), "strong"), ("  ", "text"))
    left.add(one_line(short_path(str(place.root))), "muted")
    right = line((f"{counted(place.files, 'file')}  {size(place.bytes).rjust(8)} ", "text"))
    return beside(left, right, width)


def progress_lines(step: "ImportProgress", width: int) -> list[Line]:
    """Render a running import: progress bar, counts, rate and remaining time."""
    share = step.bytes_done / step.bytes_total if step.bytes_total else 0.0
    size_bar = max(width - 8, 8)
    head = bar(share, size_bar).add(f" {share:>5.0%}", "strong")
    facts = f"{step.files_done:,} of {counted(step.files_total, 'file')}"
    facts += f" · {size(step.bytes_done)} of {size(step.bytes_total)}"
    left = "estimating" if step.seconds_left is None else f"{duration(step.seconds_left)} left"
    rate = f"{size(step.bytes_per_second)}/s · {left}"
    return [
        head,
        line((facts, "text")).fit(width),
        line((f"{memories(step.memories_added)} so far · {rate}", "text")).fit(width),
        line((one_line(step.current), "faint")).fit(width),
    ]


def report_lines(report: "ImportReport") -> list[Line]:
    """Render the result of an import, and each file it skipped with the reason."""
    state = (
        ("Stopped. What was imported is kept.", "warn") if report.cancelled else ("Done.", "good")
    )
    lines = [line(state), Line()]
    for label, value in (
        ("memories added", report.memories_added),
        ("memories updated", report.memories_updated),
        ("known already", report.memories_skipped),
        ("files read", report.files),
        ("sessions", report.executions),
        ("recoveries", report.recoveries),
        ("lessons proposed", report.lessons_proposed),
        ("secrets redacted", report.redactions),
        ("malformed lines", report.malformed_lines),
    ):
        role = "warn" if label == "malformed lines" and value else "text" if value else "faint"
        lines.append(line((f"{value:>9,}  ", role), (label, "muted")))
    if report.memories_refused:
        lines.append(line((f"{report.memories_refused:>9,}  ", "warn"), ("not stored", "warn")))
        full = ", ".join(map(one_line, report.full_agents))
        lines.append(
            line((f"           {full}: full; delete memories (d) or raise the limit", "warn"))
        )
    if report.lessons_proposed:
        lines += [Line(), line(("4", "accent"), (" reviews what was learnt", "muted"))]
    calls = [
        f"{count:,} {outcome.value.replace('_', ' ')}"
        for outcome, count in report.calls.items()
        if count
    ]
    if calls:
        lines += [Line(), line(("Tool calls  ", "title"), (", ".join(calls), "text"))]
    lines += [Line(), *_skipped(report.skipped)]
    return lines


def _skipped(skipped: Sequence[tuple[str, str]]) -> list[Line]:
    if not skipped:
        return [line(("Nothing was left out.", "muted"))]
    lines = [line((f"Left out: {counted(len(skipped), 'file')}", "title"))]
    for path, reason in skipped[:_MAX_SKIPPED]:
        skip = line((f"  {one_line(short_path(path))}", "text"), (f"  {one_line(reason)}", "warn"))
        skip.hang = 4
        lines.append(skip)
    if len(skipped) > _MAX_SKIPPED:
        lines.append(line((f"  and {len(skipped) - _MAX_SKIPPED:,} more", "faint")))
    return lines
