"""The evaluation of skills: evaluates a skill on each level and stores the results.

The quick levels run when a person opens a skill whose text has no result yet. A replay costs time
and tokens: it is planned first, so that a person can agree to its cost, and then run.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.approvals.models import ApprovalNotFoundError
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.text import counted
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.curation.effects import LessonEffect
from synthorg_tui.curation.overview import SkillOverview
from synthorg_tui.curation.registry import SkillRegistry, SkillStatus
from synthorg_tui.curation.review import Review
from synthorg_tui.evaluation import dialects, folders, subjects
from synthorg_tui.evaluation.cases import EvalCase, cases_of
from synthorg_tui.evaluation.lint import lint
from synthorg_tui.evaluation.models import (
    OLD_SKILL,
    WITHOUT_SKILL,
    EvaluationLevel,
    LevelResult,
    RecurrenceResult,
    ReplayResult,
    SkillEvaluation,
    SkillUnderTest,
)
from synthorg_tui.evaluation.replay import (
    MAX_PLANNED,
    MAX_RUNS,
    EvaluationRefusedError,
    Forget,
    ReplayPlan,
    ReplayProgress,
    Worktrees,
    replayed,
)
from synthorg_tui.evaluation.store import EvaluationStore
from synthorg_tui.evaluation.trigger import TriggerEvaluation, TriggerProgress
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.learning.evolver import EvolverReport
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.protocol import RunExecutor

QUICK: Final = (EvaluationLevel.LINT, EvaluationLevel.TRIGGER, EvaluationLevel.RECURRENCE)
"""Levels that need no agent: seconds, offline, at no cost."""


@dataclass(frozen=True, slots=True)
class EvaluationService:
    """Evaluates skills, named by the path of their file, and proposals, named by their id.

    ``review`` returns what approving an item would do. ``executors`` returns the executors of
    replays by name, ``worktrees`` makes the copies they work in, and ``folder`` holds the
    workspaces of replays.
    """

    store: EvaluationStore
    registry: SkillRegistry
    overview: SkillOverview
    executions: ExecutionStore
    review: Callable[[str], Awaitable[Review]]
    trigger: Callable[[], TriggerEvaluation]
    effects: Callable[[], Awaitable[Mapping[str, LessonEffect]]]
    executors: Callable[[], Mapping[str, RunExecutor]]
    worktrees: Worktrees
    forget: Forget
    folder: Path
    clock: Clock

    async def known(self, named: NotBlankStr) -> tuple[SkillEvaluation, ...]:
        """Return the stored results of a skill or a proposal, the cheapest level first.

        Raises ``DomainError``, ``ApprovalNotFoundError`` and ``EvaluationRefusedError``.
        """
        skill = await self.subject(named)
        return await self.store.of(skill.path, skill.sha256)

    async def look(
        self, named: NotBlankStr, levels: tuple[EvaluationLevel, ...] = QUICK, *, anew: bool = True
    ) -> tuple[SkillEvaluation, ...]:
        """Evaluate a skill or a proposal on the quick levels, and return all its results.

        With ``anew`` off, levels that have a result for this very text are skipped, except the
        figures since the approval. Raises like ``known``.
        """
        skill = await self.subject(named)
        before = await self.store.of(skill.path, skill.sha256)
        done = {each.level for each in before if each.is_current and not anew}
        wanted = [level for level in QUICK if level in levels and level not in done]
        for level in wanted:
            result = await self._found(skill, level)
            if result is not None:
                await self._keep(skill, result)
        return await self.store.of(skill.path, skill.sha256)

    async def look_at_all(
        self,
        *,
        progress: TriggerProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, tuple[SkillEvaluation, ...]]:
        """Evaluate every approved skill on the quick levels; returns all results by path.

        When it is cancelled, the skills that were reached are stored and returned.
        """
        skills = [await self.subject(each.path) for each in await self.registry.active()]
        triggers = await self.trigger().run(skills, progress=progress, cancel=cancel)
        effects = await self.effects()
        found = {}
        for skill in skills:
            if skill.path not in triggers:
                continue
            effect = effects.get(skill.path)
            results: list[LevelResult] = [lint(skill), triggers[skill.path]]
            results += [RecurrenceResult.of(effect)] if effect else []
            for result in results:
                await self._keep(skill, result)
            found[skill.path] = await self.store.of(skill.path, skill.sha256)
        return found

    async def look_at_report(self, report: EvolverReport) -> dict[str, tuple[SkillEvaluation, ...]]:
        """Evaluate the proposals of one cycle of the evolver; returns the results by item.

        Items that are decided already, or propose no skill, are left out.
        """
        found = {}
        for item in report.items:
            with suppress(EvaluationRefusedError, ApprovalNotFoundError):
                found[item.id] = await self.look(item.id, anew=False)
        return found

    async def subject(self, named: str) -> SkillUnderTest:
        """Return the text that a path or the id of an item stands for; raises like ``known``."""
        if not named.startswith("/"):
            review = await self.review(named)
            active = await self.registry.get(review.path) if review.path else None
            in_force = active is not None and active.status is SkillStatus.ACTIVE
            replaced = await self.registry.text(active) if active and in_force else ""
            return subjects.of_proposal(review, replaced)
        detail = await self.overview.skill(named)
        record = await self.registry.get(named)
        if record is None or record.status is not SkillStatus.ACTIVE:
            return subjects.of_file(detail.row.path, detail.text)
        return subjects.of_skill(detail, record, await self.registry.text(record))

    async def cases(self, skill: SkillUnderTest, file: Path | None = None) -> tuple[EvalCase, ...]:
        """Return the cases of a skill: those of ``file``, else a person's, its own, its evidence's.

        A person's are in the skill's workspace; its own lie in ``evals/evals.json`` beside it, and
        may be anybody's: which folder they are about isn't theirs to say. Raises ``DomainError``
        for a file that can't be read as one.
        """
        path = await self._cases_file(skill, file)
        if path is not None:
            read = dialects.read_evals(await asyncio.to_thread(dialects.read_file, path))
            nowhere = {"project": "", "ref": "", "source": ""}
            is_own = path == _own_cases(skill)
            return tuple(case.model_copy(update=nowhere) if is_own else case for case in read)
        seen = sorted({each.execution for each in skill.evidence})
        records = [await self.executions.get(key) for key in seen]
        return cases_of(skill, {each.id: each for each in records if each is not None})

    async def _cases_file(self, skill: SkillUnderTest, file: Path | None) -> Path | None:
        """The file that the cases come from; ``None`` when they are made of the evidence."""
        written = folders.workspace_of(self.folder, skill.name) / dialects.EVALS
        for path in (written, _own_cases(skill)):
            if file is None and await asyncio.to_thread(path.exists):
                return path
        return file

    async def write_cases(self, named: str, to: Path | None = None) -> tuple[Path, int]:
        """Write the cases of a skill where a person can edit them; returns the file, and how many.

        Raises ``EvaluationRefusedError`` where a file is already, and like ``known``.
        """
        skill = await self.subject(named)
        path = to or folders.workspace_of(self.folder, skill.name) / dialects.EVALS
        if path.exists():
            raise EvaluationRefusedError(f"{path} is there already", remedy="Edit it, or move it.")
        cases = await self.cases(skill)
        await asyncio.to_thread(folders.write_cases, path, skill.name, cases)
        return path, len(cases)

    async def plan(
        self,
        named: str,
        *,
        executor: str,
        runs: int,
        limits: RunLimits,
        cases: Path | None = None,
        workspace: Path | None = None,
        model: str | None = None,
    ) -> ReplayPlan:
        """Return the plan of a replay without running it.

        ``workspace`` is the folder to copy where a case names none that is here. Raises
        ``EvaluationRefusedError`` with the reason when nothing can be run, and like ``known``.
        """
        if not 1 <= runs <= MAX_RUNS:
            raise EvaluationRefusedError(f"between 1 and {MAX_RUNS} runs are possible, not {runs}")
        await self._executor(executor)
        skill = await self.subject(named)
        wanted = await self.cases(skill, cases)
        ready = await asyncio.to_thread(_ready, wanted, workspace)
        plan = ReplayPlan(
            executor=executor,
            cases=ready,
            runs=runs,
            baseline=OLD_SKILL if skill.old_text.strip() else WITHOUT_SKILL,
            limits=limits,
            model=model,
            cases_from=str(await self._cases_file(skill, cases) or ""),
        )
        if plan.total > MAX_PLANNED:
            raise EvaluationRefusedError(
                f"{plan.total:,} runs are more than the {MAX_PLANNED} that one replay may take",
                remedy="Name fewer runs, or fewer cases in a file.",
            )
        return plan

    async def replay(
        self,
        named: str,
        plan: ReplayPlan,
        *,
        to: Path | None = None,
        progress: ReplayProgress | None = None,
        cancel: threading.Event | None = None,
    ) -> SkillEvaluation:
        """Run a plan, write its files below ``to``, and store the result.

        When it is cancelled, the finished runs count; without any nothing is stored.
        """
        skill = await self.subject(named)
        executor = await self._executor(plan.executor)
        folder = folders.EvaluationFolder(to or self.folder, skill.name)
        await asyncio.to_thread(folder.begin, plan.cases)
        grades = []
        copies, forget = self.worktrees, self.forget
        async for run in replayed(
            plan, skill, executor, copies, forget, progress=progress, cancel=cancel
        ):
            grades.append(run.grade)
            await asyncio.to_thread(folder.add, run)
        result = ReplayResult(
            executor=plan.executor,
            baseline=plan.baseline,
            grades=tuple(grades),
            folder=str(folder.path),
            sources=tuple(case.source for case in plan.cases if case.source),
            is_whole=len(grades) == plan.total,
        )
        await asyncio.to_thread(folder.finish, result)
        if not grades:
            raise EvaluationRefusedError("it was stopped before the first run had ended")
        return await self._keep(skill, result)

    async def _found(self, skill: SkillUnderTest, level: EvaluationLevel) -> LevelResult | None:
        """The result of a quick level; ``None`` where there is nothing to evaluate."""
        if level is EvaluationLevel.LINT:
            return lint(skill)
        if level is EvaluationLevel.TRIGGER:
            return (await self.trigger().run([skill])).get(skill.path)
        effect = (await self.effects()).get(skill.path) if not skill.item_id else None
        return RecurrenceResult.of(effect) if effect else None

    async def _keep(self, skill: SkillUnderTest, result: LevelResult) -> SkillEvaluation:
        evaluation = SkillEvaluation(
            name=skill.name,
            path=skill.path,
            item_id=skill.item_id,
            sha256=skill.sha256,
            made_at=self.clock.now(),
            result=result,
        )
        await self.store.put(evaluation)
        return evaluation

    async def _executor(self, name: str) -> RunExecutor:
        known = self.executors()
        if name not in known:
            names = ", ".join(sorted(known)) or "none is here yet"
            raise EvaluationRefusedError(
                f"there is no executor {name!r}", remedy=f"Known: {names}."
            )
        if why := await known[name].unavailable():
            raise EvaluationRefusedError(f"{name} can't run here: {why}")
        return known[name]


def _own_cases(skill: SkillUnderTest) -> Path:
    return Path(skill.path).parent.joinpath(*("evals", dialects.EVALS))


def _ready(cases: Sequence[EvalCase], workspace: Path | None) -> tuple[EvalCase, ...]:
    """The cases that can be run, each with the folder to copy; raises when there is none."""
    if not cases:
        raise EvaluationRefusedError(
            "nothing in its evidence can be checked by a script, so there are no cases",
            remedy="Write some: `skills eval NAME --write-cases` shows the form.",
        )
    decidable = [case for case in cases if case.is_decidable]
    if not decidable:
        raise EvaluationRefusedError(
            f"no script can decide any assertion of {counted(len(cases), 'case')}",
            remedy="Write assertions such as: The command `make test` exits 0.",
        )
    ready = []
    for case in decidable:
        place = workspace or Path(case.project or "/nonexistent")
        if place.is_absolute() and place.is_dir():
            update = {"project": str(place), "ref": "" if workspace else case.ref}
            ready.append(case.model_copy(update=update))
    if not ready:
        missing = ", ".join(sorted({case.project or "no project" for case in decidable}))
        raise EvaluationRefusedError(
            f"the project isn't on this machine: {missing}",
            remedy="Name the folder to copy with --workspace DIR.",
        )
    return tuple(ready)
