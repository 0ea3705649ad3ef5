"""The header and the footer every screen has."""

from textual import events

from synthorg_tui.tui.actions import Action, footer
from synthorg_tui.tui.panes import ACTIVITY, APPROVALS, Panes
from synthorg_tui.tui.view_models.ink import Line, beside, line
from synthorg_tui.tui.widgets.inked import LineBar


class KeyBar(LineBar):
    """The keys that matter on this screen; a click does what the key does."""

    def __init__(self, *contexts: str, id: str = "keys") -> None:
        super().__init__(id=id)
        self._actions = footer(*contexts)

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is offered."""
        return self._actions

    def on_mount(self) -> None:
        """Show the keys."""
        self.show(self._line())

    def wake(self, awake: bool) -> None:
        """Show whether the keys do something yet."""
        self.show(self._line("accent" if awake else "faint", "muted" if awake else "faint"))

    def _line(self, key: str = "accent", label: str = "muted") -> Line:
        made = Line()
        for action in self._actions:
            made.add(f" {action.shown} ", key).add(action.label + " ", label)
        return made

    async def on_click(self, event: events.Click) -> None:
        """Run the action under the pointer."""
        right = 0
        for action in self._actions:
            right += len(action.shown) + len(action.label) + 3
            if event.x < right:
                await self.screen.run_action(action.method)
                return


class TopBar(LineBar):
    """The product, the panes by number, what waits, and how things stand at the right."""

    def __init__(self, panes: Panes, current: str, *, id: str = "top") -> None:
        super().__init__(id=id)
        self._panes = panes
        self._current = current
        self._status = Line()

    def on_mount(self) -> None:
        """Show the panes."""
        self._panes.listen(self._draw)
        self._draw()

    def on_unmount(self) -> None:
        """Nothing more to show."""
        self._panes.leave(self._draw)

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._draw()

    def tell(self, status: Line) -> None:
        """Show how things stand."""
        self._status = status
        self._draw()

    def _draw(self) -> None:
        width, right = self.size.width, Line([*self._status.spans, (" ", "text")])
        left = self._left("synthorg")
        if width and left.width + right.width >= width:
            left = self._left("")
            right = right.fit(max(min(right.width, width - left.width - 2), 0))
        self.show(beside(left, right, width) if width else left)

    def _left(self, product: str) -> Line:
        gap = " " if product else ""
        left = line((" ◆ " if product else " ◆", "accent"), (product, "strong"), (gap * 2, "text"))
        for key, title in self._panes.titles:
            chosen = title == self._current
            left.add(f" {key} ", "accent" if chosen else "faint")
            left.add(title + gap, "title" if chosen else "muted")
            for count in self._counts(title):
                left.add(count + gap, "warn")
        return left

    def _counts(self, title: str) -> list[str]:
        """What is to be told of a pane: items that wait, agents connected and what they wrote."""
        connected, wrote = self._panes.agents
        told: dict[str, tuple[tuple[str, int], ...]] = {
            APPROVALS: (("●", self._panes.waiting),),
            ACTIVITY: (("◉", connected), ("+", wrote)),
        }
        return [f"{glyph}{count:,}" for glyph, count in told.get(title, ()) if count]
