"""The state of the Runs screen: pages of steps, following the end, and the fields of its form.

No Textual here: it is tested without a screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.text import agent_id_problem
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.models import RunProfile, RunRequest, RunStatus

if TYPE_CHECKING:
    from synthorg_tui.host.runs import StepPage
    from synthorg_tui.runtime.models import AgentRun, RunStep

PAGE: Final = 100
"""Steps that are read at once."""
MAX_PAGES: Final = 6
"""Pages of steps that are kept; the one that was longest out of view goes first."""


class StepPages:
    """The steps of one run, of which only those near the view are in memory.

    Steps are numbered from 1 without a gap, so that row ``n`` of the list is step ``n + 1``. While
    the end is followed, new steps move the cursor.
    """

    def __init__(self, run_id: str = "") -> None:
        self.run_id = run_id
        self.last = 0
        """The number of the newest step that is stored."""
        self.follows = True
        self.waits_for = ""
        """The approval item that the run is parked for, empty when it isn't."""
        self._pages: dict[int, tuple[RunStep, ...]] = {}

    def get(self, index: int) -> RunStep | None:
        """Return the step of a row, or ``None`` if it isn't loaded."""
        page = self._pages.get(index // PAGE, ())
        at = index % PAGE
        return page[at] if at < len(page) else None

    def wanted(self, first: int, last: int) -> int | None:
        """Return the number behind which to read for rows ``first`` to ``last``, ``None`` if none.

        A page that ended early, as its texts are long, is read on.
        """
        for index in range(max(first, 0), min(last + 1, self.last)):
            if self.get(index) is None:
                page = index // PAGE
                return page * PAGE + len(self._pages.get(page, ()))
        return None

    @property
    def end(self) -> int:
        """The number behind which the newest steps are read."""
        page = max(self.last - 1, 0) // PAGE
        return page * PAGE + len(self._pages.get(page, ()))

    def take(self, after: int, page: StepPage) -> None:
        """Keep the steps that were read behind the step ``after``."""
        self.last = max(self.last, page.last)
        for number, step in enumerate(page.steps, after):
            at = number // PAGE
            kept = self._pages.pop(at, ())
            same = number % PAGE
            self._pages[at] = (*kept[:same], step) if same <= len(kept) else kept
        while len(self._pages) > MAX_PAGES:
            del self._pages[next(iter(self._pages))]

    def waits_with(self, step: RunStep) -> bool:
        """Return whether the run waits for a person's decision on this step."""
        return bool(step.item_id) and step.item_id == self.waits_for

    def moved(self, row: int) -> None:
        """Follow the end while the cursor is on the last step."""
        self.follows = row >= self.last - 1


@dataclass(frozen=True, slots=True)
class RunFields:
    """What a person typed into the form of a new run."""

    task: str
    agent_id: str
    workspace: str
    executor: str
    profile: RunProfile = RunProfile.ASK
    model: str = ""
    memory: bool = True
    limits: Mapping[str, str] = field(default_factory=dict)

    def problem(self, executors: Mapping[str, str]) -> tuple[str, str] | None:
        """Return the first field that can't be used and why, ``None`` when the run can start.

        ``executors`` gives for each name why it can't run here, empty when it can.
        """
        checks = (
            ("task", "" if self.task.strip() else "Needs a task."),
            ("agent", self._agent_problem()),
            ("executor", _reason(executors.get(self.executor, "is unknown"), self.executor)),
            ("workspace", self._folder_problem()),
            *((name, limit_problem(name, text)) for name, text in self.limits.items()),
        )
        return next(((name, problem) for name, problem in checks if problem), None)

    def request(self, limits: RunLimits) -> RunRequest:
        """Return the request; the fields must have no problem. Empty limits are ``limits``."""
        typed = {name: float(text) for name, text in self.limits.items() if text.strip()}
        return RunRequest(
            task=self.task.strip(),
            agent_id=self.agent_id.strip(),
            workspace=expand_home(self.workspace.strip()).absolute(),
            executor=self.executor,
            profile=self.profile,
            limits=RunLimits.model_validate({**limits.model_dump(), **typed}),
            model=self.model.strip() or None,
            memory=self.memory,
        )

    def _agent_problem(self) -> str:
        name = self.agent_id.strip()
        if not name:
            return "Needs an agent."
        problem = agent_id_problem(name)
        return f"Agent: {problem}." if problem else ""

    def _folder_problem(self) -> str:
        folder = self.workspace.strip()
        if not folder:
            return "Needs a folder to work in."
        return "" if _is_folder(expand_home(folder)) else "There is no such folder."


_WHOLE: Final = frozenset(("turns", "tokens"))
_MOST: Final = {"turns": 1000}


def limit_problem(name: str, text: str) -> str:
    """Return what is wrong with a limit as it was typed; an empty one is the setting's."""
    text = text.strip()
    if not text:
        return ""
    label = name.capitalize()
    if name in _WHOLE:
        most = _MOST.get(name)
        is_right = text.isascii() and text.isdecimal() and int(text) >= 1
        if is_right and (most is None or int(text) <= most):
            return ""
        return f"{label}: a whole number from 1{f' to {most}' if most else ''}."
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if name == "cost":
        return "" if 0 <= number < float("inf") else "Cost: a number from 0."
    return "" if 0 < number < float("inf") else f"{label}: a number over 0."


def _reason(why: str, name: str) -> str:
    return f"{name}: {why}" if why else ""


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_over(run: AgentRun) -> bool:
    """Return whether nothing of the run goes on or waits."""
    return run.status is RunStatus.ENDED


def can_go_on(run: AgentRun) -> bool:
    """Return whether a person could have the run go on: it broke off without being done."""
    broke_off = run.reason in (TerminationReason.ERROR, TerminationReason.SHUTDOWN)
    return run.status is RunStatus.INTERRUPTED or (is_over(run) and broke_off)


def work_text(runs: tuple[AgentRun, ...]) -> str:
    """Return what runs now for the header: ``1 run · 3 turns``; empty when none does."""
    if not runs:
        return ""
    turns = sum(run.turns for run in runs)
    named = "run" if len(runs) == 1 else "runs"
    return f"{len(runs):,} {named} · {turns:,} {'turn' if turns == 1 else 'turns'}"
