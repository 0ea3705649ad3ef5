"""One memory in full.

The contents are untrusted text: they are only ever put into lines, which make them safe.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from synthorg_tui.core.actors import actor_words
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.listing import (
    SHARED_OWNER,
    ListedMemory,
    MemoryRevision,
    MemoryUse,
    owner_words,
)
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import (
    Line,
    bar,
    fact,
    facts,
    line,
    one_line,
    rule,
    section,
    text_lines,
)
from synthorg_tui.tui.memories.lines import ARCHIVED_SHORT, category_mark

_LABEL = 11
_fact = partial(fact, cells=_LABEL)
_KIND_MARKS = {
    "added": "+",
    "edited": "~",
    "deleted": "×",
    "archived": "▾",
    "restored": "↺",
    "purged": "∅",
}
MAX_SHOWN = 32_000
"""Characters of a text that are shown: drawing megabytes would keep keys waiting."""
MAX_USES = 20
"""Calls of agents that are read to tell how often they were given a memory."""
_SHORT_TASK = 60
_SHORT_ID = 8
_PARTS = {
    "DISCOVERY": "Discovery",
    "CONDITION": "Condition",
    "ACTION": "Action",
    "RATIONALE": "Rationale",
    "CHECK": "Check",
    "EXECUTION": "Steps",
}
"""What the parts of a lesson's memory are called, by the tags that they are stored with."""
_PART = re.compile(rf"^\[({'|'.join(_PARTS)})\][ \t]*", re.MULTILINE)


def detail_lines(
    row: ListedMemory,
    history: Sequence[MemoryRevision] | None,
    *,
    now: datetime,
    uses: Sequence[MemoryUse] = (),
    stands: ListedMemory | None = None,
) -> list[Line]:
    """Render a memory in full with its history, which is ``None`` while it is being read.

    ``uses`` are the last calls of agents that were given it, ``MAX_USES`` of them at most;
    ``stands`` is what stands for it now that it is archived.
    """
    glyph, role = category_mark(row.category)
    head = line((f"{glyph} {row.category.value}", role), ("  ", "text"))
    head.add(one_line(owner_words(row.agent_id)), "strong")
    head.add("  @ shared with all" * (row.shared and row.agent_id != SHARED_OWNER), "accent")
    archived = [rule("Archived"), *_archived_lines(row, stands, now), Line()]
    return [
        head,
        Line(),
        *(archived if row.archived_at is not None else []),
        *content_lines(row.content),
        *section("About", [*_facts(row, now), *use_lines(uses, now)]),
        *(section("Scores", _scores(row)) if row.fused is not None else []),
        *section("History", _history(history, now)),
    ]


def content_lines(content: str) -> list[Line]:
    """Render the text of a memory: a lesson by its parts, and of a long text the beginning."""
    text = content.strip("\n")
    shown = text[:MAX_SHOWN]
    lines = lesson_lines(shown) or text_lines(shown)
    if len(text) > len(shown):
        more = f"… {(len(text) - len(shown)) / 1000:,.0f} kB more: E opens all in your editor"
        lines.append(line((more, "faint")))
    return lines


def lesson_lines(text: str) -> list[Line]:
    """Render the text of a lesson as its review does, by its parts; empty if it is none."""
    if not text.startswith("[DISCOVERY]"):
        return []
    _, *parts = _PART.split(text)
    lines: list[Line] = []
    for tag, part in zip(parts[::2], parts[1::2], strict=True):
        lines += (
            [Line(), line((_PARTS[tag], "strong"))] if lines else [line((_PARTS[tag], "strong"))]
        )
        for row in part.strip().split("\n"):
            (shown,) = text_lines(row.strip())
            shown.hang = 3 if tag == "EXECUTION" else 0
            lines.append(shown)
    return lines


_WHY_ARCHIVED = {
    ArchiveReason.DUPLICATE: "a duplicate",
    ArchiveReason.SUPERSEDED: "superseded by a newer one",
    ArchiveReason.CONSOLIDATED: "merged into one text with others",
    ArchiveReason.EXPIRED: "its time was over",
    ArchiveReason.ROOM: "room was made for others",
    ArchiveReason.BY_HAND: "by hand",
}
_STANDS_AS = {
    ArchiveReason.DUPLICATE: "duplicate of",
    ArchiveReason.SUPERSEDED: "superseded by",
    ArchiveReason.CONSOLIDATED: "merged into",
}


def _archived_lines(row: ListedMemory, stands: ListedMemory | None, now: datetime) -> list[Line]:
    """Render when and why a memory was archived, what stands for it, and how it comes back."""
    why = ArchiveReason(row.archived_why or ArchiveReason.BY_HAND)
    words = _WHY_ARCHIVED[why]
    if stands is not None and why in _STANDS_AS:
        title = one_line(stands.content[: 4 * _SHORT_TASK])
        cut = "…" if len(title) > _SHORT_TASK else ""
        words = f"{_STANDS_AS[why]} “{title[:_SHORT_TASK]}{cut}” ({stands.id[:_SHORT_ID]})"
    back = f"{key_of('memories.restore')} makes it live again; until then no agent is given it"
    lines = [_fact("on", moment(row.archived_at or now, now)), _fact("because", words, "warn")]
    return [*lines, _fact("", back, "faint")]


