"""One memory in full, and transcript lines: as in the file, or as readable text.

A transcript record is made readable by showing its texts under their names, without its metadata.
The contents are untrusted text: they are only ever put into lines, which make them safe.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.core.actors import actor_words
from synthorg_tui.memory.listing import ListedMemory, MemoryRevision
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.base.formatting import ago, moment
from synthorg_tui.tui.base.lines import Line, bar, line, one_line, text_lines
from synthorg_tui.tui.memories.lines import category_mark

if TYPE_CHECKING:  # they need pydantic, which the first rows don't wait for
    from synthorg_tui.executions.store import Excerpt

_LABEL = 11
_KIND_MARKS = {"added": "+", "edited": "~", "deleted": "×", "restored": "↺", "purged": "∅"}
_MAX_CONTENT_LINES = 2000


def detail_lines(
    row: ListedMemory, history: Sequence[MemoryRevision] | None, *, now: datetime
) -> list[Line]:
    """Render a memory in full with its history, which is ``None`` while it is being read."""
    glyph, role = category_mark(row.category)
    head = line((f"{glyph} {row.category.value}", role), ("  ", "text"))
    lines = [head.add(one_line(row.agent_id), "strong"), Line()]
    content = text_lines(row.content.strip("\n"))
    lines.extend(content[:_MAX_CONTENT_LINES])
    if len(content) > _MAX_CONTENT_LINES:
        lines.append(line((f"… {len(content) - _MAX_CONTENT_LINES:,} more lines", "faint")))
    lines += [Line(), _rule("About"), *_facts(row, now)]
    if row.fused is not None:
        lines += [Line(), _rule("Scores"), *_scores(row)]
    lines += [Line(), _rule("History"), *_history(history, now)]
    return lines


def _rule(title: str) -> Line:
    return Line([(title + " ", "title")], fill="track")


def _facts(row: ListedMemory, now: datetime) -> list[Line]:
    lines = [_fact("created", moment(row.created_at, now))]
    if row.updated_at is not None and row.updated_at != row.created_at:
        lines.append(_fact("updated", moment(row.updated_at, now)))
    if row.expires_at is not None:
        lines.append(
            _fact("expires", row.expires_at.astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M"))
        )
    if row.tags:
        tags = " ".join(f"#{one_line(tag)}" for tag in row.tags)
        lines.append(_fact("tags", tags, "accent"))
    confidence = line(("confidence".ljust(_LABEL), "muted")).extend(bar(row.confidence, 8))
    lines.append(confidence.add(f" {row.confidence:.2f}", "muted"))
    if row.namespace != "default":
        lines.append(_fact("namespace", row.namespace))
    lines.append(_fact("id", row.id, "faint"))
    if row.source:
        lines.append(_fact("source", row.source, "accent"))
        if "#L" in row.source:
            lines.append(_fact("", f"{key_of('memories.source')} shows these lines", "faint"))
    return lines


def _fact(label: str, value: str, role: str = "text") -> Line:
    fact = line((label.ljust(_LABEL), "muted"), (value, role))
    fact.hang = _LABEL
    return fact


def _scores(row: ListedMemory) -> list[Line]:
    lines = []
    for label, score, role in (
        ("relevance", row.fused, "accent"),
        ("meaning", row.dense, "good"),
        ("words", row.sparse, "warn"),
    ):
        fact = line((label.ljust(_LABEL), "muted"))
        if score is None:
            lines.append(fact.add("not found by this index", "faint"))
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
    """Render the removed and added lines of a text in order, without unchanged ones."""
    import difflib

    before, after = old.splitlines(), new.splitlines()
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


def excerpt_lines(excerpt: "Excerpt", *, raw: bool = True) -> list[Line]:
    """Render transcript lines with their numbers; a bar marks those the memory refers to.

    With ``raw`` they are shown as in the file; otherwise records are shown as readable text.
    """
    width = len(str(excerpt.lines[-1][0])) if excerpt.lines else 1
    lines: list[Line] = []
    for number, text in excerpt.lines:
        named = excerpt.ref.first_line <= number <= excerpt.ref.last_line
        shown = text if raw else "\n".join(read_out(text) or [text])
        for at, part in enumerate(text_lines(shown, "text" if named else "faint")):
            label = str(number).rjust(width) if at == 0 else " " * width
            head = line(("▌" if named else " ", "accent"), (f"{label}  ", "muted"))
            head.hang = width + 3
            lines.append(head.extend(part))
    return lines


_NAMES = ("type", "role", "name", "subtype", "status")
"""Fields that identify a record; together they are its heading."""
_BOOKKEEPING = frozenset(
    {
        "uuid",
        "parentUuid",
        "sessionId",
        "requestId",
        "messageId",
        "leafUuid",
        "id",
        "call_id",
        "tool_use_id",
        "toolUseID",
        "sourceToolAssistantUUID",
        "parentToolUseID",
        "maxThinkingTokens",
        "permissionMode",
        "timestamp",
        "version",
        "cwd",
        "gitBranch",
        "slug",
        "userType",
        "isSidechain",
        "caller",
        "signature",
        "encrypted_content",
        "usage",
        "stop_reason",
        "stop_sequence",
        "service_tier",
        "model",
    }
)


def read_out(record: str) -> list[str] | None:
    """Return a transcript record as readable text: a heading, then each text under its name.

    Returns ``None`` if the record is no JSON object. A repeated text appears once. The lines aren't
    made safe.
    """
    try:
        fields = json.loads(record)
        if not isinstance(fields, dict):
            return None
        leaves = dict.fromkeys(_leaves("", fields))
    except (ValueError, RecursionError):
        return None
    heading = " · ".join(dict.fromkeys(value for name, value in leaves if name in _NAMES))
    lines, seen = [heading] if heading else [], set[str]()
    for name, value in leaves:
        if name in _NAMES or value in seen:
            continue
        seen.add(value)
        first, *rest = value.rstrip("\n").split("\n")
        lines += [f"{name}  {first}", *(f"  {further}" for further in rest)]
    return lines or None


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in _BOOKKEEPING:
                yield from _leaves(key, part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(name, part)
    elif isinstance(value, str) and value.startswith("{"):
        yield from _leaves(name, _object(value) or f" {value}")
    elif value not in (None, False, ""):
        yield name, str(value).strip()


def _object(text: str) -> dict[str, object] | None:
    try:
        fields = json.loads(text)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None
