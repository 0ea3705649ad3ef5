"""The grounds for a decision as styled lines: what happened, what is suspicious, what is asked.

The input is plain data of the engine; nothing here uses Textual. The Skills pane shows evidence by
the same lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.base.formatting import ago
from synthorg_tui.tui.base.lines import Line, fact, line, one_line, rule, text_lines

if TYPE_CHECKING:
    from synthorg_tui.curation.models import Evidence
    from synthorg_tui.curation.review import Review, RunCallPayload

FLAGS = {"secret": "a secret", "injection": "an instruction to the agent", "hidden": "hidden text"}
_MAX_LINES = 12


def flag_lines(review: Review) -> list[Line]:
    """Render the suspicious passages of the item, each with its place."""
    lines = []
    for flag in review.flags:
        row = line(("! ", "bad"), (FLAGS.get(flag.kind, flag.kind), "bad"), (" in ", "muted"))
        row.add(one_line(flag.place), "text").add("  " + one_line(flag.found), "warn")
        row.hang = 2
        lines.append(row)
    return lines


def evidence_lines(
    evidence: Sequence[Evidence], now: datetime, chosen: int = -1, *, is_said: bool = False
) -> list[Line]:
    """Render each occurrence: the failed call, its error, and the call that then succeeded.

    ``chosen`` is the index of the one to highlight, or -1. ``is_said``: no call failed, a person
    spoke.
    """
    lines: list[Line] = []
    tried, said = (("·", "faint"), ("❝", "accent")) if is_said else (("✗", "bad"), (" ", "muted"))
    for at, seen in enumerate(evidence):
        lines += [Line()] if at else []
        mark = "▸" if at == chosen else " "
        head = line((f"{mark}{at + 1} ", "accent"), (one_line(seen.agent_id), "strong"))
        head.add(f"  {ago(seen.at, now)} ago" if seen.at else "", "faint")
        head.hang = 3
        project = one_line(seen.project or "").rstrip("/").rpartition("/")[2]
        head.add(f"  {project}" if project else "", "muted")
        lines.append(head.add(f"  {short_source(seen.lines)}", "accent"))
        lines += [line((f"   {seen.note}", "warn"))] if seen.note else []
        lines.extend(_evidence_text(*tried, seen.failed))
        lines.extend(_evidence_text(*said, seen.error))
        lines.extend(_evidence_text("·", "faint", step)[0] for step in seen.between if step.strip())
        lines.extend(_evidence_text("✓", "good", seen.resolved_by))
    return lines


def short_source(source: str) -> str:
    """Return a short form of a transcript reference: the start of the session id and its lines."""
    execution, _, lines = source.partition("#")
    session = one_line(execution.rpartition(":")[2])
    return f"{session[:8]} {one_line(lines).replace('-L', '–')}"


def _evidence_text(mark: str, role: str, text: str) -> list[Line]:
    lines = []
    shown = text_lines(text.strip("\n"), role if mark == " " else "text") if text.strip() else []
    for at, part in enumerate(shown[:_MAX_LINES]):
        head = line((f"   {mark if at == 0 else ' '} ", role))
        head.hang = 5
        lines.append(head.extend(part))
    if len(shown) > _MAX_LINES:
        lines.append(line((f"     … {len(shown) - _MAX_LINES:,} more lines", "faint")))
    return lines


def doubt_lines(review: Review) -> list[Line]:
    """Render why an approval needs a confirmation: suspicious passages and contradictions."""
    lines = flag_lines(review)
    for near in review.near:
        if near.verdict == "conflict":
            row = line(("↯ ", "bad"), (one_line(near.name), "strong"))
            lines.append(
                row.add(" says otherwise: ", "muted").add(one_line(near.discovery), "text")
            )
    return lines


def call_lines(call: RunCallPayload, review: Review) -> list[Line]:
    """Render a call that a run waits with: where it would be made, and what it would do in full.

    A change of a file isn't here: it stands below as a difference.
    """
    lines = [
        fact("tool", one_line(call.tool), "strong"),
        fact("in", one_line(short_path(call.workspace))),
        fact("run", one_line(call.run_id), "faint"),
    ]
    if review.path:
        return lines
    title = rule("Command" if call.command else "Arguments")
    return [*lines, Line(), title, *text_lines(review.text, "strong")]
