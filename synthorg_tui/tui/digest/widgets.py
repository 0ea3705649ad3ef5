"""The widgets of the Digest pane: the question, the candidates, the options and the text.

They show what they are given and post what a person did; the screen handles it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.pane import NARROW
from synthorg_tui.tui.digest.lines import (
    budget_line,
    candidate_line,
    candidate_lines,
    change_places,
    cut_line,
    fact_lines,
    former_line,
    former_tally,
    policies_lines,
    stage_line,
    tally,
    why_lines,
)
from synthorg_tui.tui.digest.notices import TEXT_TITLE, agent_text, banner_lines, question_line
from synthorg_tui.tui.digest.options import option_lines
from synthorg_tui.tui.digest.state import Digest
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineBar, LineView
from synthorg_tui.tui.widgets.rows import FixedList

if TYPE_CHECKING:
    from synthorg_tui.memory.retrieval.explanation import Candidate, Explanation, OrgCandidate


class TaskInput(Input):
    """An input of one line that doesn't cause a layout of the screen at each key press."""

    virtual_size = Reactive(Size(0, 0))


class QuestionBlock(Vertical):
    """The agent, the task, the use of the token budget, and warnings."""

    def compose(self) -> ComposeResult:
        yield LineBar(id="asking")
        with Horizontal(id="task-row"):
            yield LineBar([line((" / task ", "accent"))], id="task-prompt")
            yield TaskInput(
                id="task",
                compact=True,
                select_on_focus=False,
                placeholder="what the agent is about to do, in your words",
            )
        yield LineBar(id="budget")
        yield LineBar(id="digest-banner")

    def show(self, digest: Digest, *, has_failed: bool) -> None:
        """Show the question and the budget; warnings are hidden if ``has_failed``."""
        self.query_one("#asking", LineBar).show(question_line(digest))
        budget, answer = self.query_one("#budget", LineBar), digest.answer
        budget.display = answer is not None
        if answer is not None:
            budget.show(budget_line(answer, max(self.app.size.width - 2, 20)))
        banner = self.query_one("#digest-banner", LineBar)
        warnings = [] if has_failed else banner_lines(digest)
        banner.display = bool(warnings)
        banner.styles.height = max(len(warnings), 1)
        banner.show(*warnings)

    def put(self, task: str) -> None:
        """Set the text of the input without the message that a person's typing would cause."""
        entry = self.query_one("#task", Input)
        with entry.prevent(Input.Changed):
            entry.value = safe_text(task)


class CandidateList(LineList):
    """The candidates in the digest, the cut line, those left out, and what is no longer given.

    What the organisation tells stands before them: policies in one row, and its facts.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._answer: Explanation | None = None
        self._look: tuple[bool, list[Line]] = (False, [])
        self._rows: list[Candidate | None] = []
        self._first: list[OrgCandidate | None] = []
        self._neighbour = ""

    def show(self, answer: "Explanation | None", *, roomy: bool, follow: bool) -> None:
        """Show an answer; with ``follow`` the cursor stays on its memory, else it goes to the top.

        ``roomy`` gives each candidate two lines. The same answer isn't drawn again.
        """
        look = (roomy, [] if self._rows else self.placeholder)
        if follow and answer is self._answer and look == self._look:
            return
        self._look = look
        following = self.candidate.entry.id if self.candidate and follow else None
        if answer is not self._answer:
            following, self._neighbour = self._neighbour or following, ""
        self._answer = answer
        self.row_height = 2 if roomy else 1
        self._rows, self._first = [], []
        if answer is not None and (answer.candidates or answer.former or answer.facts):
            self._first = [*([None] if answer.policies else []), *answer.facts]
            self._rows = [*(None for _ in self._first), *answer.included, None, *answer.left_out]
            self._rows += [None, *answer.former] if answer.former else []
        self.changed()
        ids = [candidate.entry.id if candidate else "" for candidate in self._rows]
        self.move_to(ids.index(following) if following in ids else 0)

    def stay(self) -> None:
        """Keep the cursor in its place in the next answer, where its memory may be elsewhere.

        It is then on what is next to that memory now.
        """
        places = (*range(self.cursor + 1, len(self._rows)), *range(self.cursor - 1, -1, -1))
        near = (each.entry.id for at in places if (each := self._rows[at]) is not None)
        self._neighbour = next(near, "")

    @property
    def row_count(self) -> int:
        """The number of memories, plus one for each line between them."""
        return len(self._rows)

    @property
    def candidate(self) -> "Candidate | None":
        """The candidate or former memory under the cursor, or ``None``."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    def selectable(self, index: int) -> bool:
        """Return whether the row is a memory: the cursor skips the lines between them."""
        return 0 <= index < len(self._rows) and self._rows[index] is not None

    def row_lines(self, index: int, width: int) -> list[Line]:
        """Return the lines of a memory, of what the organisation tells, or between the parts."""
        candidate, answer = self._rows[index], self._answer
        if answer is None:
            return [Line(), Line()]
        if index < len(self._first):
            fact, room = self._first[index], width - 1
            lines = fact_lines(fact, room) if fact else policies_lines(answer, room)
            return lines[: self.row_height]
        if candidate is None:
            is_cut = index == len(self._first) + len(answer.included)
            return [(cut_line if is_cut else former_line)(answer, width), Line()]
        if self.row_height > 1:
            return candidate_lines(candidate, width - 1)
        return [candidate_line(candidate, width - 1)]


