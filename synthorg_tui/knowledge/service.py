"""The service that keeps up what is known of projects, and gives it as pages.

A refresh unpacks only sessions that are new or changed since the last one; what they say is kept as
facts. Lines of other projects are made anew once a day, since certainty goes with time. A refresh
that was stopped goes on with the next one.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.projects import find_project, project_name, project_names, repository_of
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.executions.drawn import REFRESH
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.knowledge.customs import custom_facts
from synthorg_tui.knowledge.facts import Fact, FactStore, KnownProjects, Sighting, merged
from synthorg_tui.knowledge.lines import KnownLine, lines_of, most_useful
from synthorg_tui.knowledge.memories import KnowledgeChange, KnownMemories
from synthorg_tui.knowledge.pages import (
    PERSON_PAGE,
    PageLine,
    ProjectPage,
    find_page,
)
from synthorg_tui.knowledge.people import PERSON, lasting_preferences, lines_of_people
from synthorg_tui.knowledge.places import place_facts
from synthorg_tui.knowledge.project_edits import (
    PlannedEdit,
    looks_renamed,
    make_edit,
    plan_merge,
    plan_rename,
    plan_split,
    undo_edit,
)
from synthorg_tui.knowledge.work import work_facts
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.settings_kv import LastRuns

_log = logging.getLogger(__name__)

RefreshSink = Callable[[int, int], None]
"""Is told how many sessions have been looked at, of how many."""
_SESSIONS: Final = 16
"""Sessions whose facts are stored in one transaction; a refresh stops between two."""
_PROJECTS: Final = 20
"""Projects whose facts are in memory at once."""
_EVERY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh did: sessions looked at, projects worded anew, and what became of lines."""

    sessions: int = 0
    projects: int = 0
    change: KnowledgeChange = field(default_factory=KnowledgeChange)
    cancelled: bool = False

    def __str__(self) -> str:
        """The report in one sentence."""
        change = self.change
        done = (
            f"{counted(self.sessions, 'session')} looked at: {change.added} lines added, "
            f"{change.updated} changed, {change.withdrawn} put aside, {change.restored} back"
        )
        return f"{done}; stopped" if self.cancelled else done


