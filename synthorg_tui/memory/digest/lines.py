"""One line of the digest for each item."""

import json
import math
import re
from datetime import UTC
from typing import Final

from synthorg_tui.core.text import truncate
from synthorg_tui.memory.digest.models import DigestItem, ItemKind
from synthorg_tui.memory.digest.sanitise import MAX_CHARS, sanitise

MAX_SNIPPET: Final = 600
MAX_VALUE: Final = 240
MAX_TITLE: Final = 120
TITLE_PATTERN: Final = r"^\s*#{1,6}[ \t]+(\S[^\n]*)"
"""A heading that opens a memory is its title, for Python and for RE2."""

_ELLIPSIS: Final = "..."
_REFS_SHOWN: Final = 2
_TITLE: Final = re.compile(TITLE_PATTERN)
_CHARS_PER_TOKEN: Final = 4


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text: a quarter of its characters, rounded up."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


def line_of(item: DigestItem, limit: int) -> str | None:
    """Format an item as one digest line of at most ``limit`` characters.

    The content snippet is shortened first, then header and provenance. Return ``None`` when not
    even kind, id and sensitivity fit, since the agent needs them to refer to the item.
    """
    start = f"- [{item.kind}] {item.entry.id} ({item.sensitivity})"
    snippet = _snippet(item)
    bare = f"{start} {_header(item)} ({_provenance(item)})"
    if snippet:
        room = min(MAX_SNIPPET, limit - len(f"{bare} — "))
        if room > 0:
            bare = f"{start} {_header(item)} — {truncate(snippet, room)} ({_provenance(item)})"
    if len(bare) <= limit:
        return bare
    return truncate(bare, limit) if limit >= len(start) + len(_ELLIPSIS) else None


def _header(item: DigestItem) -> str:
    entry = item.entry
    confidence = f"conf={entry.metadata.confidence:.2f}"
    match item.kind:
        case ItemKind.FACT:
            key = truncate(sanitise(item.fact_key or ""), MAX_TITLE)
            value = truncate(_value(entry.content), MAX_VALUE)
            return f"key={key} value={value} {confidence}"
        case ItemKind.NOTE:
            return f"title={_title(item) or 'Note'}"
        case ItemKind.PROCEDURE:
            return f"title={_title(item) or 'Procedure'} {confidence}"
        case ItemKind.EPISODE:
            moment = entry.created_at.astimezone(UTC).replace(tzinfo=None)
            return f"occurred_at={moment.isoformat(timespec='seconds')}Z"


def _title(item: DigestItem) -> str:
    heading = _TITLE.match(item.entry.content)
    return truncate(sanitise(heading[1]), MAX_TITLE) if heading else ""


def _snippet(item: DigestItem) -> str:
    content = item.entry.content
    if item.kind is ItemKind.FACT:
        return ""
    if item.kind is not ItemKind.EPISODE:
        content = _TITLE.sub("", content, count=1)
    return truncate(sanitise(content), MAX_SNIPPET)


def _value(content: str) -> str:
    """What a fact says, as JSON: its content where that is JSON already."""
    text = content.strip()[:MAX_CHARS]
    try:
        value = json.loads(text)
        if not isinstance(value, str):
            dumped = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return sanitise(dumped)
        text = value
    except (ValueError, RecursionError):  # not JSON, or nested too deep to be anything but text
        pass
    # Before it is quoted: afterwards a role prefix would hide behind an escaped newline.
    return sanitise(json.dumps(sanitise(text), ensure_ascii=False))


def _provenance(item: DigestItem) -> str:
    parts = [f"prov={item.source_kind}"]
    if item.session_id:
        parts.append(f"session={truncate(sanitise(item.session_id), MAX_TITLE)}")
    if item.refs:
        shown = [truncate(sanitise(ref), MAX_TITLE) for ref in item.refs[:_REFS_SHOWN]]
        more = [_ELLIPSIS] if len(item.refs) > _REFS_SHOWN else []
        parts.append(f"refs={len(item.refs)}({', '.join(shown + more)})")
    return " ".join(parts)
