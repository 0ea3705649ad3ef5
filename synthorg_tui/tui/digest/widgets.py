"""The lists of the Digest pane: candidates with the cut between them, and options to turn."""

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line
from synthorg_tui.tui.digest.lines import cut_line, weighed_line, weighed_lines
from synthorg_tui.tui.digest.ports import Answer, Weighed
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.rows import FixedList


class CandidateList(LineList):
    """What is in, the cut line, what is out; with room, the scores on a second line each."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._answer: Answer | None = None
        self._look: tuple[bool, list[Line]] = (False, [])
        self._rows: list[Weighed | None] = []

    def show(self, answer: Answer | None, *, roomy: bool, follow: bool) -> None:
        """Show an answer; the cursor starts at the top, or follows its memory when told to."""
        look = (roomy, [] if self._rows else self.placeholder)
        if follow and answer is self._answer and look == self._look:
            return
        self._look = look
        following = self.candidate.row.id if self.candidate and follow else None
        self._answer = answer
        self.row_height = 2 if roomy else 1
        self._rows = []
        if answer is not None and answer.candidates:
            self._rows = [*answer.included, None, *answer.left_out]
        self.changed()
        found = [at for at, each in enumerate(self._rows) if each and each.row.id == following]
        self.move_to(found[0] if found else 0)

    @property
    def row_count(self) -> int:
        """Candidates and the cut line."""
        return len(self._rows)

    @property
    def candidate(self) -> Weighed | None:
        """The one under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def selectable(self, index: int) -> bool:
        """The cut line is passed over."""
        return 0 <= index < len(self._rows) and self._rows[index] is not None

    def row_lines(self, index: int, width: int) -> list[Line]:
        """The candidate, or the cut."""
        each = self._rows[index]
        if each is None:
            return [cut_line(self._answer, width) if self._answer else Line(), Line()]
        roomy = self.row_height > 1
        return weighed_lines(each, width - 1) if roomy else [weighed_line(each, width - 1)]


class TaskInput(Input):
    """An entry of one line; what is typed into it moves nothing else, so no layout follows."""

    virtual_size = Reactive(Size(0, 0))


class KnobList(FixedList):
    """Options to turn with left and right; ``Turned`` tells which and how far."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("knobs")

    @dataclass
    class Turned(LineList.Moved):
        """An option was turned by ``by`` steps; 0 puts it back to what is configured."""

        by: int

    def _turn(self, by: int) -> None:
        if self.selectable(self.cursor):
            self.post_message(self.Turned(self, self.cursor, by))

    def action_previous(self) -> None:
        """One step down, or the choice before."""
        self._turn(-1)

    def action_next(self) -> None:
        """One step up, or the next choice."""
        self._turn(1)

    def action_configured(self) -> None:
        """As configured."""
        self._turn(0)