class KnowledgeService:
    """Makes and shows what is known of projects.

    Args:
        facts: What was counted in sessions.
        executions: The imported sessions.
        memories: The memories that say what is known.
        moments: When everything was looked at last.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        *,
        facts: FactStore,
        executions: ExecutionStore,
        memories: KnownMemories,
        moments: LastRuns,
        clock: Clock,
    ) -> None:
        self._facts = facts
        self._executions = executions
        self._memories = memories
        self._moments = moments
        self._clock = clock
        self._turn = asyncio.Lock()

    async def refresh(
        self, progress: RefreshSink | None = None, cancel: threading.Event | None = None
    ) -> RefreshReport:
        """Look at sessions that changed, and bring lines and memories up to date.

        Setting ``cancel`` stops between two sessions; what was done stays. Raises
        ``MemoryStoreError`` when the store fails.
        """
        cancel = cancel or threading.Event()
        async with self._turn:
            await self._facts.remember_folders()
            last = await self._moments.get(REFRESH)
            now = self._clock.now()
            is_due = last is None or not timedelta(0) <= now - last < _EVERY
            done, changed = await self._look(progress, cancel)
            projects = await self._facts.projects() if is_due else changed
            change = await self._word(sorted(projects), cancel)
            if not cancel.is_set() and (is_due or changed):
                await self._moments.put(REFRESH, now if is_due or last is None else last)
            return RefreshReport(done, len(projects), change, cancel.is_set())

    async def _look(
        self, progress: RefreshSink | None, cancel: threading.Event
    ) -> tuple[int, set[str]]:
        """Store what changed sessions say; return how many they were, and their projects."""
        waiting = await self._facts.waiting()
        changed: set[str] = set()
        done = 0
        for start in range(0, len(waiting), _SESSIONS):
            found = []
            for session in waiting[start : start + _SESSIONS]:
                if cancel.is_set():
                    break
                found.append(await self._look_at(session))
                done += 1
                if progress is not None:
                    progress(done, len(waiting))
            if found:
                changed |= await self._facts.put([each for each in found if each is not None])
        return done, changed

    async def pages(self) -> list[tuple[str, str]]:
        """Return the name and the Markdown of each page of which something is known."""
        return [(page.name, page.markdown()) for page in await self.projects() if page.lines]

    async def page(self, project: str) -> ProjectPage:
        """Return the page of a project, by the name of its page or by its folder.

        Raises ``UnknownProjectError``.
        """
        return find_page(await self.projects(), project)

    async def plan_edit(self, kind: str, named: str, other: str) -> PlannedEdit:
        """Plan what a person says of a project, which ``named`` names as ``find_project`` takes it.

        ``other`` is the project that becomes part of it (``merge``), its folder that becomes one of
        its own (``split``), or what it is to be called (``rename``). Raises
        ``UnknownProjectError`` and ``ProjectEditError``.
        """
        known = (await self._facts.known()).projects
        project = find_project(named, known, "/")
        if kind == "merge":
            from_other = find_project(other, known, "/")
            return await self._facts.run(lambda db: plan_merge(db, project, from_other))
        if kind == "split":
            return await self._facts.run(lambda db: plan_split(db, project, other))
        return await self._facts.run(lambda db: plan_rename(db, project, other, known))

    async def make_edit(self, planned: PlannedEdit, *, actor: NotBlankStr) -> None:
        """Make a planned edit hold, and word the lines of its projects anew."""
        async with self._turn:
            now = self._clock.now()
            touched = await self._facts.run(
                lambda db: make_edit(db, planned.edit, actor, now), writes=True
            )
            await self._word(sorted(touched), threading.Event())

    async def undo_edit(self) -> str:
        """Undo the edit of projects that was made last; return what it was, empty for none."""
        async with self._turn:
            now = self._clock.now()
            undone = await self._facts.run(lambda db: undo_edit(db, now), writes=True)
            if undone is None:
                return ""
            edit, touched = undone
            await self._word(sorted(touched), threading.Event())
            return f"{edit.kind} of {', '.join(map(project_name, edit.folders[:2]))}"

    async def renamed(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of names of projects of which one looks renamed to the other."""
        known = (await self._facts.known()).projects
        names = project_names(known)
        return tuple((names[old], names[new]) for old, new in looks_renamed(known))

    async def known(self) -> KnownProjects:
        """Return which folders are one project, as another process of a person's needs it."""
        return await self._facts.known()

    async def agent_in(self, project: str, known: Sequence[str]) -> str:
        """Return which of the known agents worked in this project last; empty for none."""
        return await self._facts.agent_in(project, known)

    async def waiting(self) -> int:
        """Return how many sessions are new or changed since they were looked at."""
        return len(await self._facts.waiting())

    async def projects(self) -> tuple[ProjectPage, ...]:
        """Return the pages of all projects by name, those without lines, too.

        The first is that of what holds in all projects, where there is anything.
        """
        seen = await self._facts.projects()
        lines: dict[str, list[PageLine]] = {}
        for shown in await self._memories.page_lines():
            project = shown.line.project
            lines.setdefault(repository_of(project), []).append(shown)
        folders = sorted({*seen, *lines} - {PERSON})
        names = {one: safe_text(name) for one, name in project_names(folders).items()}
        pages = [
            ProjectPage(names[one], one, *seen.get(one, (0, None)), tuple(lines.get(one, ())))
            for one in folders
        ]
        pages.sort(key=lambda page: (page.name.lower(), page.project))
        if PERSON in lines:
            pages.insert(0, ProjectPage(PERSON_PAGE, PERSON, 0, None, tuple(lines[PERSON])))
        return tuple(pages)

    async def _look_at(self, session: str) -> tuple[Execution, tuple[Fact, ...]] | None:
        execution = await self._executions.get(session)
        if execution is None:
            return None
        return execution, await asyncio.to_thread(facts_of_session, execution)

    async def _word(self, projects: Sequence[str], cancel: threading.Event) -> KnowledgeChange:
        """Make the lines of these projects anew, and with them those on the person."""
        change = KnowledgeChange()
        for start in range(0, len(projects), _PROJECTS):
            if cancel.is_set():
                return change
            some = projects[start : start + _PROJECTS]
            sightings = await self._facts.sightings(some)
            lines = await asyncio.to_thread(self._lines, some, sightings)
            change += await self._memories.write(some, lines)
        if projects:
            said = await self._facts.said()
            lines = list(lasting_preferences(said, self._clock.now()))
            change += await self._memories.write([PERSON], lines)
        return change

    def _lines(self, projects: Sequence[str], sightings: Sequence[Sighting]) -> list[KnownLine]:
        now = self._clock.now()
        of_project: dict[str, list[Sighting]] = {project: [] for project in projects}
        for sighting in sightings:
            of_project[sighting.project].append(sighting)
        return [
            line
            for project, own in of_project.items()
            for line in most_useful(
                [*lines_of(project, own, now), *lines_of_people(project, own, now)]
            )
        ]


def facts_of_session(execution: Execution) -> tuple[Fact, ...]:
    """Return what a session says of its project; nothing of a run that its agent told of itself.

    A session of which something can't be understood says nothing rather than stopping the rest.
    """
    if execution.is_reported or not execution.project:
        return ()
    try:
        return merged([*work_facts(execution), *place_facts(execution), *custom_facts(execution)])
    except Exception as error:
        raise_fatal(error)
        _log.warning("nothing is counted of session %s", execution.id, exc_info=True)
        return ()


def build_knowledge(
    local: LocalMemoryBackend, executions: ExecutionStore, clock: Clock
) -> KnowledgeService:
    """Build the service on an open store."""
    database = local.core.database
    return KnowledgeService(
        facts=FactStore(database),
        executions=executions,
        memories=KnownMemories(local.core),
        moments=LastRuns(database),
        clock=clock,
    )