class OptionsList(FixedList):
    """A list of options, changed with left and right; posts ``Turned``.

    In keymaps its keys have the context ``knobs``, a name that people's stored keymaps contain.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("knobs")

    @dataclass
    class Turned(LineList.Moved):
        """Posted when an option is moved by ``by`` steps; 0 resets it to the configured value."""

        by: int

    def _turn(self, by: int) -> None:
        if self.selectable(self.cursor):
            self.post_message(self.Turned(self, self.cursor, by))

    def action_previous(self) -> None:
        """Decrease the option by a step, or select its previous choice."""
        self._turn(-1)

    def action_next(self) -> None:
        """Increase the option by a step, or select its next choice."""
        self._turn(1)

    def action_configured(self) -> None:
        """Reset the option to the configured value."""
        self._turn(0)


class AgentText(LineView):
    """The exact text the agent would read, or its changes."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = TEXT_TITLE
        self._shown: tuple[object, object, bool] = (None, None, False)
        self._changes: list[int] = []
        self._change = 0

    def show_answer(self, digest: Digest, *, diffing: bool) -> None:
        """Show the newest text, or its changes with ``diffing``, without scrolling."""
        shown = (digest.answer, digest.before, diffing)
        if all(old is new for old, new in zip(self._shown, shown, strict=True)):
            return
        self._shown = shown
        top, bottom, lines = agent_text(digest, diffing=diffing)
        self.set_titles(top=top, bottom=bottom)
        self.show(lines, top=digest.answer is None)
        self._changes = change_places(lines) if diffing else []
        self._change = -1

    def next_change(self, by: int = 1) -> bool:
        """Scroll to the next change, or the one before with -1; ``False`` when there is none."""
        if not self._changes:
            return False
        start = self._change if self._change >= 0 or by > 0 else 0
        self._change = (start + by) % len(self._changes)
        self.reveal(self._changes[self._change])
        return True


class DigestBody(Horizontal):
    """The options, the candidates with reasons, and the text, as far as there is room.

    CSS classes record what the person opened: ``-options``, ``-zoom-list``, ``-zoom-text``.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._digest = Digest()
        self._subject = ("", "")

    def compose(self) -> ComposeResult:
        options = OptionsList(id="options")
        options.border_title = "Options"
        options.border_subtitle = "← → turn · ⌫ back"
        yield options
        with Horizontal(id="digest-main"):
            with Vertical(id="weighing"):
                candidates = CandidateList(id="candidates")
                candidates.border_title = "Candidates"
                yield candidates
                why = LineView(id="why")
                why.border_title = "Why"
                yield why
            yield AgentText(id="digest-text")

    @property
    def candidates(self) -> CandidateList:
        """The widget that lists the candidates."""
        return self.query_one("#candidates", CandidateList)

    @property
    def options(self) -> OptionsList:
        """The widget that lists the options."""
        return self.query_one("#options", OptionsList)

    @property
    def narrow(self) -> bool:
        """Whether the terminal is too narrow for candidates and text side by side."""
        return self.app.size.width < NARROW

    def show(
        self, digest: Digest, *, diffing: bool, placeholder: list[Line], has_failed: bool
    ) -> None:
        """Show the newest answer, or ``placeholder`` if there are no candidates.

        The cursor stays on its memory as long as agent and task are the same.
        """
        self._digest = digest
        self._arrange()
        self._show_candidates(placeholder, has_failed=has_failed)
        self.query_one(AgentText).show_answer(digest, diffing=diffing)
        if self.has_class("-options"):
            self.options.show(lambda width: option_lines(digest.options, width))

    def _arrange(self) -> None:
        narrow, options_open = self.narrow, self.has_class("-options")
        has_answer = self._digest.answer is not None
        self.query_one("#digest-main").styles.layout = "vertical" if narrow else "horizontal"
        self.options.display = options_open
        zoomed = self.has_class("-zoom-text") or (narrow and options_open)
        self.query_one("#weighing").display = not zoomed
        self.query_one("#digest-text").display = has_answer and not self.has_class("-zoom-list")
        self.query_one("#why").can_focus = not narrow
        self.query_one("#why").display = has_answer

    def _show_candidates(self, placeholder: list[Line], *, has_failed: bool) -> None:
        rows, digest = self.candidates, self._digest
        rows.placeholder = placeholder
        subject = (digest.agent_id, digest.query.strip())
        rows.show(
            None if has_failed else digest.answer,
            roomy=not self.narrow,
            follow=subject == self._subject or digest.waiting,
        )
        if not digest.waiting:
            self._subject = subject
        counts = tally(digest.answer) + former_tally(digest.answer) if digest.answer else ""
        rows.set_titles(bottom=counts)
        self._show_why()

    @on(LineList.Moved, "#candidates")
    def _show_why(self) -> None:
        candidate, answer = self.candidates.candidate, self._digest.answer
        lines: list[Line] = []
        if candidate is not None and answer is not None:
            lines = why_lines(candidate, answer.candidates, full=not self.narrow)
            if not self.narrow:
                lines += [Line(), stage_line(answer)]
        self.query_one("#why", LineView).show(lines)

    def toggle_options(self) -> None:
        """Show or hide the options."""
        self.toggle_class("-options")

    def focus_part(self) -> None:
        """Focus the options if they are shown, else the candidates."""
        (self.options if self.has_class("-options") else self.candidates).focus()

    def toggle_zoom(self) -> None:
        """Enlarge the text if it has the focus, else the list, or restore the layout."""
        zoomed = self.has_class("-zoom-text") or self.has_class("-zoom-list")
        on_text = self.query_one("#digest-text").has_focus
        self.set_class(not zoomed and on_text, "-zoom-text")
        self.set_class(not zoomed and not on_text, "-zoom-list")

    def close_one(self) -> bool:
        """Close the options, else the zoom; return ``False`` if neither was open."""
        for classes in (("-options",), ("-zoom-text", "-zoom-list")):
            if any(map(self.has_class, classes)):
                self.remove_class(*classes)
                return True
        return False
