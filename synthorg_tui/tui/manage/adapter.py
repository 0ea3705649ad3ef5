"""What the screens about the whole ask: each method is what the command of its name does.

The app starts without the engine, so what loads it is imported inside. Everything that changes
files of others or replaces the store is refused where an agent runs the app.
"""

import asyncio
import resource
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.process_setup import resident_memory
from synthorg_tui.tui.manage.setting_acts import SettingActs

if TYPE_CHECKING:
    from synthorg_tui.connect.changes import ClientInstaller, FileChange
    from synthorg_tui.connect.clients import Client, ConfigScope
    from synthorg_tui.connect.joining import LinkedSkills
    from synthorg_tui.engine import Engine
    from synthorg_tui.figures.models import FigureSpan, StoreFigures
    from synthorg_tui.jobs.models import JobRun, JobStatus
    from synthorg_tui.knowledge.pages import ProjectPage
    from synthorg_tui.knowledge.project_edits import PlannedEdit
    from synthorg_tui.knowledge.service import RefreshReport
    from synthorg_tui.memory.consolidation.plan import ConsolidationPlan, PlanOutcome
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.memory.store.doctor import DoctorReport
    from synthorg_tui.persistence.backups import Backup
    from synthorg_tui.persistence.integrity import ReadProgress
    from synthorg_tui.settings.agent_entry import EntryChange
    from synthorg_tui.settings.roster import AgentFacts
    from synthorg_tui.tui.fine_tune.adapter import FineTuneDesk
    from synthorg_tui.tui.models.adapter import ModelDesk
    from synthorg_tui.tui.runs.adapter import RunDesk


@dataclass(frozen=True, slots=True)
class ClientState:
    """A coding agent that can be connected; ``scopes`` are those it is connected in."""

    client: "Client"
    scopes: tuple["ConfigScope", ...]


