"""A store's management with fixed answers: what the pictures of its screens are drawn from."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from synthorg_tui.connect.changes import FileChange
from synthorg_tui.connect.clients import CLIENTS, Client, ConfigScope
from synthorg_tui.connect.records import FileRecord
from synthorg_tui.core.enums import ConsolidationInterval
from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.jobs.models import JobRun, JobStatus, RunProgress, RunState
from synthorg_tui.memory.store.doctor import Check, DoctorReport
from synthorg_tui.persistence.backups import Backup
from synthorg_tui.persistence.integrity import ReadProgress
from synthorg_tui.settings.listing import ListedSetting
from synthorg_tui.tui.manage.adapter import (
    ClientState,
    PlannedConnection,
    ProcessFacts,
    StoreManagement,
)
from tests.tui.tui_fakes import NOW

FILE = "/etc/synthorg/company.yaml"
CHECKS = (
    Check("database", True, "schema version 3, 1,482 rows read without damage"),
    Check("index", False, "2 of 59 live memories are missing"),
    Check("vectors", True, "every memory has a vector"),
    Check("disk space", True, "79,464 MB free, 200 MB needed"),
    Check("backups", True, "3, 2 of them daily"),
)
SETTINGS = (
    ListedSetting("memory.backend", '"local"', "default", "text"),
    ListedSetting("memory.level", '"session"', f"{FILE}:2", "one of session, project", True),
    ListedSetting(
        "memory.retrieval.max_memories",
        "7",
        "SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES",
        "whole number from 1 to 100",
    ),
    ListedSetting("providers.embedding.api_key", "(hidden)", "default", "text"),
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


def _no_engine() -> None:
    raise DomainError("there is no engine in this test")


class FakeManagement(StoreManagement):
    """Answers with the constants of this module; ``problem`` is raised by ``settings``."""

    def __init__(
        self,
        problem: str = "",
        *,
        jobs: Sequence[JobStatus] = (),
        runs: Sequence[JobRun] = (),
    ) -> None:
        super().__init__(
            _no_engine,  # type: ignore[arg-type]
            lambda: Path("/home/ada/data"),
            lambda: 0,
            _no_engine,  # type: ignore[arg-type]
        )
        self._problem = problem
        self.listed = tuple(jobs)
        self.ended = tuple(runs)
        self.asked: list[str] = []

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

    async def settings(self) -> tuple[ListedSetting, ...]:
        if self._problem:
            raise ConfigError(self._problem)
        return SETTINGS

    async def connections(self) -> tuple[ClientState, ...]:
        scopes = {"codex": (ConfigScope.USER,), "cursor": (ConfigScope.PROJECT,)}
        return tuple(ClientState(client, scopes.get(name, ())) for name, client in CLIENTS.items())

    async def plan(self, client: Client, scope: ConfigScope, hooks: bool) -> PlannedConnection:
        path = Path("/home/ada/.claude.json")
        record = FileRecord(client.name, scope, str(path), hooks, "", "", ())
        change = FileChange(path, b"{}\n", WANTED, b"{}\n", record)
        return PlannedConnection(client, scope, (change,), removes=False)
