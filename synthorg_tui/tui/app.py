"""The terminal application with its panes and actions; it is painted before the engine opens."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, SystemCommand
from textual.screen import Screen

from synthorg_tui.core.actors import agent_in
from synthorg_tui.core.disk_space import low_space
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.process_setup import started, starting
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.tui.actions import bindings, of
from synthorg_tui.tui.attention import Attention
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.jobs import error_toast, opening_error, run_job, toast
from synthorg_tui.tui.memories.screen import MemoriesScreen
from synthorg_tui.tui.panes import PANES, Panes
from synthorg_tui.tui.ports import EngineHost, MemoryPort
from synthorg_tui.tui.safety import SafetyReport
from synthorg_tui.tui.state import FILE_NAME, is_gone, load_state, save_state
from synthorg_tui.tui.themes import DARK, THEMES

if TYPE_CHECKING:
    from textual.timer import Timer

    from synthorg_tui.tui.activity.models import ActivityEvent
    from synthorg_tui.tui.base.pane import Pane

TERMINAL_CHECK_EVERY = 2.0
"""Seconds between two checks whether the app still has a terminal."""
SPACE_CHECK_EVERY = 5.0
"""Seconds between two checks whether the disk is nearly full."""
COUNT_AFTER = 0.3
"""Seconds until pending approvals are counted, so that the screen is updated first."""


def _local_now() -> datetime:
    return datetime.now().astimezone()


class MemoryDeskApp(App[None]):
    """The application; ``data_dir`` holds its interface state, ``None`` stores none."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "synthorg"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS = bindings("app")

    def __init__(
        self,
        host: EngineHost,
        *,
        data_dir: Path | None = None,
        now: Callable[[], datetime] = _local_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._host = host
        self._now = now
        self._data_dir = data_dir
        self._state_path = data_dir / FILE_NAME if data_dir is not None else None
        self.state = load_state(self._state_path)
        self._desk: MemoryPort | None = None
        self._later: list[Pane] = []
        agent = agent_in(os.environ)
        titles = tuple((key, title) for _, title, key in PANES)
        self._panes = Panes(titles, run_by=agent.name if agent is not None else "")
        self._monotonic = monotonic
        self._waited_for_by = os.getppid()
        self._counting: Timer | None = None
        self._safety = SafetyReport(self, self._panes)
        self._attention = Attention(self, self._panes)
        self._open_error: DomainError | None = None
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self.state.theme if self.state.theme in self.available_themes else DARK
        self.set_keymap(self.state.keymap)
        for name, _, _ in PANES:
            self.add_mode(name, getattr(self, f"_make_{name}"))

    def _make_memories(self) -> Screen[None]:
        self._memories = MemoriesScreen(state=self.state, now=self._now, panes=self._panes)
        return self._memories

    def _make_digest(self) -> Screen[None]:
        from synthorg_tui.tui.digest.screen import DigestScreen

        return self._add_pane(
            DigestScreen(panes=self._panes, now=self._now, show_memory=self._show_memory)
        )

    def _make_skills(self) -> Screen[None]:
        from synthorg_tui.tui.skills.screen import SkillsScreen

        self._skills = SkillsScreen(panes=self._panes, now=self._now, monotonic=self._monotonic)
        return self._add_pane(self._skills)

    def _make_approvals(self) -> Screen[None]:
        from synthorg_tui.tui.approvals.screen import ApprovalsScreen

        pane = ApprovalsScreen(panes=self._panes, now=self._now, monotonic=self._monotonic)
        return self._add_pane(pane)

    def _make_activity(self) -> Screen[None]:
        from synthorg_tui.tui.activity.screen import ActivityScreen

        pane = ActivityScreen(
            panes=self._panes,
            now=self._now,
            show_memory=self._show_memory,
            show_skill=self._show_skill,
        )
        return self._add_pane(pane)

    def _add_pane(self, pane: "Pane") -> Screen[None]:
        """Attach a new pane once it is mounted; if the store opens or fails later, then."""
        self._later.append(pane)
        self.call_later(self._connect_pane, pane)
        return pane

    def _connect_pane(self, pane: "Pane") -> None:
        if self._desk is not None:
            pane.attach(self._desk)
        elif self._open_error is not None:
            pane.tell_error(self._open_error)

    def on_recount(self) -> None:
        """Count the pending approvals soon; further messages don't extend the delay."""
        if self._counting is None:
            self._counting = self.set_timer(COUNT_AFTER, self._count_soon)

    def _count_soon(self) -> None:
        self._counting = None
        run_job(self, self._count, group="count")

    async def _count(self) -> None:
        if self._desk is not None:
            await self._attention.count(self._desk.approvals)
            self._desk.skills.watch(self._skills_changed)
            self._desk.approvals.listen(self.on_recount)

    def _heard(self, heard: "ActivityEvent") -> None:
        """An agent came, left, called or wrote, or a command changed the store."""
        self._attention.hear(heard)
        if heard.topic == "changed":
            self._memories.keep_up()

    def _skills_changed(self, items: int) -> None:
        """Something changed in a folder of skills; what that made is counted and shown."""
        if items:
            toast(self, f"{counted(items, 'change')} of skills on disk: 4 reviews it")
        for pane in self._later:
            if pane is self.screen:
                pane.reload()
        self.on_recount()

    def _show_memory(self, row: ListedMemory) -> None:
        self.switch_mode("memories")
        self._memories.show_memory(row)

    def _show_skill(self, name: str) -> None:
        self.switch_mode("skills")
        self._skills.show_skill(name)

    def on_mount(self) -> None:
        self._host.listen(
            failed=partial(error_toast, self),
            waits=lambda error: self._memories.tell_waiting(error),
            indexes=self._indexing,
        )
        self.switch_mode(PANES[0][0])
        self.call_after_refresh(self.action_reopen)
        self.set_interval(SPACE_CHECK_EVERY, self._look_for_space)
        if not self.is_headless:
            self.set_interval(TERMINAL_CHECK_EVERY, self._leave_when_alone)

    def _leave_when_alone(self) -> None:
        if is_gone() or os.getppid() != self._waited_for_by:  # nobody would give the terminal back
            self.exit()

    def _look_for_space(self) -> None:
        if self._data_dir is not None:
            self._panes.badge("disk", low_space(self._data_dir))

    def action_reopen(self) -> None:
        """Open the store, also after an earlier attempt failed."""
        run_job(self, self._open, group="open")

    async def _open(self) -> None:
        """Show the rows first: what acts on them takes as long again to load."""
        try:
            shelf = await self._host.look()
            if shelf is not None:
                await self._memories.browse(shelf)
                await self._drawn()
            desk = await self._host.open()
        except Exception as error:  # whatever the engine meets, the app stays and says so
            self._fail(opening_error(error))
        else:
            self._desk = desk
            self._memories.attach(desk)
            desk.activity.listen(self._heard)
            self._look_for_space()
            for pane in self._later:
                self._connect_pane(pane)
            self.on_recount()
            self._safety.begin(desk.safety)
        finally:
            started()

    def action_trail(self) -> None:
        """List what was decided, adopted or refused, also while the app was closed."""
        self._safety.list_trail(self._now())

    async def _drawn(self) -> None:
        """Wait until what has changed is on the screen."""
        drawn = asyncio.Event()
        self.call_after_refresh(drawn.set)
        await drawn.wait()

    def _indexing(self, share: float | None) -> None:
        self._panes.work = "" if share is None else f"indexing {share:.0%}"
        if share is None and self._memories.listing.degraded:  # what was found then isn't all
            self._memories.reload(facets=False)

    def _fail(self, error: DomainError) -> None:
        self._open_error = error
        self._memories.tell_error(error)
        for pane in self._later:
            self._connect_pane(pane)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stop the focused input's cursor from blinking: an idle screen isn't redrawn."""
        if hasattr(event.widget, "cursor_blink"):
            event.widget.cursor_blink = False

    async def on_event(self, event: events.Event) -> None:
        """Replace unsafe characters in pasted text before any widget receives it."""
        if isinstance(event, events.Paste):
            event.text = safe_text(event.text, multiline=True)
        await super().on_event(event)

    async def action_quit(self) -> None:
        """Save the interface state and exit; what the person was told of isn't told again."""
        await self._safety.tell()
        self.exit()

    async def on_unmount(self) -> None:
        self.state.theme = self.theme
        save_state(self._state_path, self.state)
        await self._host.close()

    def action_help(self) -> None:
        """Show a dialog with all keys that work on the current screen."""
        from synthorg_tui.tui.base.dialogs import HelpScreen

        contexts = getattr(self.screen, "HELP_CONTEXTS", ("app",))
        self.push_screen(HelpScreen(contexts))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Yield a palette entry for each action of the current screen and of the app."""
        for context in getattr(screen, "HELP_CONTEXTS", ("app",)):
            for action in of(context):
                if action.palette:
                    owner: App[None] | Screen[Any] = self if context == "app" else screen
                    yield SystemCommand(
                        f"{action.label} ({action.key(self.state.keymap)})",
                        action.help,
                        partial(owner.call_later, owner.run_action, action.method),
                    )


def run(
    *,
    data_dir: Path | None = None,
    config_path: Path | None = None,
    app_type: type[MemoryDeskApp] = MemoryDeskApp,
) -> None:
    """Run the app until the person quits; the settings are those the commands use."""
    import logging

    from synthorg_tui.core.paths import user_data_dir
    from synthorg_tui.tui.engine_adapter import LocalEngineHost

    # The screen belongs to the app: a message that nobody handles would be printed across it.
    logging.getLogger("synthorg_tui").addHandler(logging.NullHandler())
    starting()
    host = LocalEngineHost(data_dir=data_dir, config_path=config_path)
    app_type(host, data_dir=data_dir or user_data_dir()).run()
