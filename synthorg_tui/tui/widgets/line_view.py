"""The base widgets that draw lines of styled text by Textual's line API."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, wrap
from synthorg_tui.tui.themes import role_styles

_BASE = ""
"""The pseudo-role of the widget's own style."""


class StyledWidget(Widget):
    """A widget that renders lines as Textual strips, with the styles of the current theme."""

    _role_styles: dict[str, Style] | None = None
    _row_styles: dict[Style, dict[str, Style]] | None = None

    def notify_style_update(self) -> None:
        """Discard the cached styles after the theme or the widget's CSS changed."""
        self._role_styles = self._row_styles = None
        super().notify_style_update()

    def set_titles(self, *, top: str | None = None, bottom: str | None = None) -> None:
        """Set the border's titles as plain text without markup; only the border is redrawn."""
        if top is not None and top != (self.border_title or ""):
            self._border_title = Content(top)
            self._redraw_edge(0)
        if bottom is not None and bottom != (self.border_subtitle or ""):
            self._border_subtitle = Content(bottom)
            self._redraw_edge(self.outer_size.height - 1)

    def _redraw_edge(self, y: int) -> None:
        left, above = self.content_offset
        self.refresh(Region(-left, y - above, self.outer_size.width, 1))

    def strip(self, line: Line, width: int, background: Style | None = None) -> Strip:
        """Render the line in exactly ``width`` cells, over ``background`` if that is given."""
        styles = self._role_styles or self._styles()
        if background:
            styles = self._styles_over(background, styles)
        segments = [Segment(text, styles[role]) for text, role in line.spans]
        return Strip(segments).adjust_cell_length(width, styles[_BASE])

    def _styles_over(self, over: Style, styles: dict[str, Style]) -> dict[str, Style]:
        """Each role readable over the colour of a row, such as the one under the cursor."""
        made = self._row_styles = self._row_styles or {}
        if over not in made:
            if over.bgcolor is not None:
                behind = Color.from_rich_color(over.bgcolor)
                styles = {
                    role: styles[role] + style
                    for role, style in role_styles(self.app.theme_variables, behind).items()
                } | {_BASE: styles[_BASE]}
            made[over] = {role: style + over for role, style in styles.items()}
        return made[over]

    def _styles(self) -> dict[str, Style]:
        """Each role over the widget's own style, which is dear to ask for."""
        base = self.rich_style
        styles = role_styles(self.app.theme_variables, self.background_colors[1])
        self._role_styles = {_BASE: base, **{role: base + style for role, style in styles.items()}}
        return self._role_styles


class StyledScroll(StyledWidget, ScrollView, can_focus=True):
    """A scrollable widget that draws one line at a time.

    A change in the number of lines updates the scrollbar alone. The screen is laid out again only
    if the scrollbar appears or disappears, or if the widget's height depends on the number of
    lines.
    """

    DEFAULT_CSS = """
    StyledScroll { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    virtual_size = Reactive(Size(0, 0), layout=False, repaint=False)

    def line_at(self, y: int, width: int) -> tuple[Line, Style | None]:
        """Return a line of the visible part and the style to draw over the widget's, if any."""
        raise NotImplementedError

    def remake(self) -> None:
        """Prepare the lines again after the available width or height changed."""
        raise NotImplementedError

    def on_resize(self) -> None:
        self.remake()

    def watch_show_vertical_scrollbar(self) -> None:
        """Prepare the lines again: the scrollbar takes one column of their width."""
        self.refresh()
        self.call_after_refresh(self.remake)

    def watch_virtual_size(self, size: Size) -> None:
        """Update the scrollbar to the number of lines."""
        if self.styles.auto_dimensions:
            self.refresh(repaint=False, layout=True)
        else:
            self._scroll_update(size)

    def render_line(self, y: int) -> Strip:
        """Render a line of the visible part."""
        width = self.scrollable_content_region.width
        shown, background = self.line_at(y, width)
        return self.strip(shown, width, background)


class LineBar(StyledWidget):
    """A widget of a few lines that doesn't scroll, such as a header, a banner or a footer."""

    DEFAULT_CSS = "LineBar { height: 1; width: 1fr; }"

    def __init__(self, lines: Iterable[Line] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines = list(lines)

    @property
    def lines(self) -> Sequence[Line]:
        """The lines shown."""
        return self._lines

    def show(self, *lines: Line) -> None:
        """Show these lines instead of the present ones."""
        if self._lines != list(lines):
            self._lines = list(lines)
            self.refresh()

    def show_whole(self, text: Line) -> None:
        """Show one line wrapped to as many rows as it needs, and scroll the widget into view."""
        rows = wrap(text, self.size.width) if self.size.width else [text]
        self.styles.height = len(rows)
        self.show(*rows)
        self.call_after_refresh(self.scroll_visible, animate=False)

    def render_line(self, y: int) -> Strip:
        shown = self._lines[y] if 0 <= y < len(self._lines) else Line()
        return self.strip(shown.fit(self.size.width), self.size.width)


class LineView(StyledScroll):
    """A scrollable text, wrapped to the width, with vim-like keys."""

    BINDINGS = bindings("view")

    def __init__(self, lines: Iterable[Line] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source = list(lines)
        self._rows: list[Line] = []
        self._starts: list[int] = []

    @property
    def lines(self) -> Sequence[Line]:
        """The lines shown, before wrapping."""
        return self._source

    def show(self, lines: Iterable[Line], *, top: bool = True) -> None:
        """Show these lines, scrolled to the top unless ``top`` is false.

        Only changed rows are redrawn.
        """
        lines = list(lines)
        if lines != self._source:
            self._source, before = lines, self._rows
            self._wrap()
            first = self.scroll_offset.y
            for y in range(first, first + self.size.height):
                if before[y : y + 1] != self._rows[y : y + 1]:
                    self.refresh_lines(y)
        if top:
            self.scroll_to(y=0, animate=False)

    def reveal(self, index: int) -> None:
        """Scroll so that the line of this index, before wrapping, is near the top."""
        if 0 <= index < len(self._starts):
            self.scroll_to(y=max(self._starts[index] - 2, 0), animate=False)

    def remake(self) -> None:
        """Wrap the lines to the present width."""
        self._wrap()
        self.refresh()

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        self._rows, self._starts = [], []
        for line in self._source:
            self._starts.append(len(self._rows))
            self._rows.extend(wrap(line, width) if width > 0 else [line])
        self.virtual_size = Size(width, len(self._rows))

    def line_at(self, y: int, width: int) -> tuple[Line, Style | None]:
        """Return a wrapped row of the visible part."""
        at = y + self.scroll_offset.y
        return (self._rows[at] if at < len(self._rows) else Line()), None

    def action_down(self) -> None:
        """Scroll one line down."""
        self.scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """Scroll one line up."""
        self.scroll_relative(y=-1, animate=False)

    def action_first(self) -> None:
        """Scroll to the top."""
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        """Scroll to the end."""
        self.scroll_to(y=self.max_scroll_y, animate=False)

    def action_half_down(self) -> None:
        """Scroll half a page down."""
        self.scroll_relative(y=max(self.size.height // 2, 1), animate=False)

    def action_half_up(self) -> None:
        """Scroll half a page up."""
        self.scroll_relative(y=-max(self.size.height // 2, 1), animate=False)
