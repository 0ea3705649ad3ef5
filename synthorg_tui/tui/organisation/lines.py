"""The list of the Organisation pane as lines: rows, headings, the bar over time, and no rows.

Pure functions of the entries, which may hold a stranger's text; no Textual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.organisation.models import OrgOrigin
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.headings import Headings, RowHeading
from synthorg_tui.tui.base.lines import Line, bar, beside, keys_line, line, one_line
from synthorg_tui.tui.organisation.state import KINDS, RETRACTED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from synthorg_tui.organisation.models import OrgEntry
    from synthorg_tui.tui.organisation.adapter import PromptRoom
    from synthorg_tui.tui.organisation.state import Entries

GLYPHS: Final = {
    OrgFactCategory.CORE_POLICY: ("§", "cat-procedural"),
    OrgFactCategory.ADR: ("◆", "cat-semantic"),
    OrgFactCategory.PROCEDURE: ("»", "cat-episodic"),
    OrgFactCategory.CONVENTION: ("≈", "cat-social"),
}
"""Glyph and role of each category."""
ORIGINS: Final = {
    OrgOrigin.SETTINGS: "setting",
    OrgOrigin.SKILL: "skill",
    OrgOrigin.SHARED: "shared memory",
}
"""What an entry is that isn't written here."""
EVERYWHERE: Final = "everywhere"
_MAX_SHOWN: Final = 400
_WHERE: Final = 12
_AUTHOR: Final = 12
_ROOM_FOR_ALL: Final = 62
"""Columns from which a row has author and version."""
_SLIDER: Final = 24
_SHORT_SLIDER: Final = 8
_ROOM_FOR_SLIDER: Final = 100
"""Columns from which the slider is long, and says how long ago the moment is."""


def entry_line(entry: OrgEntry, width: int, *, now: datetime, replaced: bool = False) -> Line:
    """An entry on one line: what it says, what it is, where it holds, by whom, how old, version."""
    mark, role = state_mark(entry, replaced=replaced)
    glyph, shade = GLYPHS[entry.category]
    left = line((mark or glyph, role or shade), (" ", "text"))
    faded = entry.retracted_at is not None or replaced
    left.add(title_of(entry), "faint" if faded else "text")
    right = Line()
    if entry.origin is not OrgOrigin.FACT:
        right.add(ORIGINS[entry.origin], "accent").add("  ", "text")
    elif faded:
        right.add(state_word(entry, replaced=replaced), role).add("  ", "text")
    where = project_of(entry)
    right.extend(line((where, "faint" if where == EVERYWHERE else "good")).fit(_WHERE))
    if width >= _ROOM_FOR_ALL:
        right.add(" ", "text").extend(line((author_of(entry), "muted")).fit(_AUTHOR))
    age = ago(entry.changed_at, now) if entry.origin is not OrgOrigin.SETTINGS else ""
    right.add(f" {age:>4}", "faint")
    if width >= _ROOM_FOR_ALL:
        right.add(f" {f'v{entry.version}' if entry.version else '':>3}", "faint")
    return beside(left, right, width)


def title_of(entry: OrgEntry) -> str:
    """What an entry says, in one line: its title, else its text."""
    return one_line(entry.traits.title or entry.content[:_MAX_SHOWN])


def project_of(entry: OrgEntry) -> str:
    """The folder's name of the only project that it is about, or everywhere."""
    path = one_line(entry.traits.project).rstrip("/")
    return path.rpartition("/")[2] if path else EVERYWHERE


def author_of(entry: OrgEntry) -> str:
    """The author in as few words as a row has room for."""
    author = one_line(entry.author).removeprefix("a ").removeprefix("the ").removeprefix("agent ")
    for rest in (" at ", " by ", " ("):
        author = author.partition(rest)[0]
    return author.partition(", ")[0]


def state_mark(entry: OrgEntry, *, replaced: bool) -> tuple[str, str]:
    """The glyph and role of what isn't in force as written here; empty for any other entry."""
    if entry.retracted_at is not None:
        return "†", "faint"
    if replaced:
        return "↷", "warn"
    return ("◇", "accent") if entry.origin is not OrgOrigin.FACT else ("", "")


def state_word(entry: OrgEntry, *, replaced: bool) -> str:
    """The state of an entry in words: the glyph is never the only sign."""
    if entry.retracted_at is not None:
        return "retracted"
    if replaced:
        return "superseded"
    return ORIGINS.get(entry.origin, "in force")