def _facts(row: ListedMemory, now: datetime) -> list[Line]:
    is_updated = row.updated_at is not None and row.updated_at != row.created_at
    expires = row.expires_at and row.expires_at.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M")
    shows = f"{key_of('memories.source')} shows these lines" if "#L" in (row.source or "") else ""
    confidence = line(("confidence".ljust(_LABEL), "muted")).extend(bar(row.confidence, 8))
    return [
        *facts(
            ("created", moment(row.created_at, now)),
            ("updated", moment(row.updated_at, now) if is_updated and row.updated_at else ""),
            ("expires", expires or ""),
            ("tags", " ".join(f"#{one_line(tag)}" for tag in row.tags), "accent"),
            cells=_LABEL,
        ),
        confidence.add(f" {row.confidence:.2f}", "muted"),
        *facts(
            ("namespace", row.namespace if row.namespace != "default" else ""),
            ("id", row.id[:_SHORT_ID], "faint"),
            ("source", _short_source(row.source) if row.source else "", "accent"),
            ("", shows, "faint"),
            cells=_LABEL,
        ),
    ]


def use_lines(uses: Sequence[MemoryUse], now: datetime) -> list[Line]:
    """Render a line for each agent that was given the memory: how often, when last, and for what.

    ``uses`` are newest first; where more than are read may be recorded, the numbers say so.
    """
    lines = list[Line]()
    for agent_id, count in Counter(use.agent_id for use in uses).items():
        last = next(use for use in uses if use.agent_id == agent_id)
        age = ago(last.at, now)
        when = "just now" if age == "now" else f"{age} ago"
        times = counted(count, "time")
        often = f"at least {times}" if len(uses) >= MAX_USES else times
        told = f"{one_line(agent_id)} {often}, last {when}"
        task = one_line(last.task[: 4 * _SHORT_TASK])
        if task:
            told += f": {task[:_SHORT_TASK]}{'…' if len(task) > _SHORT_TASK else ''}"
        lines.append(_fact("" if lines else "given to", told))
    return lines


def _short_source(source: str) -> str:
    """The source with the id of its session shortened, so that it fits a narrow pane."""
    session, mark, place = one_line(source).partition("#")
    return f"{session[:_SHORT_ID]}{mark}{place}" if mark else session


def _scores(row: ListedMemory) -> list[Line]:
    lines = []
    for label, score, role in (
        ("relevance", row.fused, "accent"),
        ("meaning", row.dense, "good"),
        ("words", row.sparse, "warn"),
    ):
        fact = line((label.ljust(_LABEL), "muted"))
        if score is None:
            lines.append(fact.add("-", "faint"))
        elif label == "words":
            lines.append(fact.add(f"{score:.2f}", role))
        else:
            lines.append(fact.extend(bar(score, 16, role)).add(f" {score:.2f}", "muted"))
    return lines


def _history(history: Sequence[MemoryRevision] | None, now: datetime) -> list[Line]:
    if history is None:
        return [line(("…", "faint"))]
    lines: list[Line] = []
    for revision in history:
        mark = _KIND_MARKS.get(revision.kind, "·")
        head = line(
            (f"{mark} {revision.kind}", "strong"),
            (f" by {one_line(actor_words(revision.actor))}", "muted"),
        )
        why = revision.after.get("archived_why")
        if why in ARCHIVED_SHORT:
            head.add(f", {ARCHIVED_SHORT[ArchiveReason(str(why))]}", "muted")
        lines.append(head.add(f"  {ago(revision.at, now)}", "faint"))
        if revision.kind == "edited":
            lines.extend(change_lines(revision))
    return lines or [line(("no changes recorded", "faint"))]


def change_lines(revision: MemoryRevision) -> list[Line]:
    """Render what an edit changed, by field; a text as removed and added lines."""
    lines: list[Line] = []
    for name in sorted({*revision.before, *revision.after}):
        old, new = revision.before.get(name), revision.after.get(name)
        if old == new:
            continue
        if isinstance(old, str) and isinstance(new, str) and name == "content":
            lines.extend(diff_lines(old, new))
        else:
            lines.append(line((f"  {name} ", "muted"), (_shown(old), "bad"), (" → ", "muted")))
            lines[-1].add(_shown(new), "good")
    return lines


def diff_lines(old: str, new: str) -> list[Line]:
    """Render the removed and added lines of a text in order, without unchanged ones.

    Of long texts the beginnings are compared.
    """
    import difflib

    before, after = old[:MAX_SHOWN].splitlines(), new[:MAX_SHOWN].splitlines()
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=before, b=after).get_opcodes():
        if tag == "equal":
            continue
        lines.extend(line((f"  - {part}", "bad")) for part in before[i1:i2])
        lines.extend(line((f"  + {part}", "good")) for part in after[j1:j2])
    for changed in lines:
        changed.hang = 4
    return lines


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(f"#{one_line(str(part))}" for part in value) or "none"
    return one_line(str(value)) if value not in (None, "") else "none"
