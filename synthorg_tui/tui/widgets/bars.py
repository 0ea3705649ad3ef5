"""The header and the footer every screen has."""

from textual import events

from synthorg_tui.tui.actions import Action, footer
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

    def _line(self) -> Line:
        made = Line()
        for action in self._actions:
            made.add(f" {action.shown} ", "accent").add(action.label + " ", "muted")
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
    """The product, the panes by number, and how things stand at the right."""

    def __init__(
        self, panes: tuple[tuple[str, str], ...], current: str, *, id: str = "top"
    ) -> None:
        super().__init__(id=id)
        self._panes = panes
        self._current = current
        self._status = Line()

    def on_mount(self) -> None:
        """Show the panes."""
        self.tell(Line())

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self.tell(self._status)

    def tell(self, status: Line) -> None:
        """Show how things stand."""
        self._status = status
        left = line((" ◆ ", "accent"), ("synthorg", "strong"), ("  ", "text"))
        for key, title in self._panes:
            chosen = title == self._current
            left.add(f" {key} ", "accent" if chosen else "faint")
            left.add(f"{title} ", "title" if chosen else "muted")
        right = Line([*status.spans, (" ", "text")])
        self.show(beside(left, right, self.size.width) if self.size.width else left)
