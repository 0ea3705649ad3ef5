"""What the app says once the store is open: loosened settings, approval off, what happened since.

The question about loosened settings opens by itself, so it answers to no key that was typed before
anybody could have read it. In a coding agent's environment nothing is asked, and nothing counts as
told.
"""

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Button

from synthorg_tui.core.actors import actor_words, agent_in, deed_of
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.tui.approvals.adapter import person
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.formatting import ago
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.panes import Panes
from synthorg_tui.tui.widgets.line_view import LineView

if TYPE_CHECKING:
    from synthorg_tui.approvals.trail import TrailEntry
    from synthorg_tui.engine import Engine
    from synthorg_tui.settings.safety import Loosened

READ_FIRST: Final = 1.0
"""Seconds for which the question takes no answer after it has opened."""
NOTICE_SECONDS: Final = 15.0
_MAX_LISTED: Final = 500
_MARKS: Final = {"approved": "✓", "rejected": "✗", "reopened": "↶", "refused": "!"}


@dataclass(frozen=True, slots=True)
class News:
    """What happened without the person: how much, in words, and the last entry of the trail."""

    count: int = 0
    text: str = ""
    last: int = 0


class EngineSafety:
    """Safety settings and trail of an open engine. Failures are ``DomainError``."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def badges(self) -> tuple[str, ...]:
        """Return what the header shows of settings that are looser than shipped."""
        from synthorg_tui.settings.loader import shipped_settings
        from synthorg_tui.settings.safety import badges, values_of

        return badges(values_of(self._engine.settings), values_of(shipped_settings()))

    def switched_off(self) -> str:
        """Return what the header shows of what is switched off."""
        from synthorg_tui.settings.switches import switch_badge

        return switch_badge(self._engine.settings)

    async def loosened(self) -> "tuple[Loosened, ...]":
        """Return what the person is to be asked about; nothing where an agent runs the app."""
        return () if agent_in(os.environ) else await self._engine.safety.loosened()

    async def take(self, accepted: "tuple[Loosened, ...]") -> None:
        """Agree to these values in the person's name."""
        await self._engine.safety.take(accepted, person())

    def where(self) -> str:
        """Return the path of the person's settings file."""
        from synthorg_tui.settings.environment import default_config_file

        return str(default_config_file())

    async def news(self) -> News:
        """Return what was decided, adopted or refused since the person was last told."""
        from synthorg_tui.approvals.trail import summary

        found = await self._engine.trail.news()
        return News(len(found), summary(found), found[0].number) if found else News()

    async def told(self, last: int) -> None:
        """Remember that the person was told of all entries up to ``last``."""
        if last and agent_in(os.environ) is None:
            await self._engine.trail.mark_told(last)

    async def trail(self) -> "tuple[TrailEntry, ...]":
        """Return decisions and refusals, newest first."""
        return await self._engine.trail.entries(limit=_MAX_LISTED)


class LoosenedDialog(ConfirmDialog):
    """The question whether loosened settings are taken; ``READ_FIRST`` seconds old, it answers."""

    def __init__(self, asked: "Sequence[Loosened]", where: str) -> None:
        changes = [
            line(
                (one_line(found.path), "strong"),
                (f"  {json.dumps(found.holds)} → {json.dumps(found.wanted)}", "warn"),
            )
            for found in asked
        ]
        super().__init__(
            f"{counted(len(asked), 'safety setting')} made looser: take it?",
            changes,
            yes="Take",
            note=f"{where} says so now. If it wasn't you, somebody else wrote there: say no, "
            "and look into it. Until you say yes the stricter holds.",
        )
        self._is_readable = False

    def on_mount(self) -> None:
        self.set_timer(READ_FIRST, self._readable)

    def _readable(self) -> None:
        self._is_readable = True

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if not self._is_readable:
            event.prevent_default()  # the base class is called as well

    def action_yes(self) -> None:
        """Take the looser values."""
        if self._is_readable:
            super().action_yes()

    def action_no(self) -> None:
        """Leave the stricter ones in force."""
        if self._is_readable:
            super().action_no()


class TrailScreen(ModalScreen[None]):
    """A dialog that lists what was decided, adopted or refused, newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,T", "dismiss", "Close")]

    def __init__(self, entries: "Sequence[TrailEntry]", now: datetime) -> None:
        super().__init__()
        self._entries = entries
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="help") as box:
            box.border_title = "Decisions"
            box.border_subtitle = "esc closes"
            yield LineView(self._lines(), id="help-text")

    def _lines(self) -> list[Line]:
        if not self._entries:
            return [line(("Nothing was decided or refused yet.", "muted"))]
        lines = []
        for entry in self._entries:
            mark = "bad" if entry.kind == "refused" else "accent"
            row = line(
                (f"{_MARKS.get(entry.kind, '·')} ", mark),
                (f"{deed_of(entry.kind, entry.actor):<9}", "strong"),
            )
            row.add(f" {one_line(entry.title or entry.item_id)}", "text")
            row.add(f"  by {one_line(actor_words(entry.actor))}", "muted")
            row.add(f"  {ago(entry.at, self._now)}", "faint")
            if entry.reason:
                row.add(f"  {one_line(entry.reason)}", "muted")
            row.hang = 12
            lines.append(row)
        return lines


class SafetyReport:
    """Says in the app what ``EngineSafety`` knows, once the store is open."""

    def __init__(self, app: App[None], panes: Panes) -> None:
        self._app = app
        self._panes = panes
        self._safety: EngineSafety | None = None
        self._news = News()

    def begin(self, safety: EngineSafety) -> None:
        """Show the badges and the news, and ask about what was loosened."""
        self._safety = safety
        self._run(partial(self._say, safety))

    def list_trail(self, now: datetime) -> None:
        """Show the trail; by that the person was told of the news."""
        if self._safety is not None:
            self._run(partial(self._list, self._safety, now))

    async def tell(self) -> None:
        """Remember that the person was told of the news; if that fails, it is told again."""
        news, self._news = self._news, News()
        if self._safety is not None and news.count:
            with suppress(DomainError):
                await self._safety.told(news.last)

    async def show_badges(self) -> None:
        """Show what is looser than shipped, and what is switched off."""
        if (safety := self._safety) is not None:
            self._panes.badge("safety", " · ".join(await safety.badges()))
            self._panes.badge("switches", safety.switched_off())

    async def _say(self, safety: EngineSafety) -> None:
        await self.show_badges()
        self._news = await safety.news()
        if self._news.count:
            self._panes.badge("news", f"{self._news.count:,} decided while you were away: T lists")
            told = safe_text(f"While you were away: {self._news.text}. T lists them.")
            self._app.notify(told, timeout=NOTICE_SECONDS, markup=False)
        asked = await safety.loosened()
        if asked:
            take = partial(self._take, safety, asked)
            dialog = LoosenedDialog(asked, safety.where())
            self._app.push_screen(dialog, lambda yes: self._run(take) if yes else None)

    async def _take(self, safety: EngineSafety, accepted: "tuple[Loosened, ...]") -> None:
        await safety.take(accepted)
        toast(self._app, "Taken; it holds from the next start of the app on.")

    async def _list(self, safety: EngineSafety, now: datetime) -> None:
        self._app.push_screen(TrailScreen(await safety.trail(), now))
        self._panes.badge("news", "")
        await self.tell()

    def _run(self, job: Callable[[], Awaitable[None]]) -> None:
        run_job(self._app, job, group="safety", newest_only=False)
