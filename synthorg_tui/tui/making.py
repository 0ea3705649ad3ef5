"""Makes the panes when they are first shown, and connects each to the store.

The app is painted with one pane; the modules of the others are loaded when they are asked for. A
pane that is made before the store is open, or after opening failed, hears of it here.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import App
from textual.screen import Screen

from synthorg_tui.core.errors import DomainError
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import Throttle, run_job, toast
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.state import UiState

if TYPE_CHECKING:
    from synthorg_tui.memory.listing import ListedMemory
    from synthorg_tui.tui.base.pane import Pane
    from synthorg_tui.tui.manage.adapter import StoreManagement
    from synthorg_tui.tui.skills.screen import SkillsScreen


RENEWED_AFTER = 1.0
"""Least seconds between two readings of a pane while others change the store."""


class PaneMaker:
    """The panes of an app: ``make_<mode>`` makes one, and connects it once the store is open."""

    memories: MemoriesScreen
    skills: "SkillsScreen"

    def __init__(
        self,
        app: App[None],
        state: UiState,
        panes: Panes,
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        *,
        management: "Callable[[], StoreManagement]",
    ) -> None:
        self._app = app
        self._management = management
        self._state = state
        self._panes = panes
        self._now = now
        self._monotonic = monotonic
        self.desk: EngineAdapter | None = None
        """The open store; ``None`` before it is open."""
        self._is_prepared = False
        self._error: DomainError | None = None
        self._later: list[Pane] = []
        self._renewing = Throttle(app, self._renew, RENEWED_AFTER)

    def make_memories(self) -> Screen[None]:
        self.memories = MemoriesScreen(state=self._state, now=self._now, panes=self._panes)
        return self.memories

    def make_digest(self) -> Screen[None]:
        from synthorg_tui.tui.digest.screen import DigestScreen

        return self._add(
            DigestScreen(panes=self._panes, now=self._now, show_memory=self.show_memory)
        )

    def make_skills(self) -> Screen[None]:
        from synthorg_tui.tui.skills.screen import SkillsScreen

        self.skills = SkillsScreen(panes=self._panes, now=self._now, monotonic=self._monotonic)
        return self._add(self.skills)

    def make_approvals(self) -> Screen[None]:
        from synthorg_tui.tui.approvals.screen import ApprovalsScreen

        return self._add(
            ApprovalsScreen(panes=self._panes, now=self._now, monotonic=self._monotonic)
        )

    def make_activity(self) -> Screen[None]:
        from synthorg_tui.tui.activity.screen import ActivityScreen

        return self._add(
            ActivityScreen(
                panes=self._panes,
                now=self._now,
                show_memory=self.show_memory,
                show_skill=self.show_skill,
            )
        )

    def make_sessions(self) -> Screen[None]:
        from synthorg_tui.tui.sessions.screen import SessionsScreen

        return self._add(
            SessionsScreen(
                panes=self._panes,
                now=self._now,
                show_memories=self.show_memories_of,
                show_import=self.memories.action_importing,
            )
        )

    def make_organisation(self) -> Screen[None]:
        from synthorg_tui.tui.organisation.screen import OrganisationScreen

        return self._add(OrganisationScreen(panes=self._panes, now=self._now))

    def show_memory(self, row: "ListedMemory") -> None:
        """Go to the Memories pane and put the cursor on this memory."""
        self._app.switch_mode("memories")
        self.memories.show_memory(row)

    def show_memories_of(self, session_id: str) -> None:
        """Go to the Memories pane and list those of a session."""
        self._app.switch_mode("memories")
        self.memories.show_session(session_id)

    def show_agent(self, agent_id: str) -> None:
        """Go to the Memories pane and list those of an agent."""
        self._app.switch_mode("memories")
        self.memories.show_agent(agent_id)

    def show_skill(self, name: str) -> None:
        """Go to the Skills pane and put the cursor on the skill of this name."""
        self._app.switch_mode("skills")
        self.skills.show_skill(name)

    def show_item(self, item_id: str) -> None:
        """Show what waits for a decision as in Approvals, to decide it; esc leads back."""
        from synthorg_tui.tui.approvals.review import ReviewOpener, ReviewScreen

        if self.desk is not None:
            opener = ReviewOpener(self._panes, self._now, self._monotonic)
            self._app.push_screen(ReviewScreen(self.desk, [item_id], opener))

    def watch_runs(self) -> None:
        """Show in every header what runs now, from now on."""
        desk, soon = self._management().runs, Throttle(self._app, self._count_runs, 0.5)
        with suppress(DomainError):  # beside another app there is no engine to listen to
            desk.watch(lambda _run_id: soon.ask())
            self._count_runs()

    def _count_runs(self) -> None:
        async def count() -> None:
            from synthorg_tui.tui.runs.state import work_text

            self._panes.show_runs(work_text(await self._management().runs.working()))

        run_job(self._app, count, group="runs", failed=lambda _error: None)

    def show_session(self, ref: str) -> None:
        """Show a session at the place that ``ref`` names, a memory's source; esc leads back."""
        from synthorg_tui.tui.sessions.transcript import open_transcript

        if self.desk is not None:
            open_transcript(self._app.screen, self.desk.sessions, ref, self._now)

    def show_project(self, project: str | None) -> None:
        """Show what is known of the project in this folder; esc leads back."""
        from synthorg_tui.tui.manage.opening import open_project

        if project:
            open_project(self._app, project, self._management(), self._now)
        else:
            toast(self._app, "It is of no project", severity="warning")

    def attach(self, desk: EngineAdapter) -> None:
        """Hand the open store to the Memories pane; ``attach_others`` follows."""
        was_open = self.desk is not None
        self.desk, self._error = desk, None
        self.memories.attach(desk)
        if was_open:  # another store, or by another way: what is listed was read from the former
            self.memories.reload()

    def attach_others(self) -> None:
        """Hand it to the other panes that are there, and from now on to those to come."""
        self._is_prepared = True
        for pane in self._later:
            self._connect(pane)

    def fail(self, error: DomainError) -> None:
        """Show in every pane why the store isn't open."""
        self._error = error
        self.memories.tell_error(error)
        for pane in self._later:
            pane.tell_error(error)

    def reload(self, shown: Screen[object]) -> None:
        """Read the pane on the screen again, unless it is the Memories pane."""
        for pane in self._later:
            if pane is shown:
                pane.reload()

    def keep_up(self, shown: Screen[object], *, everywhere: bool) -> None:
        """Read again what changed: the memories, and where others changed it what is shown."""
        self.memories.keep_up()
        if everywhere and shown is not self.memories:
            self._renewing.ask()

    def _renew(self) -> None:
        for shown in self._app.screen_stack[-1:]:  # none while the app is closing
            if renew := getattr(shown, "renew", None):
                renew()

    def _add(self, pane: "Pane") -> Screen[None]:
        """Attach a new pane once it is mounted; if the store opens or fails later, then."""
        self._later.append(pane)
        self._app.call_later(self._connect, pane)
        return pane

    def _connect(self, pane: "Pane") -> None:
        if self.desk is not None and self._is_prepared:
            pane.attach(self.desk)
        elif self._error is not None:
            pane.tell_error(self._error)
