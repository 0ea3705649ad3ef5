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
    return [
        line(
            ("! ", "bad"),
            (FLAGS.get(flag.kind, flag.kind), "bad"),
            (" in ", "muted"),
            (one_line(flag.place), "text"),
            ("  " + one_line(flag.found), "warn"),
            hang=2,
        )
        for flag in review.flags
    ]


def evidence_lines(
    evidence: Sequence[Evidence], now: datetime, chosen: int = -1, *, is_said: bool = False
) -> list[Line]:
    """Render each occurrence: the failed call, its error, and the call that then succeeded.

    ``chosen`` is the index of the one to highlight, or -1. ``is_said``: no call failed, a person
    spoke.
    """
    tried, said = (("·", "faint"), ("❝", "accent")) if is_said else (("✗", "bad"), (" ", "muted"))
    return [
        row
        for at, seen in enumerate(evidence)
        for row in (
            *([Line()] if at else []),
            _evidence_head(seen, now, at, is_chosen=at == chosen),
            *([line((f"   {seen.note}", "warn"))] if seen.note else []),
            *_evidence_text(*tried, seen.failed),
            *_evidence_text(*said, seen.error),
            *(_evidence_text("·", "faint", step)[0] for step in seen.between if step.strip()),
            *_evidence_text("✓", "good", seen.resolved_by),
        )
    ]


def _evidence_head(seen: Evidence, now: datetime, at: int, *, is_chosen: bool) -> Line:
    project = one_line(seen.project or "").rstrip("/").rpartition("/")[2]
    return line(
        (f"{'▸' if is_chosen else ' '}{at + 1} ", "accent"),
        (one_line(seen.agent_id), "strong"),
        (f"  {ago(seen.at, now)} ago" if seen.at else "", "faint"),
        (f"  {project}" if project else "", "muted"),
        (f"  {short_source(seen.lines)}", "accent"),
        hang=3,
    )


def short_source(source: str) -> str:
    """Return a short form of a transcript reference: the start of the session id and its lines."""
    execution, _, lines = source.partition("#")
    session = one_line(execution.rpartition(":")[2])
    return f"{session[:8]} {one_line(lines).replace('-L', '–')}"


def _evidence_text(mark: str, role: str, text: str) -> list[Line]:
    shown = text_lines(text.strip("\n"), role if mark == " " else "text") if text.strip() else []
    more = line((f"     … {len(shown) - _MAX_LINES:,} more lines", "faint"))
    return [
        *(
            line((f"   {' ' if at else mark} ", role), hang=5).extend(part)
            for at, part in enumerate(shown[:_MAX_LINES])
        ),
        *([more] if len(shown) > _MAX_LINES else []),
    ]


def doubt_lines(review: Review) -> list[Line]:
    """Render why an approval needs a confirmation: suspicious passages and contradictions."""
    return flag_lines(review) + [
        line(
            ("↯ ", "bad"),
            (one_line(near.name), "strong"),
            (" says otherwise: ", "muted"),
            (one_line(near.discovery), "text"),
        )
        for near in review.near
        if near.verdict == "conflict"
    ]


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
