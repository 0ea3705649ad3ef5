"""The Skills pane as lines: the list by root, a source with its problems, what is known, changes.

Pure functions of the engine's overview; no Textual.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.paths import short_path
from synthorg_tui.curation.effects import NO_PROOF
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.grounds import evidence_lines
from synthorg_tui.tui.approvals.lines import unified_lines
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import (
    Line,
    beside,
    fact,
    facts,
    keys_line,
    line,
    one_line,
    section,
    text_lines,
)
from synthorg_tui.tui.skills.state import SkillGroup, Skills, texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from synthorg_tui.curation.effects import LessonEffect
    from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow
    from synthorg_tui.skills.document import Finding

STATES: dict[SkillState, tuple[str, str, str]] = {
    SkillState.VALID: ("✓", "valid", "good"),
    SkillState.WARNINGS: ("!", "warnings", "warn"),
    SkillState.INVALID: ("✗", "invalid", "bad"),
    SkillState.CHANGED: ("≠", "changed on disk", "accent"),
    SkillState.SHIPPED: ("◇", "shipped", "muted"),
    SkillState.FOUND: ("·", "not reviewed yet", "muted"),
    SkillState.NEW: ("+", "not in memory", "accent"),
    SkillState.SHADOWED: ("◌", "shadowed", "faint"),
    SkillState.GONE: ("∅", "missing on disk", "warn"),
    SkillState.RETIRED: ("†", "retired", "faint"),
}
"""Glyph, word and role of each state: the colour is never the only sign."""

_ON_REQUEST = {
    SkillState.FOUND: ("found", "it was here before us: {reviews}, agents don't get it yet"),
    SkillState.SHIPPED: ("shipped", "it comes with the app: {reviews}, agents don't get it yet"),
    SkillState.CHANGED: ("shipped", "the app has another text: {reviews}, agents get the old"),
}
"""Why a skill isn't up for review, and what to do about it."""

_REWORDED = "edited without review: edit the file and approve it, or retire the skill"
_MAX_LINES = 2000


def group_lines(skills: Skills, width: int) -> list[tuple[object, Line]]:
    """A heading for each root and a line for each of its skills, with the path as its value."""
    lines: list[tuple[object, Line]] = []
    for group in skills.groups:
        lines += [(None, Line().fit(width))] if lines else []
        lines.append((None, root_line(group, width)))
        if group.problem:
            problem = line(("  ! ", "bad"), (one_line(group.problem), "warn"))
            lines.append((None, problem.fit(width)))
        lines += [(row.path, skill_line(row, width)) for row in group.rows]
    return lines


def root_line(group: SkillGroup, width: int) -> Line:
    """A root: whose it is, and where; of a long path the end is shown."""
    count = f"{len(group.rows):,}"
    scope = "from lessons" if group.scope == "own" else group.scope
    head = line((f"{scope} ", "title"))
    room = max(width - head.width - len(count) - 2, 8)
    path = one_line(short_path(group.path))
    head.add(path if len(path) <= room else "…" + path[1 - room :], "muted")
    return beside(head, line((count, "muted")), width)


def skill_line(row: SkillOverviewRow, width: int) -> Line:
    """A skill on one line: state, name, what it is for, how often it was applied."""
    glyph, word, role = _state(row)
    left = line((f"{glyph} ", role), (one_line(row.name), "faint" if role == "faint" else "text"))
    right = line((f"{row.applied:,}× " if row.applied else "", "muted"))
    right.add("" if row.state is SkillState.VALID else word, role)
    return beside(left, right, width)


def _state(row: SkillOverviewRow) -> tuple[str, str, str]:
    """The glyph, word and role of a skill's state."""
    if row.state is SkillState.CHANGED and row.reworded:
        return ("≠", "memory changed", "bad")
    return STATES[row.state]


def source_lines(skill: SkillDetail) -> tuple[list[Line], list[int]]:
    """The file with line numbers, findings under their lines; and where the findings stand."""
    by_line: dict[int, list[Finding]] = {}
    for finding in skill.row.findings:
        by_line.setdefault(finding.line, []).append(finding)
    lines: list[Line] = []
    places: list[int] = []
    shown = text_lines(skill.text.rstrip("\n"))[:_MAX_LINES]
    digits = max(len(str(len(shown))), 2)

    def add(findings: list[Finding]) -> None:
        for finding in findings:
            places.append(len(lines))
            lines.extend(_finding_lines(finding, digits))

    for number, body in enumerate(shown, start=1):
        head = line(
            ("▌" if number in by_line else " ", "bad"),
            (f"{number:>{digits}} ", "faint"),
            hang=digits + 2,
        )
        lines.append(head.extend(body))
        add(by_line.pop(number, []))
    for findings in by_line.values():
        add(findings)
    return lines, places


def _finding_lines(finding: Finding, digits: int) -> list[Line]:
    mark, role = ("✗", "bad") if finding.is_error else ("!", "warn")
    indent = "▌" + " " * (digits + 1)
    lines = [line((indent, role), (f"{mark} ", role), (one_line(finding.message), role))]
    if finding.remedy:
        lines.append(line((indent, role), ("→ ", "accent"), (one_line(finding.remedy), "text")))
    for shown in lines:
        shown.hang = digits + 4
    return lines


