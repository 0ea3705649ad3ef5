"""The terminal application with its panes and actions; it is painted before the engine opens."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import SystemCommand
from textual.screen import Screen

from synthorg_tui.core.actors import agent_in
from synthorg_tui.core.disk_space import low_space
from synthorg_tui.core.process_setup import started, starting
from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.actions import bindings, is_writing
from synthorg_tui.tui.attention import Attention
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.jobs import error_toast, opening_error, run_job, toast
from synthorg_tui.tui.making import PaneMaker
from synthorg_tui.tui.palette import (
    ActionCommands,
    StoredThings,
    open_palette,
    system_commands,
)
from synthorg_tui.tui.panes import PANES, Panes
from synthorg_tui.tui.remembering import RememberingApp
from synthorg_tui.tui.state import FILE_NAME
from synthorg_tui.tui.terminal import TerminalDriver, has_shell, is_gone, is_interrupt

if TYPE_CHECKING:
    from textual.timer import Timer

    from synthorg_tui.tui.activity.models import ActivityEvent
    from synthorg_tui.tui.engine_host import LocalEngineHost
    from synthorg_tui.tui.safety import SafetyReport

TERMINAL_CHECK_EVERY = 2.0
"""Seconds between two checks whether the app still has a terminal."""
SPACE_CHECK_EVERY = 5.0
"""Seconds between two checks whether the disk is nearly full."""
COUNT_AFTER = 0.3
"""Seconds until pending approvals are counted, so that the screen is updated first."""


def _local_now() -> datetime:
    return datetime.now().astimezone()


class MemoryDeskApp(RememberingApp):
    """The application; ``data_dir`` holds its interface state, ``None`` stores none.

    ``themes`` is the folder of the person's own themes.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "synthorg"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS = bindings("app")
    COMMANDS = {ActionCommands, StoredThings}  # noqa: RUF012

    def __init__(
        self,
        host: "LocalEngineHost",
        *,
        data_dir: Path | None = None,
        now: Callable[[], datetime] = _local_now,
        monotonic: Callable[[], float] = time.monotonic,
        let_go: Callable[[], None] = lambda: None,
        themes: Path | None = None,
    ) -> None:
        path = data_dir / FILE_NAME if data_dir is not None else None
        super().__init__(path, themes, driver_class=TerminalDriver)
        self._host = host
        self._now = now
        self._data_dir = data_dir
        agent = agent_in(os.environ)
        self._panes = Panes(tuple((k, t) for _, t, k in PANES), run_by=agent.name if agent else "")
        self._clock = monotonic
        self._let_go = let_go
        self._waited_for_by = os.getppid()
        self._counting: Timer | None = None
        self._attention = Attention(self, self._panes)
        self.maker = PaneMaker(
            self, self.state, self._panes, now, monotonic, management=lambda: host.management
        )
        for name, _, _ in PANES:
            self.add_mode(name, getattr(self.maker, f"make_{name}"))

    @cached_property
    def _safety(self) -> "SafetyReport":
        from synthorg_tui.tui.safety import SafetyReport

        return SafetyReport(self, self._panes)

    def on_recount(self) -> None:
        """Count the pending approvals soon; further messages don't extend the delay."""
        if self._counting is None:
            self._counting = self.set_timer(COUNT_AFTER, self._count_soon)

    def _count_soon(self) -> None:
        self._counting = None
        run_job(self, self._count, group="count")

    async def _count(self) -> None:
        if (desk := self.maker.desk) is not None:
            await self._attention.count(desk.approvals)
            await self._safety.show_badges()
            desk.skills.watch(self._skills_changed)
            desk.approvals.listen(self.on_recount)

    def _heard(self, heard: "ActivityEvent") -> None:
        """An agent came, left, called or wrote, or a command changed the store."""
        self._attention.hear(heard)
        if heard.topic in ("changed", "elsewhere"):
            self.maker.keep_up(self.screen, everywhere=heard.topic == "elsewhere")

    def _skills_changed(self, items: int) -> None:
        """Something changed in a folder of skills; what that made is counted and shown."""
        if items:
            toast(self, f"{counted(items, 'change')} of skills on disk: 4 reviews it")
        self.maker.reload(self.screen)
        self.on_recount()

    def on_mount(self) -> None:
        self._host.listen(
            failed=partial(error_toast, self),
            waits=lambda error: self.maker.memories.tell_waiting(error),
            indexes=self._indexing,
            works=self._panes.show_job,
        )
        self.follow_preferences()
        self.call_after_refresh(self.action_reopen)
        self.set_interval(SPACE_CHECK_EVERY, self._look_for_space)
        if not self.is_headless:
            self.set_interval(TERMINAL_CHECK_EVERY, self._leave_when_alone)

    def _leave_when_alone(self) -> None:
        if is_gone() or os.getppid() != self._waited_for_by:  # nobody would give the terminal back
            self.exit(return_code=128 + signal.SIGHUP)

    def _look_for_space(self) -> None:
        if self._data_dir is not None:
            self._panes.badge("disk", low_space(self._data_dir))
        if self._host.read_only:  # the owner tells only agents what changes
            self.maker.memories.keep_up()

    def action_reopen(self) -> None:
        """Open the store, also after an earlier attempt failed."""
        run_job(self, self._open, group="open")

    async def _open(self) -> None:
        """Show the rows first: what acts on them takes as long again to load."""
        try:
            shelf = await self._host.look()
            if shelf is not None:
                await self.maker.memories.browse(shelf)
                drawn = asyncio.Event()
                self.call_after_refresh(drawn.set)
                await drawn.wait()
            desk = await self._host.open()
        except Exception as error:  # whatever the engine meets, the app stays and says so
            self.maker.fail(opening_error(error))
        else:
            self.maker.attach(desk)
            self.restore_pane()
            await self._host.prepare()
            self.maker.attach_others()
            desk.activity.listen(self._heard)
            self._look_for_space()
            self.on_recount()
            self._safety.begin(desk.safety)
            self._panes.badge("read_only", self._host.read_only)
            if self._host.read_only:
                run_job(self, self._take_over, group="beside")
            else:
                self.maker.watch_runs()
        finally:
            started()

    async def _take_over(self) -> None:
        """Open the store here once the app that has it leaves."""
        await self._host.owner_left()
        toast(self, "The other terminal has left; this one opens the store")
        await self._host.close()
        self.action_reopen()

    def action_manage(self, what: str) -> None:
        """Open a screen about the whole: doctor, backups, jobs, projects and others."""
        from synthorg_tui.tui.manage.opening import open_screen

        open_screen(self, what, self._host.management, self._now)

    def action_import_path(self) -> None:
        """Ask for a path and import the transcripts there."""
        from synthorg_tui.tui.manage.opening import ask_for_path

        ask_for_path(self, self.maker.memories)

    def action_scenarios(self) -> None:
        """Go to the Digest pane and open its scenarios."""
        self.switch_mode("digest")
        self.call_after_refresh(self.run_action, "screen.scenarios")

    def action_trail(self) -> None:
        """List what was decided, adopted or refused, also while the app was closed."""
        self._safety.list_trail(self._now())

    def _indexing(self, share: float | None) -> None:
        self._panes.work = "" if share is None else f"indexing {share:.0%}"
        if share is None and self.maker.memories.listing.degraded:  # what was found then isn't all
            self.maker.memories.reload(facets=False)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Stop the focused input's cursor from blinking: an idle screen isn't redrawn."""
        if hasattr(event.widget, "cursor_blink"):
            event.widget.cursor_blink = False

    async def on_event(self, event: events.Event) -> None:
        """Replace unsafe characters in pasted text; let Ctrl-C through from under a dialog."""
        if isinstance(event, events.Paste):
            event.text = safe_text(event.text, multiline=True)
        elif is_interrupt(event) and self.screen.is_modal and not is_writing(self.focused):
            self.action_help_quit()
        await super().on_event(event)

    async def action_quit(self) -> None:
        """Save the interface state and exit; what the person was told of isn't told again."""
        await self._safety.tell()
        self.exit()

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell until it continues the app."""
        if has_shell():
            super().action_suspend_process()
        else:
            toast(self, "There is no shell to go back to here; q quits", severity="warning")

    def on_given_back(self) -> None:
        """Let nobody wait for the store to close, once the terminal is as it was before."""
        if self.return_code == 0:
            self._host.withdraw()
            self._let_go()

    async def on_unmount(self) -> None:
        self.save_state()
        await self._host.close()

    def action_help(self) -> None:
        """Show a dialog with all keys that work on the current screen."""
        from synthorg_tui.tui.base.dialogs import HelpScreen

        contexts = getattr(self.screen, "HELP_CONTEXTS", ("app",))
        self.push_screen(HelpScreen(contexts))

    def action_command_palette(self) -> None:
        """Open the palette."""
        open_palette(self)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Return a palette entry for each action of the current screen and of the app."""
        return system_commands(self, screen)


def run(
    *,
    data_dir: Path | None = None,
    config_path: Path | None = None,
    let_go: Callable[[], None] = lambda: None,
    app_type: type[MemoryDeskApp] = MemoryDeskApp,
) -> int:
    """Run the app until the person quits, and return its exit code.

    The settings are those the commands use. ``let_go`` is called when the terminal is given back
    and only the store is still to be closed.
    """
    import logging

    from synthorg_tui.core.paths import user_data_dir
    from synthorg_tui.settings.environment import themes_folder
    from synthorg_tui.tui.engine_host import SharingHost

    # The screen belongs to the app: a message that nobody handles would be printed across it.
    logging.getLogger("synthorg_tui").addHandler(logging.NullHandler())
    starting()
    host = SharingHost(data_dir=data_dir, config_path=config_path)
    themes = themes_folder(config_path)
    app = app_type(host, data_dir=data_dir or user_data_dir(), let_go=let_go, themes=themes)
    app.run()
    return app.return_code or 0
