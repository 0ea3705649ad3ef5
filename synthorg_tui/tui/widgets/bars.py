"""The header and the footer of every screen."""

from textual import events
from textual.timer import Timer
from textual.widgets import Input

from synthorg_tui.tui.actions import ENTRY, FOOTER_KEYS, Action, footer
from synthorg_tui.tui.base.lines import Line, beside, line
from synthorg_tui.tui.jobs import Throttle
from synthorg_tui.tui.panes import ACTIVITY, APPROVALS, PANES, Panes
from synthorg_tui.tui.state import keymap_of
from synthorg_tui.tui.widgets.line_view import LineBar

_NARROW = 80
COUNTED_AGAIN_AFTER = 0.25
"""Minimum seconds between two updates of a header's counts, as agents may write often."""
KEYS_AGAIN_AFTER = 0.01
"""Seconds until a footer is updated, as the keys change several times when the focus moves."""
SHORT_TITLE = 4
"""Letters of a pane's title where there is no room for the whole."""


NEWS_FADE_AFTER = 30.0
"""Seconds for which it is shown what came in by itself; the terminal must have the focus then."""


class KeyBar(LineBar):
    """The footer: the keys that have an effect now; a click runs the action of the key.

    If there isn't room for all, those before the help are dropped. Where a pane has an ``offers``,
    it says which keys would do nothing at the moment; they still work, and say why. What its
    ``dims`` names stays in place, dimmed.
    """

    def __init__(self, *contexts: str, id: str = "keys") -> None:
        super().__init__(id=id)
        self._offered = footer(*contexts)
        self._awake = True
        self._soon = Throttle(self, self.renew, KEYS_AGAIN_AFTER)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions to show."""
        if isinstance(self.screen.focused, Input):
            return ENTRY
        can, offers = self.screen.check_action, getattr(self.screen, "offers", lambda _method: True)
        offered = [
            action
            for action in self._offered
            if (can(action.method, ()) is not False or not self._awake) and offers(action.method)
        ]
        most = FOOTER_KEYS if self.size.width <= _NARROW else len(offered)
        while len(offered) > most or sum(map(self._width, offered)) > self.size.width > 0:
            if len(offered) == 1:
                break
            del offered[-2]
        return tuple(offered)

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _screen: self._soon.ask())

    def on_resize(self) -> None:
        self.renew()

    def wake(self, awake: bool) -> None:
        """Show whether all keys have an effect yet; those that don't stay in place, dimmed."""
        self._awake = awake
        self.renew()

    def renew(self) -> None:
        """Show the keys that have an effect now."""
        if not self.display:  # it is being removed, and so is what it would ask
            return
        keys, can = Line(), self.screen.check_action
        dims = getattr(self.screen, "dims", lambda _method: False)
        for action in self.actions:
            works = self._awake or can(action.method, ()) is not False
            works = works and not dims(action.method)
            keys.add(f" {self._key(action)} ", "accent" if works else "faint")
            keys.add(action.label + " ", "muted" if works else "faint")
        self.show(keys)

    def _key(self, action: Action) -> str:
        return action.key(keymap_of(self.app))

    def _width(self, action: Action) -> int:
        return len(self._key(action)) + len(action.label) + 3

    async def on_click(self, event: events.Click) -> None:
        """Run the action under the pointer."""
        right = 0
        for action in self.actions:
            right += self._width(action)
            if event.x < right:
                await self.screen.run_action(action.method)
                return


