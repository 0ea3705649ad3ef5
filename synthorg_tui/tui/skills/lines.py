"""The Skills pane as lines: the shelf, a source with its problems, what is known, changes."""

import difflib
from datetime import datetime

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.approvals.review_lines import evidence_lines, fact, rule, unified_lines
from synthorg_tui.tui.base.formatting import ago, counted, moment
from synthorg_tui.tui.base.lines import Line, beside, keys_line, line, one_line, text_lines
from synthorg_tui.tui.skills.ports import Problem, Root, Skill, SkillRow
from synthorg_tui.tui.skills.state import Skills, texts

STATES = {
    "valid": ("✓", "valid", "good"),
    "warnings": ("!", "warnings", "warn"),
    "invalid": ("✗", "invalid", "bad"),
    "changed": ("≠", "changed on disk", "accent"),
    "found": ("·", "found, not reviewed", "muted"),
    "new": ("+", "not in memory", "accent"),
    "shadowed": ("◌", "shadowed", "faint"),
    "gone": ("∅", "gone from disk", "warn"),
    "retired": ("†", "retired", "faint"),
}
"""Glyph, word and role of each state: the colour is never the only sign."""

_MAX_LINES = 2000


def state_mark(state: str) -> tuple[str, str, str]:
    """Glyph, word and role, also of a state this list doesn't know."""
    return STATES.get(state, ("?", state, "muted"))


def shelf_lines(skills: Skills, width: int) -> list[tuple[object, Line]]:
    """A heading for each root and a line for each of its skills, with the path as its value."""
    made: list[tuple[object, Line]] = []
    for root, rows in skills.groups:
        made += [(None, Line().fit(width))] if made else []
        made.append((None, root_line(root, len(rows), width)))
        if root.problem:
            problem = line(("  ! ", "bad"), (one_line(root.problem), "warn"))
            made.append((None, problem.fit(width)))
        made += [(row.path, skill_line(row, width)) for row in rows]
    return made


def root_line(root: Root, count: int, width: int) -> Line:
    """A root: whose it is, and where; of a long path the end is shown."""
    head = line((f"{root.scope} ", "title"))
    room = max(width - head.width - len(f" {count:,}") - 1, 8)
    path = one_line(short_path(root.path))
    head.add(path if len(path) <= room else "…" + path[1 - room :], "muted")
    return beside(head, line((f"{count:,}", "muted")), width)


def skill_line(row: SkillRow, width: int) -> Line:
    """A skill on one line: state, name, what it is for, how often it was applied."""
    glyph, word, role = state_mark(row.state)
    told = "valid" if row.state == "valid" else word
    left = line((f"{glyph} ", role), (one_line(row.name), "faint" if role == "faint" else "text"))
    right = line((f"{row.applied:,}× " if row.applied else "", "muted"))
    right.add("" if told == "valid" else told, role)
    return beside(left, right, width)


def source_lines(skill: Skill) -> tuple[list[Line], list[int]]:
    """The file with line numbers, problems under their lines; and where the problems stand."""
    at: dict[int, list[Problem]] = {}
    for problem in skill.row.problems:
        at.setdefault(problem.line, []).append(problem)
    made: list[Line] = []
    places: list[int] = []
    shown = text_lines(skill.text.rstrip("\n"))[:_MAX_LINES]
    digits = max(len(str(len(shown))), 2)
    for number, body in enumerate(shown, start=1):
        bad = number in at
        head = line(("▌" if bad else " ", "bad"), (f"{number:>{digits}} ", "faint"))
        head.hang = digits + 2
        made.append(head.extend(body))
        for problem in at.pop(number, ()):
            places.append(len(made))
            made.extend(_problem(problem, digits))
    for problem in (each for problems in at.values() for each in problems):
        places.append(len(made))
        made.extend(_problem(problem, digits))
    return made, places


