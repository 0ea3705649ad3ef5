"""The base of the widgets that draw lines of styled text by Textual's line API."""

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.color import Color
from textual.content import Content
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from synthorg_tui.tui.base.lines import Line
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

    def line_under(self, event: events.MouseEvent) -> int:
        """Return the line under the pointer, counted from the first one, or -1 beside them."""
        # An event counts from the border, or from the scrollbar when that is what it came from.
        region = self.scrollable_content_region
        if not region.contains_point(event.screen_offset):
            return -1
        return event.screen_y - region.y + self.scroll_offset.y

    def component(self, name: str) -> Style:
        """Return the style of a component class to draw over the widget's own."""
        styles = self.get_component_styles(name)
        behind = self.background_colors[1]
        colour = behind.blend(styles.background, styles.background.a, alpha=1.0)
        # Without colours reverse video is the cursor, and an underline the one of another list.
        if self.app.no_color or self.app.native_ansi_color:
            return Style(reverse=True) if "cursor" in name else Style(underline=True)
        return Style(bgcolor=colour.rich_color, bold=styles.text_style.bold)
