"""The blocks of the overview as widgets: lists of lines that hand the cursor to each other."""

from textual.geometry import Size

from synthorg_tui.tui.overview.blocks import TITLES, Rows
from synthorg_tui.tui.widgets.rows import FixedList

FRAME = 2
"""Lines of a block's border."""


class FigureBlock(FixedList):
    """A block of figures; beyond its last row the cursor goes on in the next block.

    Where blocks stand one below the other, each is as high as its rows, up to ``most`` of them.
    """

    most = 12

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.border_title = TITLES[name]

    def fit_height(self, *, narrow: bool) -> None:
        """Be as high as the rows where blocks are stacked; else the grid decides."""
        wanted = min(max(self.row_count, 1), self.most) + FRAME if narrow else None
        if wanted is None:
            if self.styles.has_rule("height"):
                self.styles.clear_rule("height")
        elif self.styles.height is None or self.styles.height.value != wanted:
            self.styles.height = wanted

    @property
    def text(self) -> str:
        """The lines as text, without styles."""
        rows: Rows = self._listed
        return "\n".join(shown.plain.replace("\u00a0", " ").rstrip() for _, shown in rows)

    def action_down(self) -> None:
        """One row down, or to the next block."""
        if not self._leaves(range(self.cursor + 1, self.row_count), 1):
            super().action_down()

    def action_up(self) -> None:
        """One row up, or to the block before."""
        if not self._leaves(range(self.cursor), -1):
            super().action_up()

    def _leaves(self, beyond: range, step: int) -> bool:
        """Hand the focus on where no row is left that way; at the last block it stays."""
        if any(map(self.selectable, beyond)):
            return False
        shown = [block for block in self.screen.query(FigureBlock) if block.display]
        at = shown.index(self) + step
        if 0 <= at < len(shown):
            shown[at].focus()
        return True

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines it would take to show all rows."""
        return max(self.row_count, 1)
