"""Skills in memory: what the Skills pane is tested against."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from synthorg_tui.core.enums import SkillState
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.effects import EffectWeek, LessonEffect
from synthorg_tui.curation.overview import SkillDetail, SkillOverviewRow, SkillOverviewState
from synthorg_tui.curation.registry import SkillVersion, VersionEvent
from synthorg_tui.evaluation.models import (
    GradedAssertion,
    LevelResult,
    LintResult,
    PromptOutcome,
    ReplayResult,
    RunGrade,
    SkillEvaluation,
    TriggerResult,
)
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.skills.document import Finding, RootScope, Severity, SkillRoot
from synthorg_tui.skills.library import RootState
from synthorg_tui.tui.skills.adapter import EngineSkills
from tests.tui.approvals.approvals_fakes import EVIDENCE, NOW

OWN = "/home/ada/.local/share/synthorg-tui/skills"
PROJECT = "/home/ada/shop/.agents/skills"
ROOTS = (
    RootState(SkillRoot(Path(PROJECT), RootScope.PROJECT), exists=True),
    RootState(SkillRoot(Path(OWN), RootScope.OWN), exists=True),
)
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
    ("deploy-staging", PROJECT, SkillState.SHADOWED, 0),
    ("review-style", PROJECT, SkillState.INVALID, 0),
    ("run-the-tests", PROJECT, SkillState.NEW, 0),
    ("set-upstream-first-push", OWN, SkillState.VALID, 14),
    ("arm-timer-before-clock", OWN, SkillState.WARNINGS, 3),
    ("rebuild-index", OWN, SkillState.CHANGED, 1),
    ("old-proxy-setup", OWN, SkillState.GONE, 0),
)
_FINDINGS = {
    SkillState.INVALID: (
        Finding(
            3, Severity.ERROR, "description is missing", "Say what it does and when to use it."
        ),
        Finding(2, Severity.WARNING, "name differs from its folder", "Rename the folder."),
    ),
    SkillState.WARNINGS: (Finding(5, Severity.WARNING, "version is no text", "Put it in quotes."),),
}


def evaluated(result: LevelResult) -> SkillEvaluation:
    """A result of the present text, of two days ago."""
    at = NOW - timedelta(days=2)
    return SkillEvaluation(name="a", path="/a/SKILL.md", sha256="a" * 64, made_at=at, result=result)


EVALUATIONS = tuple(
    evaluated(result)
    for result in (
        LintResult(),
        TriggerResult(
            outcomes=tuple(
                PromptOutcome(
                    lines="a:b#L1-L1", wanted=at < 10, described=at < 9 or at == 19, digested=False
                )
                for at in range(20)
            )
        ),
        ReplayResult(
            executor="claude",
            grades=tuple(
                RunGrade(
                    case="push",
                    arm=arm,
                    number=number,
                    results=(
                        GradedAssertion(text="a", passed=arm == "with_skill"),
                        GradedAssertion(text="b", passed=number > 1 or arm == "with_skill"),
                    ),
                )
                for arm in ("with_skill", "without_skill")
                for number in (1, 2, 3)
            ),
        ),
    )
)
"""What three levels found."""


def skill_rows(count: int) -> list[SkillOverviewRow]:
    """Return ``count`` different skills."""
    made = []
    for at in range(count):
        name, root, state, applied = _STATES[at % len(_STATES)]
        name += "" if at < len(_STATES) else f"-{at}"
        made.append(
            SkillOverviewRow(
                f"{root}/{name}/SKILL.md",
                name,
                root,
                RootScope.OWN if root == OWN else RootScope.PROJECT,
                state,
                description="Use when git push fails.",
                findings=_FINDINGS.get(state, ()),
                shadowed_by=f"{OWN}/{name}/SKILL.md" if state is SkillState.SHADOWED else "",
                waiting="file_change-0003" if state is SkillState.CHANGED else "",
                applied=applied,
                applied_at=NOW - timedelta(days=1) if applied else None,
            )
        )
    return made


class NamedVersion(SkillVersion):
    """A text whose title is the test's to choose; the pictures show two of them."""

    named: str

    @property
    def title(self) -> str:
        return self.named


def version_of(at: datetime, named: str, text: str) -> SkillVersion:
    """A text that a skill's file had; not validated, so that hostile text gets through."""
    return NamedVersion.model_construct(
        number=1,
        path="",
        version=1,
        at=at,
        actor="person (tui)",
        event=VersionEvent.WRITTEN,
        sha256="",
        text=text,
        named=named,
    )


class FakeSkills(EngineSkills):
    """Rows in a dict; retiring and restoring change their state."""

    def __init__(self, rows: list[SkillOverviewRow] | None = None) -> None:
        self.memories: dict[str, ListedMemory] = {}
        self.rows = {row.path: row for row in rows or []}
        self.error: DomainError | None = None
        self.synced = 0
        self.evaluations: tuple[SkillEvaluation, ...] = ()
        self.looked: list[tuple[str, bool]] = []
        self.acts: list[tuple[str, str]] = []
        self.changed: Callable[[int], None] = lambda _count: None

    async def memory(self, memory_id: str) -> ListedMemory | None:
        return self.memories.get(memory_id)

    async def overview(self) -> SkillOverviewState:
        if self.error is not None:
            raise self.error
        return SkillOverviewState(ROOTS, tuple(self.rows.values()))

    async def skill(self, path: str) -> SkillDetail:
        row = self.rows[path]
        text = TEXT.format(name=row.name)
        older = text.replace("on a branch that has no upstream", "at first")
        versions = (
            version_of(NOW - timedelta(days=2), "edited by person (tui)", text),
            version_of(NOW - timedelta(days=9), "approved by person (tui)", older),
        )
        if row.state in (SkillState.NEW, SkillState.INVALID, SkillState.SHADOWED):
            return SkillDetail(row, text)
        disk = text.replace("Run `git status -sb`", "Run `git status`")
        shown = disk if row.state is SkillState.CHANGED else text
        return SkillDetail(row, shown, ("mem-00001",), versions, EVIDENCE)

    async def evaluation(self, path: str, *, anew: bool = False) -> tuple[SkillEvaluation, ...]:
        self.looked.append((path, anew))
        return self.evaluations

    async def effects(self) -> dict[str, LessonEffect]:
        weeks = tuple(EffectWeek(*week) for week in ((1, 2), (0, 1), (4, 1), (9, 1)))
        ways = (("digest", 9), ("before", 3), ("after", 1), ("read", 1))
        effect = LessonEffect(ways, True, 5, 1, 9, 4, weeks)
        return {path: effect for path, row in self.rows.items() if row.applied == 14}

    async def sync(self) -> int:
        self.synced += 1
        return 0

    async def offer(self, path: str) -> str:
        self.acts.append(("offer", path))
        self.rows[path] = replace(self.rows[path], state=SkillState.NEW, waiting="file_change-0003")
        return "file_change-0003"

    async def restore(self, path: str) -> str:
        self.acts.append(("restore", path))
        self.rows[path] = replace(self.rows[path], state=SkillState.VALID, waiting="")
        return "Wrote our version back · u undoes"

    async def retire(self, path: str) -> str:
        self.acts.append(("retire", path))
        self.rows[path] = replace(self.rows[path], state=SkillState.RETIRED)
        return "Retired · u brings it back"

    async def undo(self) -> str | None:
        if not self.acts:
            return None
        act, path = self.acts.pop()
        self.rows[path] = replace(self.rows[path], state=SkillState.VALID)
        return f"Took back: {act}"

    def watch(self, changed: Callable[[int], None]) -> None:
        self.changed = changed
