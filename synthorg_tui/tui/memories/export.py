"""Memories as a file: JSON for programs, Markdown for people."""

import json
import re
from collections.abc import Sequence
from datetime import datetime

from synthorg_tui.tui.ports import MemoryRow


def as_json(rows: Sequence[MemoryRow]) -> str:
    """A JSON array; times as ISO 8601."""
    return json.dumps([_record(row) for row in rows], ensure_ascii=False, indent=2) + "\n"


def as_markdown(rows: Sequence[MemoryRow]) -> str:
    """One section a memory; the content in a fence longer than any it holds."""
    return "# Memories\n\n" + "\n".join(_section(row) for row in rows)


def render(rows: Sequence[MemoryRow], file_name: str) -> str:
    """The rows in the format the file name asks for; ``.md`` is Markdown, the rest JSON."""
    return as_markdown(rows) if file_name.lower().endswith((".md", ".markdown")) else as_json(rows)


def default_name(now: datetime) -> str:
    """A file name for an export made now."""
    return f"memories-{now.strftime('%Y%m%d-%H%M%S')}.json"


def _record(row: MemoryRow) -> dict[str, object]:
    return {
        "id": row.id,
        "agent_id": row.agent_id,
        "category": row.category.value,
        "content": row.content,
        "tags": list(row.tags),
        "source": row.source,
        "confidence": row.confidence,
        "namespace": row.namespace,
        "created_at": row.created_at.isoformat(),
        "updated_at": row.updated_at.isoformat() if row.updated_at else None,
        "expires_at": row.expires_at.isoformat() if row.expires_at else None,
    }


def _section(row: MemoryRow) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", row.content)), default=2)
    fence = "`" * (longest + 1)
    facts = [f"- agent: {_flat(row.agent_id)}", f"- created: {row.created_at.isoformat()}"]
    if row.tags:
        facts.append(f"- tags: {', '.join(map(_flat, row.tags))}")
    if row.source:
        facts.append(f"- source: {_flat(row.source)}")
    body = f"{fence}text\n{row.content}\n{fence}"
    return f"## {row.category.value} {row.id}\n\n" + "\n".join(facts) + f"\n\n{body}\n"


def _flat(text: str) -> str:
    return " ".join(text.split())