def _problem(problem: Problem, digits: int) -> list[Line]:
    mark, role = ("✗", "bad") if problem.is_error else ("!", "warn")
    told = line(
        ("▌" + " " * (digits + 1), role), (f"{mark} ", role), (one_line(problem.says), role)
    )
    told.hang = digits + 4
    if not problem.remedy:
        return [told]
    remedy = line(
        ("▌" + " " * (digits + 1), role), ("→ ", "accent"), (one_line(problem.remedy), "text")
    )
    remedy.hang = digits + 4
    return [told, remedy]


def known_lines(skill: Skill, now: datetime) -> list[Line]:
    """State, use, what taught it, and every version."""
    row = skill.row
    glyph, word, role = state_mark(row.state)
    head = line((f"{glyph} {word}", role), ("  ", "text"), (one_line(row.name), "strong"))
    head.hang = 2
    made = [head]
    if row.problems:
        errors = sum(each.is_error for each in row.problems)
        told = counted(len(row.problems), "problem")
        made.append(fact("problems", f"{told}, {errors} of them errors" if errors else told))
    if row.shadowed_by:
        made.append(fact("wins", one_line(row.shadowed_by), "warn"))
    if row.waiting:
        made.append(fact("waits", "a reviews what changed on disk", "accent"))
    if row.state == "found":
        made.append(fact("found", "it was here before us: a reviews it, agents don't get it yet"))
    made.append(fact("file", one_line(short_path(row.path)), "accent"))
    used = f"{row.applied:,}×" if row.applied else "never yet"
    last = f", last {moment(row.applied_at, now)}" if row.applied_at else ""
    made.append(fact("applied", used + last))
    if skill.memory_ids:
        made.append(fact("memory", one_line(" ".join(skill.memory_ids)), "faint"))
    if skill.taught_by:
        made += [Line(), rule("Taught by")]
        made += evidence_lines(skill.taught_by, now)
    if skill.versions:
        made += [Line(), rule("Versions")]
    for number, version in zip(range(len(skill.versions), 0, -1), skill.versions, strict=True):
        entry = line((f"{number:>3} ", "accent"), (one_line(version.by), "text"))
        made.append(entry.add(f"  {ago(version.at, now)}", "faint"))
    return made


def change_lines(skill: Skill, change: int) -> tuple[list[Line], str]:
    """What a text of the skill changed of the one before, and a caption."""
    known = texts(skill)
    if len(known) < 2:
        return [line(("There is one version only: nothing to compare.", "muted"))], ""
    newer, older = known[change], known[change + 1]
    diff = difflib.unified_diff(
        older.text.splitlines(), newer.text.splitlines(), older.by, newer.by, lineterm="", n=3
    )
    return unified_lines(tuple(diff)), f"change {len(known) - 1 - change} of {len(known) - 1}"


def empty_shelf(skills: Skills) -> list[Line]:
    """Why nothing is listed, and the next step."""
    if skills.shelf is not None and skills.shelf.rows:
        told = f"{counted(len(skills.shelf.rows), 'skill')} hidden by the filter."
        return [
            line(("No skill matches", "title")),
            Line(),
            line((told, "text")),
            keys_line(("esc", "clears it"), ("/", "changes it")),
        ]
    roots = len(skills.shelf.roots) if skills.shelf else 0
    return [
        line(("No skills yet", "title")),
        Line(),
        line(("An approved lesson becomes a SKILL.md that your agents read.", "text")),
        line((f"{counted(roots, 'folder')} looked through.", "muted")),
        keys_line(("4", "opens what waits for approval"), ("r", "looks again")),
    ]


def shelf_error(message: str, remedy: str) -> list[Line]:
    """What went wrong and what to do."""
    made = [line(("✗ ", "bad"), ("The skills can't be shown", "strong")), Line()]
    made.append(line((message, "text")))
    if remedy:
        made += [Line(), line(("→ ", "accent"), (remedy, "text"))]
    return [*made, Line(), keys_line(("r", "tries again"))]