@dataclass(frozen=True, slots=True)
class PlannedConnection:
    """The exact changes that connect or disconnect a client, before a person agreed to them."""

    client: "Client"
    scope: "ConfigScope | None"
    changes: tuple["FileChange", ...]
    removes: bool

    @property
    def is_needed(self) -> bool:
        """Whether any file would change."""
        return any(change.is_needed for change in self.changes)


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What this process takes and where its models are; ``memory`` and ``most`` are in bytes.

    ``remote`` are the addresses that texts are sent to, none when everything stays here;
    ``is_loaded`` tells whether the embedding model is in memory now; ``reranking`` is empty unless
    there is a re-ranker.
    """

    memory: int
    most: int
    embedding: str
    completion: str
    remote: tuple[str, ...]
    is_loaded: bool
    reranking: str = ""


class StoreManagement:
    """Doctor, backups, settings and connections of the store that the app has open.

    Args:
        engine: Returns the open engine, or raises ``DomainError``.
        data_dir: Returns the data directory.
        clients: Returns how many clients are connected to this process.
        close: Closes the store.
        config_path: The settings file named at the start, if any.
    """

    def __init__(
        self,
        engine: "Callable[[], Engine]",
        data_dir: Callable[[], Path],
        clients: Callable[[], int],
        close: Callable[[], Awaitable[None]],
        config_path: Path | None = None,
    ) -> None:
        self._engine = engine
        self._data_dir = data_dir
        self._clients = clients
        self._close = close
        self.config_path = config_path

    @property
    def runs(self) -> "RunDesk":
        """The runs of agents here, for their screen."""
        from synthorg_tui.tui.runs.adapter import RunDesk

        return RunDesk(self._engine)

    @cached_property
    def models(self) -> "ModelDesk":
        """The embedders that are tried, for their screen."""
        from synthorg_tui.tui.models.adapter import ModelDesk

        return ModelDesk(self._engine)

    @property
    def fine_tune(self) -> "FineTuneDesk":
        """Fine-tuning and its checkpoints, for their screen."""
        from synthorg_tui.tui.fine_tune.adapter import FineTuneDesk

        return FineTuneDesk(self._engine)

    async def doctor(
        self, *, fix: bool, progress: "ReadProgress", cancel: threading.Event
    ) -> "DoctorReport":
        """Examine the store, with ``fix`` repair it, and return the report."""
        from synthorg_tui.memory.store.doctor import with_sessions

        engine = self._engine()
        report = await engine.maintenance.doctor(fix=fix, progress=progress, cancel=cancel)
        return await with_sessions(report, engine.executions)

    def facts(self) -> ProcessFacts:
        """Return what this process takes, and where its models are."""
        engine = self._engine()
        settings = engine.settings
        models = (settings.embedding(), settings.providers.completion)
        remote = [str(address) for m in models if (address := getattr(m, "base_url", ""))]
        embedding, completion = (str(getattr(model, "type", "")) for model in models)
        now, most = _memory()
        is_loaded = engine.maintenance.has_model
        reranking = settings.providers.reranking.type.removesuffix("none")
        return ProcessFacts(now, most, embedding, completion, tuple(remote), is_loaded, reranking)

    async def figures(self, span: "FigureSpan", now: datetime) -> "StoreFigures":
        """Return the figures of a span that ends ``now``, whose zone decides what a day is."""
        return await self._engine().figures.read(span, now)

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` whenever something happens; returns what ends that."""
        return self._engine().events.subscribe(lambda _topic, _data: listener())

    async def agents(self) -> "tuple[AgentFacts, ...]":
        """Return every agent, by the settings as they would be after a start now."""
        from synthorg_tui.settings.loader import load_settings
        from synthorg_tui.settings.roster import roster

        engine = self._engine()
        return await roster(
            await asyncio.to_thread(load_settings, self.config_path),
            running=engine.settings,
            facets=engine.desk.facets,
            sessions=engine.sessions.list,
            restrictions=engine.gateway.restrictions,
            last_call=lambda agent_id: engine.gateway.calls(limit=1, agent=agent_id),
        )

    def agent_entry(self, agent_id: str) -> str:
        """Return an agent's entry in the settings file, to be edited by a person."""
        from synthorg_tui.settings.agent_entry import entry_of

        _person()
        return entry_of(self.settings_file(), agent_id)

    def plan_agent(self, agent_id: str, entry: str) -> "EntryChange":
        """Return what this entry would change in the settings file; writes nothing."""
        from synthorg_tui.settings.agent_entry import plan_entry

        return plan_entry(self.settings_file(), agent_id, entry)

    def write_agent(self, change: "EntryChange") -> None:
        """Write the planned change of the settings file; refused where an agent runs the app."""
        from synthorg_tui.settings.agent_entry import write_entry

        _person()
        write_entry(change)

    async def restrict_agent(
        self, agent_id: str, *, paused: bool | None = None, read_only: bool | None = None
    ) -> None:
        """Pause an agent or let it go on, refuse its writes or allow them; ``None`` leaves it."""
        _person()
        gateway = self._engine().gateway
        if paused is not None:
            await gateway.set_paused(agent_id, paused)
        if read_only is not None:
            await gateway.set_read_only(agent_id, read_only)

    async def backups(self) -> "tuple[Backup, ...]":
        """Return the backups of the store, newest first."""
        from synthorg_tui.persistence.backups import backups_in

        return await asyncio.to_thread(backups_in, self._data_dir())

    async def back_up(self, *, progress: "ReadProgress", cancel: threading.Event) -> Path:
        """Back the store up and return the path of the copy."""
        return await self._engine().maintenance.backup(progress=progress, cancel=cancel)

    def require_alone(self) -> None:
        """Raise ``DomainError`` when an agent runs the app, or anybody else uses the store."""
        from synthorg_tui.approvals.person import require_no_agent

        require_no_agent()
        if connected := self._clients():
            raise DomainError(
                f"{connected} other {'program uses' if connected == 1 else 'programs use'} "
                "the store",
                remedy="End the agents and commands that are connected first; 5 lists them.",
            )

    async def restore(
        self, backup: Path, *, progress: "ReadProgress", cancel: threading.Event
    ) -> Path:
        """Close the store and replace it by a backup; the caller opens it again, in any case."""
        from synthorg_tui.host.opening import restore
        from synthorg_tui.settings.loader import load_settings

        self.require_alone()
        data_dir, settings = self._data_dir(), load_settings(self.config_path)
        await self._close()
        await restore(settings, data_dir, backup, progress=progress, cancel=cancel)
        return backup

    async def jobs(self) -> "tuple[JobStatus, ...]":
        """Return what runs by itself, with the latest run of each job."""
        return await self._engine().jobs.list()

    async def job_runs(self, name: str) -> "tuple[JobRun, ...]":
        """Return the latest runs of a job, newest first."""
        return await self._engine().jobs.runs(name)

    async def run_job(self, name: str) -> "JobRun":
        """Run a job now and return how it ended; refused where an agent runs the app."""
        from synthorg_tui.approvals.person import require_no_agent

        require_no_agent()
        return await self._engine().jobs.run(name)

    async def cancel_job(self, name: str) -> None:
        """Stop a job that runs; refused where an agent runs the app."""
        from synthorg_tui.approvals.person import require_no_agent

        require_no_agent()
        await self._engine().jobs.cancel(name)

    async def projects(self) -> "tuple[ProjectPage, ...]":
        """Return the page of each project, first that of the person where there is one."""
        return await self._engine().knowledge.projects()

    async def project(self, project: str) -> "ProjectPage":
        """Return the page of the project in this folder; raises ``UnknownProjectError``."""
        return await self._engine().knowledge.page(project or "you")

    async def plan_project_edit(self, kind: str, project: str, other: str) -> "PlannedEdit":
        """Return what a merge, split or rename of a project would move."""
        return await self._engine().knowledge.plan_edit(kind, project, other)

    async def edit_projects(self, planned: "PlannedEdit | None") -> str:
        """Make a planned edit, or with ``None`` undo the last one; return what was done.

        Refused where an agent runs the app.
        """
        from synthorg_tui.approvals.person import require_no_agent
        from synthorg_tui.tui.approvals.adapter import person

        require_no_agent()
        knowledge = self._engine().knowledge
        if planned is None:
            undone = await knowledge.undo_edit()
            return f"Undone: {undone}" if undone else "There is no edit of projects to undo"
        await knowledge.make_edit(planned, actor=str(person()))
        return str(planned)

    async def renamed_projects(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of names of projects of which one looks renamed to the other."""
        return await self._engine().knowledge.renamed()

    async def waiting_sessions(self) -> int:
        """Return how many sessions are new or changed since they were looked at."""
        return await self._engine().knowledge.waiting()

    async def refresh_projects(
        self, *, progress: Callable[[int, int], None], cancel: threading.Event
    ) -> "RefreshReport":
        """Look at sessions that changed; ``progress`` is told how many, of how many."""
        return await self._engine().knowledge.refresh(progress, cancel)

    async def plans(self) -> "tuple[ConsolidationPlan, ...]":
        """Return the latest plans of consolidation, newest first."""
        return await self._engine().consolidation.latest()

    async def quoted(self, memory_ids: Sequence[str]) -> "dict[str, ListedMemory]":
        """Return these memories by id, live or not; what was erased is omitted."""
        found = await self._engine().desk.entries(memory_ids, deleted=True)
        return {memory.id: memory for memory in found}

    async def make_plan(
        self, *, progress: Callable[[int, int], None], cancel: threading.Event
    ) -> "ConsolidationPlan":
        """Make a plan for all agents, which changes no memory; see ``ConsolidationRuns.plan``."""
        actor = _person()
        runs = self._engine().consolidation
        return await runs.plan(actor=actor, progress=progress, cancel=cancel)

    async def apply_plan(
        self,
        number: int,
        groups: tuple[int, ...],
        *,
        progress: Callable[[int, int], None],
        cancel: threading.Event,
    ) -> "PlanOutcome":
        """Carry out groups of a plan; refused where an agent runs the app."""
        actor = _person()
        runs = self._engine().consolidation
        return await runs.apply(number, groups, actor=actor, progress=progress, cancel=cancel)

    async def drop_plan(self, number: int, groups: tuple[int, ...]) -> tuple[int, ...]:
        """Drop groups of a plan and return their numbers; refused where an agent runs the app."""
        return await self._engine().consolidation.drop(number, groups, actor=_person())

    async def undo_plan(
        self, number: int, *, progress: Callable[[int, int], None], cancel: threading.Event
    ) -> "PlanOutcome":
        """Take back what was carried out of a plan; refused where an agent runs the app."""
        actor = _person()
        runs = self._engine().consolidation
        return await runs.undo(number, actor=actor, progress=progress, cancel=cancel)

    @cached_property
    def kept(self) -> SettingActs:
        """What the settings screen asks."""
        return SettingActs(self._engine, self.config_path)

    def settings_file(self) -> Path:
        """Return the settings file in force, or where it would be."""
        from synthorg_tui.settings.environment import config_file, default_config_file

        return config_file(self.config_path) or default_config_file()

    async def connections(self) -> tuple[ClientState, ...]:
        """Return every client that can be connected, and where it is."""
        from synthorg_tui.connect.clients import CLIENTS, ConfigScope
        from synthorg_tui.connect.records import Records

        records = Records(self._data_dir().absolute())
        return tuple(
            ClientState(
                client,
                tuple(scope for scope in ConfigScope if records.files_of(client.name, scope)),
            )
            for client in CLIENTS.values()
        )

    async def plan(self, client: "Client", scope: "ConfigScope", hooks: bool) -> PlannedConnection:
        """Return what connecting would change; writes nothing."""
        from synthorg_tui.connect.joining import server_command

        call = server_command(client.name, data_dir=self._data_dir(), config_path=self.config_path)
        changes = await asyncio.to_thread(self._installer().plan, client, scope, call, hooks=hooks)
        return PlannedConnection(client, scope, changes, removes=False)

    async def plan_removal(self, client: "Client") -> PlannedConnection:
        """Return what disconnecting would change, wherever it was connected; writes nothing."""
        changes = await asyncio.to_thread(self._installer().plan_removal, client, None)
        return PlannedConnection(client, None, changes, removes=True)

    async def connect(self, plan: PlannedConnection) -> "LinkedSkills":
        """Write what was planned, then link the approved skills."""
        from synthorg_tui.approvals.person import require_no_agent
        from synthorg_tui.connect.joining import link_skills
        from synthorg_tui.connect.skills import approved
        from synthorg_tui.core.enums import SkillState

        require_no_agent()
        assert plan.scope is not None
        installer, agent, engine = self._installer(), plan.client.name, self._engine()
        await asyncio.to_thread(installer.apply, plan.changes)
        wanted: dict[str, str] | None = None
        try:
            wanted = await approved(self._data_dir().absolute(), agent)
        except DomainError:  # linked at the agent's next session
            wanted = None
        rows = (await engine.skills.overview()).rows
        refused = {r.name for r in rows if r.was_rejected and r.state is SkillState.SHIPPED}
        own = engine.settings.own_skills(self._data_dir().absolute())
        return await asyncio.to_thread(
            link_skills,
            installer,
            plan.client,
            plan.scope,
            agent,
            own=own,
            wanted=wanted,
            rejected=refused,
        )

    async def disconnect(self, plan: PlannedConnection) -> dict[Path, tuple[str, ...]]:
        """Write what was planned and remove our links; return their names by folder."""
        from synthorg_tui.approvals.person import require_no_agent

        require_no_agent()
        installer = self._installer()
        cleared = await asyncio.to_thread(installer.clear_skills, plan.client, None)
        await asyncio.to_thread(installer.apply_removal, plan.changes)
        return cleared

    def _installer(self) -> "ClientInstaller":
        from synthorg_tui.connect.changes import ClientInstaller
        from synthorg_tui.connect.clients import here

        return ClientInstaller(self._data_dir().absolute(), here())


def _person() -> str:
    """Who decides at this screen; raises ``DecisionRefusedError`` where an agent runs the app."""
    from synthorg_tui.tui.approvals.adapter import person

    return str(person())


def _memory() -> tuple[int, int]:
    """This process's resident memory now and at most, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    most *= 1 if sys.platform == "darwin" else 1024
    return resident_memory(), most
