"""A store's management with fixed answers: what the pictures of its screens are drawn from."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from synthorg_tui.connect.changes import FileChange
from synthorg_tui.connect.clients import CLIENTS, Client, ConfigScope
from synthorg_tui.connect.records import FileRecord
from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.projects import ProjectEdit
from synthorg_tui.jobs.models import JobRun, JobStatus, RunProgress, RunState
from synthorg_tui.knowledge.lines import KnownLine
from synthorg_tui.knowledge.pages import PERSON_PAGE, PageLine, ProjectPage, find_page
from synthorg_tui.knowledge.project_edits import PlannedEdit
from synthorg_tui.knowledge.service import RefreshReport
from synthorg_tui.memory.consolidation.plan import ConsolidationPlan, GroupState, PlanOutcome
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.store.doctor import Check, DoctorReport
from synthorg_tui.persistence.backups import Backup
from synthorg_tui.persistence.integrity import ReadProgress
from synthorg_tui.settings.roster import AgentFacts
from synthorg_tui.tui.manage.adapter import (
    ClientState,
    PlannedConnection,
    ProcessFacts,
    StoreManagement,
)
from tests.tui.manage.settings_fakes import FILE, FakeSettings
from tests.tui.tui_fakes import NOW

CHECKS = (
    Check("database", True, "schema version 3, 1,482 rows read without damage"),
    Check("index", False, "2 of 59 live memories are missing"),
    Check("vectors", True, "every memory has a vector"),
    Check("disk space", True, "79,464 MB free, 200 MB needed"),
    Check("backups", True, "3, 2 of them daily"),
)
WANTED = (
    b'{\n  "mcpServers": {\n    "synthorg": {\n      "command": "synthorg-tui"\n    }\n  }\n}\n'
)


def job_run(
    job: str, number: int, state: RunState, told: str, *, hours: float = 2, tokens: int = 0
) -> JobRun:
    """A run that took 12 seconds, so many hours ago."""
    began = NOW - timedelta(hours=hours)
    log = f"   0.0 s  started\n   6.1 s  2,400 of 4,800\n  12.0 s  {state}"
    ended = began + timedelta(seconds=12)
    return JobRun(number, job, began, ended, state, 4800, 4800, told, tokens, log)


def job(
    name: str,
    title: str,
    interval: ConsolidationInterval | None,
    last: JobRun | None = None,
    running: RunProgress | None = None,
    idle: str = "",
) -> JobStatus:
    """A job that is due in 22 hours, unless it goes on all the time."""
    due = None if interval in (None, ConsolidationInterval.NEVER) else NOW + timedelta(hours=22)
    return JobStatus(name, title, f"jobs.{name}", interval, idle, last, due, running)


SHOP = "/home/ada/shop"
_KNOWN = (
    ("commands", "Test with `make test`", "17 of 22 runs passed, in 2 sessions", 17, 5, 0.8),
    ("commands", "Build with `make all`", "all 15 runs passed, in 2 sessions", 15, 0, 0.75),
    ("commands", "Format with `make fmt`", "passed in its only run, in 1 session", 1, 0, 0.2),
    ("gates", "Run `make fmt` before `git commit`: a hook wants it", "stopped once", 1, 0, 0.55),
    ("files", "Edited most: `cart.py` (13), `pay.py` (10)", "47 edits, in 2 sessions", 47, 0, 0.8),
)


def known(at: int, *, project: str = SHOP, edited: bool = False, hours: float = 30) -> PageLine:
    """One line of a page, said by the memory ``mem-0000N``."""
    section, text, counts, good, bad, certainty = _KNOWN[at % len(_KNOWN)]
    last = NOW - timedelta(hours=hours)
    refs = ("claude-code:3f2a91c0#L10-L14", "claude-code:77aa01b2#L3-L9")[: 1 + at % 2]
    said = KnownLine(project, section, f"k{at}", text, counts, good, bad, 2, last, certainty, refs)
    return PageLine(said, text, f"mem-{at:05d}", edited)


def project_page(name: str = "shop", *, count: int = 5, sessions: int = 2) -> ProjectPage:
    """A page with so many lines, the third of which a person edited."""
    lines = tuple(known(at, project=f"/home/ada/{name}", edited=at == 2) for at in range(count))
    order = ("commands", "gates", "files")
    ordered = tuple(sorted(lines, key=lambda each: order.index(each.line.section)))
    return ProjectPage(name, f"/home/ada/{name}", sessions, NOW - timedelta(hours=30), ordered)


def person_page() -> ProjectPage:
    """What a person said of how to work, in all projects."""
    said = KnownLine(
        "", "people", "p", "Small commits, one purpose each", "said 3 times, in 2 projects", 3, 0,
        3, NOW - timedelta(days=9), 0.9, ("claude-code:3f2a91c0#L10-L14",),
    )  # fmt: skip
    return ProjectPage(PERSON_PAGE, "", 0, None, (PageLine(said, said.text, "mem-00009"),))


def _no_engine() -> None:
    raise DomainError("there is no engine in this test")


class FakeManagement(StoreManagement):
    """Answers with the constants of this module, and ``settings`` with theirs."""

    def __init__(
        self,
        settings: FakeSettings | None = None,
        *,
        jobs: Sequence[JobStatus] = (),
        runs: Sequence[JobRun] = (),
        pages: Sequence[ProjectPage] = (),
        plans: Sequence[ConsolidationPlan] = (),
        texts: Sequence[ListedMemory] = (),
        agents: Sequence[AgentFacts] = (),
    ) -> None:
        super().__init__(
            _no_engine,  # type: ignore[arg-type]
            lambda: Path("/home/ada/data"),
            lambda: 0,
            _no_engine,  # type: ignore[arg-type]
        )
        self.kept = settings or FakeSettings()
        self.listed = tuple(jobs)
        self.ended = tuple(runs)
        self.asked: list[str] = []
        self.pages = tuple(pages)
        self.gate: asyncio.Event | None = None
        """What reading pages and refreshing them wait for, if it is set."""
        self.error: DomainError | None = None
        self.planned = list(plans)
        self.staff = {agent.id: agent for agent in agents}
        self.file = Path(FILE)
        self.found: ConsolidationPlan | None = None
        self.texts = {row.id: row for row in texts}
        self.plan_gate: asyncio.Event | None = None
        self.plan_error: DomainError | None = None

    async def agents(self) -> tuple[AgentFacts, ...]:
        if self.error is not None:
            raise self.error
        return tuple(self.staff.values())

    async def restrict_agent(
        self, agent_id: str, *, paused: bool | None = None, read_only: bool | None = None
    ) -> None:
        self.asked.append(f"{agent_id} paused={paused} read_only={read_only}")
        agent = self.staff[agent_id]
        if paused is not None:
            agent = replace(agent, paused=paused)
        if read_only is not None:
            agent = replace(agent, read_only=read_only)
        self.staff[agent_id] = agent

    def settings_file(self) -> Path:
        return self.file

    def facts(self) -> ProcessFacts:
        return ProcessFacts(312_000_000, 433_000_000, "minilm", "auto", (), True)

    async def doctor(
        self, *, fix: bool, progress: ReadProgress, cancel: threading.Event
    ) -> DoctorReport:
        return DoctorReport(False, CHECKS)

    async def backups(self) -> tuple[Backup, ...]:
        return tuple(
            Backup(
                Path(f"/home/ada/data/backups/20260101T{hours:02}0000-000.duckdb"),
                NOW - timedelta(hours=hours * 7),
                5_800_000 + hours * 71_000,
                hours % 2 == 0,
            )
            for hours in range(1, 6)
        )

    async def jobs(self) -> tuple[JobStatus, ...]:
        return self.listed

    async def job_runs(self, name: str) -> tuple[JobRun, ...]:
        return tuple(run for run in self.ended if run.job == name)

    async def run_job(self, name: str) -> JobRun:
        self.asked.append(f"run {name}")
        return job_run(name, 99, RunState.DONE, "3 memories embedded")

    async def cancel_job(self, name: str) -> None:
        self.asked.append(f"cancel {name}")

    async def projects(self) -> tuple[ProjectPage, ...]:
        if self.gate is not None and "refresh" not in self.asked:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.pages

    async def project(self, project: str) -> ProjectPage:
        return find_page(await self.projects(), project or PERSON_PAGE)

    async def renamed_projects(self) -> tuple[tuple[str, str], ...]:
        return ()

    async def plan_project_edit(self, kind: str, project: str, other: str) -> PlannedEdit:
        edit = ProjectEdit(kind, (project, other))
        return PlannedEdit(edit, other, project, (other,), 4, 1)

    async def edit_projects(self, planned: PlannedEdit | None) -> str:
        self.asked.append(f"{planned.edit.kind} {planned.source}" if planned else "undo")
        return str(planned)

    async def waiting_sessions(self) -> int:
        return 2

    async def refresh_projects(
        self, *, progress: Callable[[int, int], None], cancel: threading.Event
    ) -> RefreshReport:
        self.asked.append("refresh")
        progress(1, 2)
        if self.gate is not None:
            await self.gate.wait()
        return RefreshReport(sessions=2, cancelled=cancel.is_set())

    async def plans(self) -> tuple[ConsolidationPlan, ...]:
        if self.plan_error is not None:
            raise self.plan_error
        return tuple(self.planned)

    async def quoted(self, memory_ids: Sequence[str]) -> dict[str, ListedMemory]:
        return {key: self.texts[key] for key in memory_ids if key in self.texts}

    async def make_plan(
        self, *, progress: Callable[[int, int], None], cancel: threading.Event
    ) -> ConsolidationPlan:
        self.asked.append("plan")
        progress(1_200, 20_000)
        if self.plan_gate is not None:
            await self.plan_gate.wait()
        nothing = ConsolidationPlan(None, NOW, "you", 46, 3_000, cancelled=cancel.is_set())
        if self.found is None or cancel.is_set():
            return nothing
        self.planned.insert(0, self.found)
        return self.found

    async def apply_plan(
        self,
        number: int,
        groups: tuple[int, ...],
        *,
        progress: Callable[[int, int], None],
        cancel: threading.Event,
    ) -> PlanOutcome:
        self.asked.append(f"apply {number} {groups}")
        count = self._now(number, groups, GroupState.APPLIED)
        return PlanOutcome(number, groups, (), count, 149, 149 - count)

    async def drop_plan(self, number: int, groups: tuple[int, ...]) -> tuple[int, ...]:
        self.asked.append(f"drop {number} {groups}")
        self._now(number, groups, GroupState.DROPPED)
        return groups

    async def undo_plan(
        self, number: int, *, progress: Callable[[int, int], None], cancel: threading.Event
    ) -> PlanOutcome:
        self.asked.append(f"undo {number}")
        (plan,) = (plan for plan in self.planned if plan.number == number)
        done = tuple(group.number for group in plan.in_state(GroupState.APPLIED))
        count = self._now(number, done, GroupState.UNDONE)
        return PlanOutcome(number, done, (), count, 149 - count, 149)

    def _now(self, number: int, groups: tuple[int, ...], state: GroupState) -> int:
        """Give groups of a plan this state, and return how many memories they archive."""
        count = 0
        for at, plan in enumerate(self.planned):
            if plan.number == number:
                made = [replace(g, state=state) if g.number in groups else g for g in plan.groups]
                self.planned[at] = replace(plan, groups=tuple(made))
                count = sum(len(g.archived) for g in plan.groups if g.number in groups)
        return count

    async def connections(self) -> tuple[ClientState, ...]:
        scopes = {"codex": (ConfigScope.USER,), "cursor": (ConfigScope.PROJECT,)}
        return tuple(ClientState(client, scopes.get(name, ())) for name, client in CLIENTS.items())

    async def plan(self, client: Client, scope: ConfigScope, hooks: bool) -> PlannedConnection:
        path = Path("/home/ada/.claude.json")
        record = FileRecord(client.name, scope, str(path), hooks, "", "", ())
        change = FileChange(path, b"{}\n", WANTED, b"{}\n", record)
        return PlannedConnection(client, scope, (change,), removes=False)
