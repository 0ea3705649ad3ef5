"""One entry of the organisation in full, what its versions changed, and refused writes.

Pure functions of what was read, which may hold a stranger's text; no Textual.
"""

from __future__ import annotations

import difflib
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.paths import short_path
from synthorg_tui.organisation.models import OrgOrigin
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.lines import unified_lines
from synthorg_tui.tui.base.formatting import ago, moment
from synthorg_tui.tui.base.lines import Line, fact, facts, line, one_line, section, text_lines
from synthorg_tui.tui.memories.detail import use_lines
from synthorg_tui.tui.organisation.lines import GLYPHS, ORIGINS, state_mark, state_word, title_of
from synthorg_tui.tui.organisation.state import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from synthorg_tui.memory.listing import MemoryUse
    from synthorg_tui.organisation.models import OrgEntry, OrgVersion
    from synthorg_tui.tui.organisation.adapter import PromptRoom, RefusedWrite

MAX_SHOWN: Final = 32_000
"""Characters of a text that are shown."""
_SHORT_ID: Final = 8
_LIVES: Final = {
    OrgOrigin.SETTINGS: "in the settings: {key} opens them; no history is kept of them",
    OrgOrigin.SKILL: "among the skills: {key} opens it there, to edit or retire it",
    OrgOrigin.SHARED: "among the memories: {key} opens it there, to edit or retract it",
}
"""Where an entry lives that is only listed here."""


class AboutEntry(NamedTuple):
    """What is read of the entry under the cursor once it rests there; ``None`` until then.

    ``named`` are the entries that it replaces or that replace it, by id.
    """

    history: tuple[OrgVersion, ...] | None = None
    uses: tuple[MemoryUse, ...] = ()
    named: Mapping[str, OrgEntry] = {}


def entry_lines(
    entry: OrgEntry,
    about: AboutEntry,
    *,
    now: datetime,
    replaced_by: str = "",
    room: PromptRoom | None = None,
    is_past: bool = False,
) -> list[Line]:
    """Render an entry: its text, what is known of it, and its versions.

    Of the past it isn't known what was told to whom.
    """
    glyph, role = GLYPHS[entry.category]
    mark, shade = state_mark(entry, replaced=bool(replaced_by))
    head = line((f"{glyph} {KINDS[entry.category][0]}", role), ("  ", "text"))
    head.add(f"{mark} {state_word(entry, replaced=bool(replaced_by))}".strip(), shade or "good")
    title = entry.traits.title
    is_titled = bool(title) and not entry.content.startswith(title)
    text = entry.content.strip("\n")
    more = f"… {(len(text) - MAX_SHOWN) / 1000:,.0f} kB more"
    opens = f"{key_of('organisation.edit_outside')} opens all in your editor"
    versions = section("Versions", _version_heads(about.history, now))
    return [
        head,
        Line(),
        *([line((one_line(title), "strong")), Line()] if is_titled else []),
        *text_lines(text[:MAX_SHOWN]),
        *([line((f"{more}: {opens}", "faint"))] if len(text) > MAX_SHOWN else []),
        *section("About", _facts(entry, about, now, replaced_by)),
        *([] if is_past else [*_told(entry, room), *use_lines(about.uses, now)]),
        *(versions if entry.origin is OrgOrigin.FACT else []),
    ]


def _facts(entry: OrgEntry, about: AboutEntry, now: datetime, replaced_by: str) -> list[Line]:
    traits, is_fact = entry.traits, entry.origin is OrgOrigin.FACT
    lives = "" if is_fact else _LIVES[entry.origin].format(key=key_of("organisation.memory"))
    where = one_line(short_path(traits.project)) if traits.project else "everywhere"
    opens = f"{key_of('organisation.source')} opens it there" if traits.source else ""
    is_dated = entry.origin is not OrgOrigin.SETTINGS
    is_changed = entry.changed_at != entry.created_at
    gone = ""
    if entry.retracted_at is not None:
        back = f"{key_of('organisation.revive')} puts it in force again"
        gone = f"{moment(entry.retracted_at, now)}; {back}"
    return facts(
        ("lives", lives, "accent"),
        ("holds in", where, "good" if traits.project else "text"),
        ("read from", one_line(traits.source), "accent"),
        ("", opens, "faint"),
        ("status", one_line(traits.status)),
        ("date", one_line(traits.date)),
        *(("replaces", _name(each, about)) for each in traits.supersedes),
        ("superseded", f"by {_name(replaced_by, about)}" if replaced_by else "", "warn"),
        ("by", one_line(entry.author) or " "),
        ("written", moment(entry.created_at, now) if is_dated else ""),
        ("changed", moment(entry.changed_at, now) if is_changed else ""),
        ("retracted", gone, "warn"),
        ("tags", " ".join(f"#{one_line(tag)}" for tag in traits.others), "muted"),
        ("id", one_line(entry.id), "faint"),
    )


