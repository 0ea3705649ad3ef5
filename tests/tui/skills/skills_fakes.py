"""Skills in memory: what the Skills pane is tested against."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.skills.ports import Problem, Root, Shelf, Skill, SkillRow, Version
from tests.tui.approvals.approvals_fakes import EVIDENCE, NOW

OWN = "/home/ada/.local/share/synthorg-tui/skills"
PROJECT = "/home/ada/shop/.agents/skills"
ROOTS = (Root(PROJECT, "project"), Root(OWN, "own"))
TEXT = """---
name: "{name}"
description: "Use when git push fails on a branch that has no upstream."
metadata:
  confidence: "0.92"
  version: "2"
---

# Set the upstream with the first push of a new branch

## Condition

When `git push` says: The current branch has no upstream branch.

## Action

Run `git push -u origin HEAD`.

## Execution steps

1. Run `git push -u origin HEAD`.
2. Run `git status -sb` and look for the upstream.
"""
_STATES = (
    ("deploy-staging", PROJECT, "shadowed", 0),
    ("review-style", PROJECT, "invalid", 0),
    ("run-the-tests", PROJECT, "new", 0),
    ("set-upstream-first-push", OWN, "valid", 14),
    ("arm-timer-before-clock", OWN, "warnings", 3),
    ("rebuild-index", OWN, "changed", 1),
    ("old-proxy-setup", OWN, "gone", 0),
)


def skill_rows(count: int) -> list[SkillRow]:
    """Different skills."""
    made = []
    for at in range(count):
        name, root, state, applied = _STATES[at % len(_STATES)]
        name += "" if at < len(_STATES) else f"-{at}"
        problems: tuple[Problem, ...] = ()
        if state == "invalid":
            problems = (
                Problem(3, True, "description is missing", "Say what it does and when to use it."),
                Problem(2, False, "name differs from its folder", "Rename the folder."),
            )
        elif state == "warnings":
            problems = (Problem(5, False, "version is no text", "Put it in quotes."),)
        made.append(
            SkillRow(
                f"{root}/{name}/SKILL.md",
                name,
                root,
                state,
                description="Use when git push fails.",
                problems=problems,
                shadowed_by=f"{OWN}/{name}/SKILL.md" if state == "shadowed" else "",
                waiting="file_change-0003" if state == "changed" else "",
                applied=applied,
                applied_at=NOW - timedelta(days=1) if applied else None,
            )
        )
    return made


class FakeSkills:
    """Rows in a dict; retiring and restoring change their state."""

    def __init__(self, rows: list[SkillRow] | None = None) -> None:
        self.rows = {row.path: row for row in rows or []}
        self.error: DomainError | None = None
        self.synced = 0
        self.acts: list[tuple[str, str]] = []
        self.changed: Callable[[int], None] = lambda _count: None

    async def shelf(self) -> Shelf:
        if self.error is not None:
            raise self.error
        return Shelf(ROOTS, tuple(self.rows.values()))

    async def skill(self, path: str) -> Skill:
        row = self.rows[path]
        text = TEXT.format(name=row.name)
        older = text.replace("on a branch that has no upstream", "at first")
        versions = (
            Version(NOW - timedelta(days=2), "edited by person (tui)", text),
            Version(NOW - timedelta(days=9), "approved by person (tui)", older),
        )
        if row.state in ("new", "invalid", "shadowed"):
            return Skill(row, text)
        disk = text.replace("Run `git status -sb`", "Run `git status`")
        shown = disk if row.state == "changed" else text
        return Skill(row, shown, ("mem-00001",), versions, EVIDENCE)

    async def sync(self) -> int:
        self.synced += 1
        return 0

    async def offer(self, path: str) -> str:
        self.acts.append(("offer", path))
        self.rows[path] = replace(self.rows[path], state="new", waiting="file_change-0003")
        return "file_change-0003"

    async def restore(self, path: str) -> str:
        self.acts.append(("restore", path))
        self.rows[path] = replace(self.rows[path], state="valid", waiting="")
        return "Wrote our version back · u undoes"

    async def retire(self, path: str) -> str:
        self.acts.append(("retire", path))
        self.rows[path] = replace(self.rows[path], state="retired")
        return "Retired · u brings it back"

    async def undo(self) -> str | None:
        if not self.acts:
            return None
        act, path = self.acts.pop()
        self.rows[path] = replace(self.rows[path], state="valid")
        return f"Took back: {act}"

    def watch(self, changed: Callable[[int], None]) -> None:
        self.changed = changed
