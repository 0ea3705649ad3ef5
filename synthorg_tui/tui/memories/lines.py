"""Rows, groups, filters and reports of the Memories pane and its import screen, as styled lines.

A memory in full is rendered in ``detail``. Nothing here knows widgets.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.projects import project_names
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.kinds import TITLE_STARTS, MemoryKind
from synthorg_tui.memory.listing import (
    SHARED_OWNER,
    BrowseFilter,
    Facets,
    ListedMemory,
    owner_words,
)
from synthorg_tui.tui.base.filters import Chip, Query, filter_line
from synthorg_tui.tui.base.formatting import ago, counted, duration, memories, size
from synthorg_tui.tui.base.lines import Line, bar, beside, error_lines, keys_line, line, one_line
from synthorg_tui.tui.memories.state import Listing

if TYPE_CHECKING:  # they need pydantic, which the first rows don't wait for
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportProgress, ImportReport
    from synthorg_tui.memory.retrieval.passages import Passage, PassageFinder

GLYPHS = {
    MemoryCategory.WORKING: "◌",
    MemoryCategory.EPISODIC: "●",
    MemoryCategory.SEMANTIC: "◆",
    MemoryCategory.PROCEDURAL: "▲",
    MemoryCategory.SOCIAL: "■",
}
"""Glyphs of the categories, so that they differ in more than colour."""

KIND_MARKS = {
    MemoryKind.SESSION: ("S", "accent"),
    MemoryKind.TASK: ("T", "muted"),
    MemoryKind.RECOVERY: ("R", "warn"),
    MemoryKind.COMMIT: ("C", "good"),
    MemoryKind.REFUSED: ("X", "bad"),
    MemoryKind.SAID: ('"', "match"),
    MemoryKind.LESSON: ("L", "cat-procedural"),
    MemoryKind.FACT: ("F", "cat-semantic"),
    MemoryKind.KNOWLEDGE: ("K", "cat-semantic"),
    MemoryKind.WRITTEN: ("W", "cat-social"),
}
"""Letters of the kinds of memories, with their style roles."""

ARCHIVED_SHORT = {
    ArchiveReason.DUPLICATE: "duplicate",
    ArchiveReason.SUPERSEDED: "superseded",
    ArchiveReason.CONSOLIDATED: "merged",
    ArchiveReason.EXPIRED: "expired",
    ArchiveReason.ROOM: "room",
    ArchiveReason.BY_HAND: "by hand",
}
"""Why a memory is archived, in a word or two."""

_AGENT_WIDTH = 12
_PREVIEW = 400


def category_mark(category: MemoryCategory) -> tuple[str, str]:
    """Return the glyph and the style role of a category."""
    return GLYPHS[category], f"cat-{category.value}"


def memory_line(
    row: ListedMemory,
    width: int,
    *,
    now: datetime,
    marked: bool,
    shows: tuple[bool, bool] = (True, True),
    under: str = "",
) -> Line:
    """Render a memory in one line: mark, letter of its kind, title and content, agent and age.

    ``shows`` tells whether the agent and the age are shown; an expired or archived memory always
    says so, the latter with why and for how long. ``under`` is the project that a heading names: a
    title doesn't say it again. The result is shared by equal rows; don't modify it.
    """
    with_agent, with_age = shows
    age = ago(row.created_at, now) if with_age else ""
    if row.deleted_at is None and not row.is_live(now):
        age = _archived_short(row, now) or "exp."
    agent_id = owner_words(row.agent_id) if with_agent else ""
    if row.shared and row.agent_id != SHARED_OWNER:
        agent_id = f"@{agent_id}" if agent_id else "@"
    content = row.content[:_PREVIEW].strip()
    if row.kind is MemoryKind.KNOWLEDGE and under:
        content = content.removeprefix(f"{under}: ")
    return _memory_line(content, row.kind, agent_id, age, width, marked)


def choice_lines(
    rows: Sequence[ListedMemory], now: datetime, width: int
) -> list[tuple[object, Line]]:
    """Render memories for a dialog in which one of them is chosen."""
    return [(row, memory_line(row, width, now=now, marked=False)) for row in rows]


def _archived_short(row: ListedMemory, now: datetime) -> str:
    """Why and for how long a memory is archived; empty for one that isn't."""
    if row.archived_at is None:
        return ""
    why = ARCHIVED_SHORT[ArchiveReason(row.archived_why or ArchiveReason.BY_HAND)]
    return f"arch. {why} {ago(row.archived_at, now)}"