def _name(fact_id: str, about: AboutEntry) -> str:
    """A fact by its title and the beginning of its id."""
    named = about.named.get(fact_id)
    short = one_line(fact_id)[:_SHORT_ID]
    return f"{title_of(named)[:60]} ({short})" if named is not None else short


def _told(entry: OrgEntry, room: PromptRoom | None) -> list[Line]:
    """Whether every prompt has it, and how much of the room it takes."""
    if entry.category is not OrgFactCategory.CORE_POLICY or entry.origin in (
        OrgOrigin.SKILL,
        OrgOrigin.SHARED,
    ):
        return [fact("told", "when a task is about it")]
    if entry.retracted_at is not None:
        return [fact("in prompts", "no: it is retracted", "warn")]
    if room is None:
        return [fact("in prompts", "counting …", "faint")]
    if entry.id in room.told:
        tokens = f"{room.told[entry.id]:,} of {room.budget:,} tokens"
        return [fact("in prompts", f"in every one: {tokens}", "good")]
    if entry.id in room.omitted:
        why = f"no: it doesn't fit the {room.budget:,} tokens of org_memory.policy_tokens"
        return [fact("in prompts", why, "bad")]
    return []


def _version_heads(history: Sequence[OrgVersion] | None, now: datetime) -> list[Line]:
    if history is None:
        return [line(("…", "faint"))]
    lines = [_version_head(each, now) for each in _newest_first(history)]
    if len(history) > 1:
        lines.append(line((f"{key_of('organisation.changes')} shows what they changed", "faint")))
    return lines


def _version_head(version: OrgVersion, now: datetime) -> Line:
    did = "retracted" if version.content is None else "written"
    head = line((f"{version.version:>3} ", "accent"), (did, "strong"))
    return head.add(f" by {one_line(version.author)}", "muted").add(
        f"  {ago(version.at, now)}", "faint"
    )


def _newest_first(history: Sequence[OrgVersion]) -> list[OrgVersion]:
    return sorted(history, key=lambda each: -each.version)


def change_lines(history: Sequence[OrgVersion] | None, now: datetime) -> list[Line]:
    """Render each version with what it changed of the one before, newest first."""
    if history is None:
        return [line(("…", "faint"))]
    ordered = _newest_first(history)
    if not ordered:
        return [line(("It has no history here.", "muted"))]
    lines: list[Line] = []
    for newer, older in pairwise([*ordered, None]):
        if newer is None:
            break
        lines += [Line()] if lines else []
        lines.append(_version_head(newer, now))
        lines += _differences(newer, _text_before(older, ordered), older)
    return lines


def _text_before(older: OrgVersion | None, ordered: Sequence[OrgVersion]) -> str:
    """The last text of a version or of those before it: a retraction has none of its own."""
    if older is None:
        return ""
    at = ordered.index(older)
    return next((each.content for each in ordered[at:] if each.content is not None), "")


def _differences(newer: OrgVersion, before: str, older: OrgVersion | None) -> list[Line]:
    lines: list[Line] = []
    if older is not None and newer.category is not older.category:
        names = (KINDS[older.category][0], KINDS[newer.category][0])
        lines.append(line(("  category ", "muted"), (names[0], "bad"), (" → ", "muted")))
        lines[-1].add(names[1], "good")
    if older is not None and newer.tags != older.tags:
        gone = [tag for tag in older.tags if tag not in newer.tags]
        new = [tag for tag in newer.tags if tag not in older.tags]
        lines += [line((f"  - {one_line(tag)}", "bad")) for tag in gone]
        lines += [line((f"  + {one_line(tag)}", "good")) for tag in new]
    if newer.content is not None and newer.content != before:
        old, text = before[:MAX_SHOWN].splitlines(), newer.content[:MAX_SHOWN].splitlines()
        changed = [*difflib.unified_diff(old, text, lineterm="", n=2)][3:]
        lines += unified_lines(changed)
    return lines or [line(("  the same text", "faint"))]


def refused_lines(refused: Sequence[RefusedWrite] | None, now: datetime) -> list[Line]:
    """Render writes of agents that were refused, each with the reason."""
    if refused is None:
        return [line(("…", "faint"))]
    if not refused:
        return [
            line(("No write was refused", "title")),
            Line(),
            line(("What an agent may not write leaves a line here, and nothing else.", "muted")),
        ]
    lines: list[Line] = []
    for each in refused:
        lines += [Line()] if lines else []
        head = line(("✗ ", "bad"), (one_line(each.agent), "strong"))
        lines.append(head.add(f"  {moment(each.at, now)}", "faint"))
        lines.append(fact("why", one_line(each.why), "warn"))
        lines.append(fact("wanted", one_line(each.wanted[:400])))
    return lines


def read_only_why(entry: OrgEntry) -> str:
    """Why an entry isn't changed here, with the key that leads to where it is."""
    opens = f"{key_of('organisation.memory')} opens it where it lives"
    return f"It is a {ORIGINS[entry.origin]}, only listed here: {opens}"