def headings_of(entries: Entries, room: PromptRoom | None) -> Headings:
    """A heading over the first entry of each category; the results of a search have none."""
    if entries.found is not None:
        return Headings()
    at, found = 0, list[tuple[int, tuple[RowHeading, ...]]]()
    for category, count in entries.page.counts:
        title = KINDS[category][1]
        is_told = category is OrgFactCategory.CORE_POLICY and entries.at is None
        if is_told and room is not None and room.budget:
            title += f" · {room.tokens:,} of {room.budget:,} tokens in every prompt"
        heading = RowHeading(category, title, "title", f"{count:,}")
        found.append((at, (heading,)))
        at += count
    return Headings(found)


def time_line(entries: Entries, width: int, *, now: datetime, focused: bool) -> Line:
    """The slider over time: which moment is shown, how many changes there were, and the keys."""
    earlier, later = key_of("organisation.older"), key_of("organisation.newer")
    total = len(entries.moments)
    if not total:
        return line((" now", "muted"), ("  nothing was changed yet", "faint"))
    share = (entries.place - 1) / (total - 1) if total > 1 else 1.0
    is_wide, role = width >= _ROOM_FOR_SLIDER, "accent" if entries.at is None else "warn"
    slider = bar(share, _SLIDER if is_wide else _SHORT_SLIDER, role)
    mark = "▸" if focused else " "
    if entries.at is None:
        shown = line((mark, "accent"), ("now ", "strong")).extend(slider)
        shown.add(f"  {counted(entries.changes, 'change')} since ", "muted")
        shown.add(f"{entries.moments[0].astimezone(now.tzinfo):%Y-%m-%d}", "muted")
        return beside(shown, line((f"{earlier} ", "accent"), ("earlier ", "muted")), width)
    then = moment(entries.at, now) if is_wide else moment(entries.at, now).partition(" · ")[0]
    shown = line((f"{mark}◀ as it was {then} ", "warn")).extend(slider)
    shown.add(f"  {entries.page.changes:,} of {counted(entries.changes, 'change')}", "warn")
    keys = line((f"{earlier} {later} ", "accent"), ("esc ", "accent"), ("now ", "muted"))
    return beside(shown, keys, width)


def empty_lines(entries: Entries) -> list[Line]:
    """Why nothing is listed, and the next step."""
    if entries.searching:
        return [
            line(("Nothing is about that", "title")),
            Line(),
            keys_line((key_of("organisation.back"), "ends the search")),
        ]
    if entries.filter_text.strip() == RETRACTED:
        return [
            line(("Nothing is retracted", "title")),
            Line(),
            keys_line((key_of("organisation.deleted"), "lists what is in force")),
        ]
    if entries.filter_text.strip() and (entries.page.stored or entries.page.retracted):
        return [
            line(("No entry matches", "title")),
            Line(),
            line((f"{counted(entries.page.stored, 'entry', 'entries')} in force.", "text")),
            keys_line(
                (key_of("organisation.back"), "clears the filter"),
                (key_of("organisation.filter"), "changes it"),
            ),
        ]
    if entries.at is not None:
        return [
            line(("Nothing was in force then", "title")),
            Line(),
            keys_line((key_of("organisation.back"), "goes back to now")),
        ]
    return _teaching_lines()


def _teaching_lines() -> list[Line]:
    """What the pane is for, and how to begin."""
    return [
        line(("Nothing is written down yet", "title")),
        Line(),
        line(("Here stands what every agent is to follow in every project:", "text")),
        line(("§ ", "cat-procedural"), ("policies, told before each task", "muted")),
        line(("◆ ", "cat-semantic"), ("decisions (ADRs), with what they replace", "muted")),
        line(("» ", "cat-episodic"), ("procedures and ", "muted"), ("≈ ", "cat-social"))
        .add("conventions, told when a task is about them", "muted"),
        Line(),
        line(("synthorg-tui org import", "accent"), (" reads CLAUDE.md,", "text")),
        line(("AGENTS.md and docs/adr of your projects.", "text")),
        keys_line((key_of("organisation.add"), "writes the first one")),
    ]  # fmt: skip


def loading_lines() -> list[Line]:
    """What stands there while the list is read."""
    return [line(("Reading what the organisation knows …", "muted"))]


def confirm_lines(entries: Sequence[OrgEntry], now: datetime) -> list[Line]:
    """Entries as a question lists them."""
    return [entry_line(entry, 58, now=now) for entry in entries]