def known_lines(
    skill: SkillDetail,
    now: datetime,
    effects: Mapping[str, LessonEffect] | None = None,
    helps: Sequence[Line] = (),
) -> list[Line]:
    """State, whether it helps, use, what came of it, what taught it, and every version.

    ``effects`` are those of the active skills, ``None`` until they are counted; ``helps`` is the
    block about whether it helps.
    """
    glyph, word, role = _state(skill.row)
    head = line(
        (f"{glyph} {word}", role), ("  ", "text"), (one_line(skill.row.name), "strong"), hang=2
    )
    counting = "counting …" if effects is None and skill.memory_ids else ""
    effect = (effects or {}).get(skill.row.path)
    versions = [
        line(
            (f"{len(skill.versions) - at:>3} ", "accent"),
            (one_line(version.title), "text"),
            (f"  {ago(version.at, now)}", "faint"),
        )
        for at, version in enumerate(skill.versions)
    ]
    taught = section("Taught by", evidence_lines(skill.evidence, now))
    return [
        head,
        *helps,
        *([Line()] if helps else []),
        *_facts(skill, now),
        *facts(("since", counting, "faint")),
        *(effect_lines(effect) if effect is not None else []),
        *(taught if skill.evidence else []),
        *(section("Versions", versions) if versions else []),
    ]


def _facts(skill: SkillDetail, now: datetime) -> list[Line]:
    row = skill.row
    errors = sum(finding.is_error for finding in row.findings)
    problems = counted(len(row.findings), "problem") if row.findings else ""
    waits = ("waits", f"{key_of('skills.accept')} reviews what changed on disk", "accent")
    if not row.waiting and row.comes_up_on_request:
        label, why = _ON_REQUEST[row.state]
        waits = (label, why.format(reviews=f"{key_of('skills.accept')} reviews it"), "text")
    used = f"{row.applied:,}×" if row.applied else "never yet"
    last = f", last {moment(row.applied_at, now)}" if row.applied_at else ""
    return facts(
        ("problems", f"{problems}, {errors} of them errors" if errors else problems),
        ("wins", one_line(row.shadowed_by), "warn"),
        waits if row.waiting or row.comes_up_on_request else ("", ""),
        ("file", one_line(short_path(row.path)) or " ", "accent"),
        ("applied", used + last),
        ("memory", _REWORDED if row.reworded else "", "bad"),
        ("memory", one_line(" ".join(skill.memory_ids)), "faint"),
    )


def effect_lines(effect: LessonEffect) -> list[Line]:
    """How it was given, whether its failure came again, and both over the weeks."""
    lines = [fact("given", effect.given_words)] if effect.given else []
    lines.append(fact("since", effect.failure_words))
    roles = {"given": "accent", "failed": "warn"}
    over_time = fact("by week", "")
    for name, bars in effect.lines_over_time:
        over_time.add(f"{name} ", "muted").add(f"{bars}  ", roles[name])
    if effect.lines_over_time:
        lines.append(over_time)
    return [*lines, fact("", NO_PROOF, "faint")]


def change_lines(skill: SkillDetail, change: int) -> tuple[list[Line], str]:
    """What a text of the skill changed of the one before, and a caption."""
    known = texts(skill)
    if len(known) < 2:
        return [line(("There is one version only: nothing to compare.", "muted"))], ""
    newer, older = known[change], known[change + 1]
    diff = difflib.unified_diff(
        older.text.splitlines(),
        newer.text.splitlines(),
        older.title,
        newer.title,
        lineterm="",
        n=3,
    )
    return unified_lines(tuple(diff)), f"change {len(known) - 1 - change} of {len(known) - 1}"


def check_message(name: str, row: SkillOverviewRow | None) -> str:
    """How a file is now that it was read again; without a row it is no longer there."""
    if row is None:
        return f"{name} is missing on disk"
    if row.findings:
        goes = f"{key_of('skills.problem')} goes from one to the next"
        return f"{name} has {counted(len(row.findings), 'problem')}: {goes}"
    return f"{name} is valid"


def nothing_waits(row: SkillOverviewRow) -> str:
    """Why there is nothing to review of a skill."""
    differ = row.state in (SkillState.CHANGED, SkillState.NEW, SkillState.GONE)
    why = "what is on disk was decided before" if differ else "disk and memory agree"
    return f"Nothing about {row.name} waits: {why}"


def empty_lines(skills: Skills) -> list[Line]:
    """Why nothing is listed, and the next step."""
    if skills.rows:
        hidden = f"{counted(len(skills.rows), 'skill')} hidden by the filter."
        return [
            line(("No skill matches", "title")),
            Line(),
            line((hidden, "text")),
            keys_line(
                (key_of("skills.back"), "clears it"), (key_of("skills.filter"), "changes it")
            ),
        ]
    roots = len(skills.overview.roots) if skills.overview else 0
    return [
        line(("No skills yet", "title")),
        Line(),
        line(("An approved lesson becomes a SKILL.md that your agents read.", "text")),
        line((f"{counted(roots, 'folder')} looked through.", "muted")),
        keys_line(
            (key_of("app.approvals"), "opens what waits for approval"),
            (key_of("skills.reload"), "looks again"),
        ),
    ]