class TopBar(LineBar):
    """The header: the product, the panes with number keys and counts, and a status at the right.

    A click on a pane goes there, one on a running job to the jobs. A second line has the badges, if
    there are any.
    """

    def __init__(self, panes: Panes, current: str, *, id: str = "top") -> None:
        super().__init__(id=id)
        self._panes = panes
        self._current = current
        self._status = Line()
        self._tabs: list[tuple[tuple[int, int], str]] = []
        self._job_at = (0, 0)
        """The columns of the job that runs."""
        self._soon = Throttle(self, self._draw, COUNTED_AGAIN_AFTER)
        self._fading: Timer | None = None

    def on_mount(self) -> None:
        self._panes.listen(self._soon.ask)

    def on_unmount(self) -> None:
        self._panes.leave(self._soon.ask)

    def on_resize(self) -> None:
        self._draw()

    def tell(self, status: Line) -> None:
        """Show a status at the right."""
        self._status = status
        self._draw()

    def _draw(self) -> None:
        width, status = self.size.width, self._status
        if work := " · ".join(filter(None, (self._panes.importing, self._panes.work))):
            status = line((" · ".join(filter(None, (work, status.plain))), "muted"))
        if news := self._panes.news:
            status = line((news, "good"), (f" · {status.plain}" if status.plain else "", "muted"))
            self._fade(news)
        left = self._left("synthorg")
        if width and left.width + status.width + 1 >= width:
            left = self._shorter_left(len(status.plain.split(" · ")[0]), width)
            status = _first_parts(status, width - left.width - 2)
        right = Line([*status.spans, (" ", "text")])
        lines = [beside(left, right, width) if width else left]
        at = lines[0].plain.rfind(self._panes.job) if self._panes.job else -1
        self._job_at = (at, at + len(self._panes.job)) if at >= 0 else (0, 0)
        if self._panes.badges:
            badges = line((f" {' · '.join(self._panes.badges)}", "warn"))
            lines.append(badges.fit(width) if width else badges)
        self.screen.set_class(bool(self._panes.badges), "badged")
        self.show(*lines)

    async def on_click(self, event: events.Click) -> None:
        """Go to the pane whose tab is under the pointer, or to the jobs from the one that runs."""
        if event.y:
            return
        if self._job_at[0] <= event.x < self._job_at[1]:
            await self.app.run_action("manage('jobs')")
            return
        for (left, right), mode in self._tabs:
            if left <= event.x < right:
                await self.app.run_action(f"switch_mode('{mode}')")

    def _fade(self, news: str) -> None:
        """Let the news go once they have been in view of the person for a while."""
        if self._fading is not None and self._fading.name == news:
            return
        if self._fading is not None:
            self._fading.stop()
        self._fading = self.set_timer(NEWS_FADE_AFTER, self._faded, name=news)

    def _faded(self) -> None:
        self._fading = None
        if self.app.app_focus and self.screen.is_current:
            self._panes.saw_news()
        elif self._panes.news:
            self._fade(self._panes.news)

    def _shorter_left(self, status: int, width: int) -> Line:
        """The panes, the others with short names or none if the status has no room else."""
        for cells in (None, SHORT_TITLE, 0):
            left = self._left("", others=cells)
            if left.width + status + 2 < width:
                break
        return left

    def _left(self, product: str, *, others: int | None = None) -> Line:
        """The product and the panes; of panes that aren't shown, so many letters of the title."""
        gap = " " if product else ""
        self._tabs = []
        left = line((" ◆ " if product else " ◆", "accent"), (product, "strong"), (gap * 2, "text"))
        for key, title in self._panes.titles:
            chosen, begin = title == self._current, left.width
            left.add(f" {key} ", "accent" if chosen else "faint")
            left.add((title if chosen else title[:others]) + gap, "title" if chosen else "muted")
            for count in self._counts(title):
                left.add(count + gap, "warn")
            mode = next((name for name, shown, _ in PANES if shown == title), "")
            self._tabs.append(((begin, left.width), mode))
        return left

    def _counts(self, title: str) -> list[str]:
        """What a title shows behind it: items that wait, agents connected and what they wrote."""
        connected, wrote = self._panes.agents
        counts: dict[str, tuple[tuple[str, int], ...]] = {
            APPROVALS: (("●", self._panes.waiting),),
            ACTIVITY: (("◉", connected), ("+", wrote)),
        }
        return [f"{glyph}{count:,}" for glyph, count in counts.get(title, ()) if count]


def _first_parts(status: Line, width: int) -> Line:
    """As many of the parts between dots as there is room for; of the first, what fits."""
    while status.spans and status.width >= width and " · " in status.spans[-1][0]:
        text, role = status.spans[-1]
        status = Line([*status.spans[:-1], (text.rpartition(" · ")[0], role)])
    return status if status.width < width else status.fit(max(width - 1, 0))