@lru_cache(maxsize=1024)  # a list that memories come to asks for the same ones a row further down
def _memory_line(
    content: str, kind: MemoryKind, agent_id: str, age: str, width: int, marked: bool
) -> Line:
    left = _row_start(kind, marked)
    title, _, rest = content.strip().partition("\n")
    left.add(_title(title, kind), "text")
    if rest:
        left.add("  " + one_line(rest), "faint")
    right = Line()
    if agent_id:
        room = min(_AGENT_WIDTH, max(width // 5, 6))
        right.extend(line((one_line(agent_id), "muted")).fit(room, "muted"))
    if age:
        right.add(" " * bool(agent_id and len(age) > 4) + age.rjust(5), "faint")
    return beside(left, right, width) if right.spans else left.fit(width)


def _row_start(kind: MemoryKind, marked: bool) -> Line:
    letter, role = KIND_MARKS[kind]
    return line(("✓" if marked else " ", "accent"), (f"{letter} ", role))


def _title(title: str, kind: MemoryKind) -> str:
    return one_line(title).removeprefix(TITLE_STARTS.get(kind, ""))


_RELEVANCE_WIDTH = 8


def found_lines(
    row: ListedMemory, width: int, *, finder: "PassageFinder", now: datetime, marked: bool
) -> list[Line]:
    """Render a search result in two lines, with the words that were searched for marked.

    The first has the title and a bar for the relevance, the second the sentence that matches best
    apart from the title.
    """
    title, _, rest = row.content.strip().partition("\n")
    if row.kind is MemoryKind.KNOWLEDGE:
        title = title.removeprefix(f"{row.project_name}: ")
    first = _row_start(row.kind, marked)
    _add_passage(first, finder.marked(_title(title[:_PREVIEW], row.kind)), "text")
    relevance = bar(row.fused or 0.0, _RELEVANCE_WIDTH)
    second = line(("   ", "text"))
    _add_passage(second, finder.best(rest or title), "muted")
    age = _archived_short(row, now) or ago(row.created_at, now)
    aside = " ".join(filter(None, (row.project_name or owner_words(row.agent_id), age)))
    right = line((one_line(aside), "faint"))
    return [beside(first, relevance, width), beside(second, right, width)]


def _add_passage(shown: Line, passage: "Passage", role: str) -> None:
    for piece, was_asked in passage.parts:
        shown.add(piece, "match" if was_asked else role)


def waiting_line(width: int) -> Line:
    """Render the placeholder of a row that isn't loaded yet."""
    return line(("  · ", "faint"), ("·····", "faint")).fit(width)


GroupLine: TypeAlias = "tuple[tuple[str, str] | None, Line]"
"""The filter operator and value that a line toggles, or ``None`` for a heading."""


def facet_lines(
    facets: Facets, width: int, *, chosen: BrowseFilter, counts: Facets | None = None
) -> list[GroupLine]:
    """Render the groups of the listing with their numbers: projects, kinds, agents, categories.

    ``counts`` are the numbers under the filter ``chosen``, and all of ``facets`` without. Kinds are
    listed once they are counted, categories if there are several, and the archive if it has any.
    """
    shown = facets if counts is None else counts
    has_archive = facets.archived or "archived" in chosen.states
    groups = (
        _project_lines(facets, shown, width, chosen) if facets.projects else [],
        _kind_lines(shown, width, chosen) if shown.kinds else [],
        _agent_lines(facets, shown, width, chosen),
        _category_lines(shown, width, chosen) if len(facets.categories) > 1 else [],
        _archive_lines(facets, width, chosen) if has_archive else [],
    )
    blank: GroupLine = (None, Line().fit(width))
    return [each for group in groups if group for each in (*group, blank)][:-1]


def _project_lines(
    facets: Facets, shown: Facets, width: int, chosen: BrowseFilter
) -> list[GroupLine]:
    counts, names = dict(shown.projects), project_names(path for path, _ in facets.projects)
    return [
        _group_title("Projects", width),
        *(
            (
                ("project:", names[path]),
                _counted(
                    _choice(path, chosen.projects, chosen.unwanted.projects).add(
                        one_line(names[path] if names[path] != path else short_path(path)),
                        "text" if counts.get(path) else "faint",
                    ),
                    counts.get(path, 0),
                    width,
                ),
            )
            for path, _ in facets.projects
        ),
    ]


def _kind_lines(shown: Facets, width: int, chosen: BrowseFilter) -> list[GroupLine]:
    counts, wanted, unwanted = dict(shown.kinds), chosen.kinds, chosen.unwanted.kinds
    return [
        _group_title("Kinds", width),
        *(
            (
                ("kind:", kind.value),
                _counted(
                    _choice(kind, wanted, unwanted)
                    .add(f"{letter} ", role)
                    .add(kind.value, "text" if kind in counts else "faint"),
                    counts.get(kind, 0),
                    width,
                ),
            )
            for kind, (letter, role) in KIND_MARKS.items()
            if kind in (*counts, *wanted, *unwanted)
        ),
    ]


def _agent_lines(
    facets: Facets, shown: Facets, width: int, chosen: BrowseFilter
) -> list[GroupLine]:
    counts, named = dict(shown.agents), facets.named_agents
    groups: list[GroupLine] = [
        (
            ("agent:", owner_words(agent)),
            _counted(
                _choice(agent, chosen.agents, chosen.unwanted.agents).add(
                    one_line(owner_words(agent)), "text" if counts.get(agent) else "faint"
                ),
                counts.get(agent, 0),
                width,
                "full " if agent in named and facets.is_full(number) else "",
            ),
        )
        for agent, number in facets.agents
    ]
    none: GroupLine = (None, line(("  none yet", "faint")).fit(width))
    return [_group_title("Agents", width), *(groups or [none])]


def _category_lines(shown: Facets, width: int, chosen: BrowseFilter) -> list[GroupLine]:
    counts = dict(shown.categories)
    return [
        _group_title("Categories", width),
        *(
            (
                ("cat:", category.value),
                _counted(
                    _choice(category, chosen.categories, chosen.unwanted.categories)
                    .add(glyph + " ", role)
                    .add(category.value, "text" if counts.get(category) else "faint"),
                    counts.get(category, 0),
                    width,
                ),
            )
            for category in MemoryCategory
            for glyph, role in [category_mark(category)]
        ),
    ]


def _archive_lines(facets: Facets, width: int, chosen: BrowseFilter) -> list[GroupLine]:
    left = _choice("archived", chosen.states, ()).add("archived", "text")
    listed = (("is:", "archived"), _counted(left, facets.archived, width))
    return [_group_title("Archive", width), listed]


def _group_title(title: str, width: int) -> GroupLine:
    return None, line((title, "title")).fit(width)


def _counted(left: Line, number: int, width: int, full: str = "") -> Line:
    role = "warn" if full else "muted"
    return beside(left, line((full, role), (f"{number:,}", role)), width)


def _choice(value: str, wanted: Sequence[str], unwanted: Sequence[str]) -> Line:
    if value in unwanted:
        return line(("- ", "warn"))
    return line(("▸ " if value in wanted else "  ", "accent"))


def chip_line(query: Query, *, search: bool) -> Line:
    """Render the parts of a filter or a search as chips; the words of a search form one chip."""
    if search and query.text:
        rest = (chip for chip in query.chips if chip.kind != "word")
        query = replace(query, chips=(Chip("word", query.text, "match"), *rest))
    return filter_line(query, title="search " if search else "filter ")


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
    if "archived" in listing.query.criteria.states and not listing.facets.archived:
        kept = "Here is what expired, was merged or replaced, or made room; agents aren't given it."
        return _notice("Nothing is archived", kept, ("esc", "goes back"))
    if listing.filter_text.strip():
        hidden = f"{memories(listing.stored)} hidden by the filter."
        return _notice("No memory matches", hidden, ("esc", "clears it"), ("/", "changes it"))
    if listing.facets.archived:
        return _notice(
            "Every memory is archived",
            f"{memories(listing.facets.archived)} in the archive, and none that is live.",
            ("/", "then is:archived lists them"),
        )
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
    stopped = ("Stopped. What was imported is kept.", "warn")
    malformed, refused = report.malformed_lines, report.memories_refused
    counts = (
        ("memories added", report.memories_added, "text"),
        ("memories updated", report.memories_updated, "text"),
        ("known already", report.memories_skipped, "text"),
        ("files read", report.files, "text"),
        ("sessions", report.executions, "text"),
        ("recoveries", report.recoveries, "text"),
        ("lessons proposed", report.lessons_proposed, "text"),
        ("secrets redacted", report.redactions, "text"),
        ("malformed lines", malformed, "warn"),
    )
    full = ", ".join(map(one_line, report.full_agents))
    not_stored = [
        line((f"{refused:>9,}  ", "warn"), ("not stored", "warn")),
        line((f"           {full}: full; delete memories (d) or raise the limit", "warn")),
    ]
    reviews = line(("4", "accent"), (" reviews what was learnt", "muted"))
    calls = [
        f"{count:,} {outcome.value.replace('_', ' ')}"
        for outcome, count in report.calls.items()
        if count
    ]
    called = line(("Tool calls  ", "title"), (", ".join(calls), "text"))
    return [
        line(stopped if report.cancelled else ("Done.", "good")),
        Line(),
        *(
            line((f"{value:>9,}  ", role if value else "faint"), (label, "muted"))
            for label, value, role in counts
        ),
        *(not_stored if refused else []),
        *([Line(), reviews] if report.lessons_proposed else []),
        *([Line(), called] if calls else []),
        Line(),
        *_skipped(report.skipped),
    ]


def _skipped(skipped: Sequence[tuple[str, str]]) -> list[Line]:
    if not skipped:
        return [line(("Nothing was left out.", "muted"))]
    more = line((f"  and {len(skipped) - _MAX_SKIPPED:,} more", "faint"))
    return [
        line((f"Left out: {counted(len(skipped), 'file')}", "title")),
        *(
            line(
                (f"  {one_line(short_path(path))}", "text"),
                (f"  {one_line(reason)}", "warn"),
                hang=4,
            )
            for path, reason in skipped[:_MAX_SKIPPED]
        ),
        *([more] if len(skipped) > _MAX_SKIPPED else []),
    ]
