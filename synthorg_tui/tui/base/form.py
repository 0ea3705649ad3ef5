"""The dialog in which a person writes or edits a memory."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import has_hidden, safe_text
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.retrieval.tags import split_tags
from synthorg_tui.tui.actions import bindings
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.base.saving import Saving
from synthorg_tui.tui.engine_adapter import Change
from synthorg_tui.tui.memories.lines import GLYPHS
from synthorg_tui.tui.widgets.line_view import LineBar

Category = TypeVar("Category", bound=str)
"""What a line of categories chooses from."""
_CHOICES = {each: (GLYPHS[each], each.value, f"cat-{each.value}") for each in MemoryCategory}


@dataclass(frozen=True, slots=True)
class Written:
    """The values of the form; ``content`` is ``None`` if an edit didn't change it.

    ``project`` is the folder that a new memory is limited to, ``None`` for no limit.
    """

    agent_id: str
    category: MemoryCategory
    content: str | None
    tags: tuple[str, ...]
    project: str | None = None

    def change(self, row: ListedMemory) -> Change:
        """Return the fields that differ from the memory's present ones."""
        category = self.category if self.category is not row.category else None
        return Change(self.content, category, self.tags if self.tags != row.tags else None)


class CategoryPicker(LineBar, Generic[Category], can_focus=True):
    """A line with all categories, of which left and right choose one.

    ``choices`` gives each with its glyph, name and role. Where there isn't room for all their
    names, only the chosen one's is written.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("left,h", "previous", "Previous"),
        ("right,l,space", "next", "Next"),
    ]

    def __init__(
        self,
        chosen: Category,
        choices: Mapping[Category, tuple[str, str, str]],
        *,
        id: str = "category",
    ) -> None:
        super().__init__(id=id)
        self.chosen = chosen
        self._choices = choices

    class Picked(Message):
        """Posted when another one was chosen."""

    def on_mount(self) -> None:
        self._draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        whole = self._line(named=True)
        fits = not self.size.width or whole.width <= self.size.width
        self.show(whole if fits else self._line(named=False))

    def _line(self, *, named: bool) -> Line:
        categories = Line()
        for category, (glyph, name, role) in self._choices.items():
            on = category is self.chosen
            mark = "▸" if self.has_focus else "•"
            categories.add(mark if on else " ", "accent")
            categories.add(f"{glyph} ", role if on else "faint")
            shown = name if named or on else ""
            categories.add(shown, "strong" if on else "faint").add("  ", "text")
        return categories

    def _step(self, by: int) -> None:
        categories = list(self._choices)
        self.chosen = categories[(categories.index(self.chosen) + by) % len(categories)]
        self._draw()
        self.post_message(self.Picked())

    def action_previous(self) -> None:
        """Choose the category to the left."""
        self._step(-1)

    def action_next(self) -> None:
        """Choose the category to the right."""
        self._step(1)


class FormScreen(ModalScreen[str | None]):
    """A form that stays open until what is written is stored, and asks before it is lost.

    Its bar of notes has the id ``note``.
    """

    BINDINGS = bindings("form")
    unsaved = "Not saved. esc again gives it up, ^s saves."

    def __init__(self) -> None:
        super().__init__()
        self._saving = Saving(self, note="#note", key="^s")
        self._warned = False

    def on_screen_resume(self) -> None:
        """Close the form if it was saved while another screen covered it."""
        self._saving.finish()

    @property
    def changed(self) -> bool:
        """Whether closing the form would lose something the person wrote."""
        raise NotImplementedError

    def action_close(self) -> None:
        """Close the form, which is refused during saving; unsaved text needs a second press."""
        if self._saving.is_busy:
            return
        if self.changed and not self._warned:
            self._warned = True
            self._tell(line(("! ", "warn"), (self.unsaved, "text")))
            return
        self.dismiss(None)

    def _refuse(self, field: str, problem: str) -> None:
        self._tell(line(("! ", "bad"), (problem, "warn")))
        self.query_one(field).focus()

    def _tell(self, note: Line) -> None:
        self.query_one("#note", LineBar).show_whole(note)


class MemoryForm(FormScreen):
    """The dialog for a memory: empty for a new one, filled in for an edit.

    It stays open until ``save`` has stored the values, and then returns the message of ``save``, or
    ``None`` if the person cancels.
    """

    def __init__(
        self,
        row: ListedMemory | None,
        agents: Sequence[str],
        save: Callable[[Written], Awaitable[str]],
    ) -> None:
        super().__init__()
        self._save = save
        self._row = row
        self._agents = agents
        self._shown = safe_text(row.content, multiline=True) if row else ""
        self._tags = safe_text(" ".join(row.tags)) if row else ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="form") as box:
            box.border_title = "Edit memory" if self._row else "New memory"
            box.border_subtitle = "^s saves · esc cancels"
            if self._row is None:
                agent = self._agents[0] if len(self._agents) == 1 else ""
                yield LineBar([line(("Agent", "muted"))])
                such = f", such as {safe_text(self._agents[0])}" if self._agents else ""
                yield Input(
                    safe_text(agent),
                    placeholder=f"Whose memory it is{such}",
                    compact=True,
                    id="agent",
                )
            yield LineBar([line(("Category", "muted"))])
            begins = self._row.category if self._row else MemoryCategory.SEMANTIC
            yield CategoryPicker(begins, _CHOICES)
            yield LineBar([line(("Content", "muted"))])
            yield TextArea(self._shown, id="content", tab_behavior="focus", compact=True)
            yield LineBar([line(("Tags, separated by spaces or commas", "muted"))])
            yield Input(self._tags, placeholder="git push", compact=True, id="tags")
            if self._row is None:
                yield LineBar([line(("Project", "muted"))])
                yield Input(placeholder="Its folder; empty for all", compact=True, id="project")
            yield LineBar([self._note()], id="note")

    def _note(self) -> Line:
        if self._row is not None and has_hidden(self._row.content):
            return line(("! ", "warn"), ("Hidden characters are shown as glyphs.", "muted"))
        return Line()

    def on_mount(self) -> None:
        agent = self.query("#agent").first(Input) if self._row is None else None
        if agent is not None and not agent.value:
            agent.focus()
        else:
            self.query_one("#content", TextArea).focus()

    @property
    def _content(self) -> str:
        return self.query_one("#content", TextArea).text

    @property
    def _project(self) -> str | None:
        if self._row is not None:
            return None
        typed = self.query_one("#project", Input).value.strip()
        return str(Path(typed).expanduser().resolve()) if typed else None

    @property
    def changed(self) -> bool:
        """Whether closing the form would lose something the person wrote."""
        chosen = self.query_one(CategoryPicker).chosen
        return (
            self._content != self._shown
            or self.query_one("#tags", Input).value != self._tags
            or self._project is not None
            or (self._row is not None and chosen is not self._row.category)
        )

    def action_save(self) -> None:
        """Save the memory if the form is complete; otherwise show what is missing."""
        if self._saving.is_busy:
            return
        agent = self._row.agent_id if self._row else self.query_one("#agent", Input).value.strip()
        wrong = self._wrong(agent)
        if wrong is not None:
            field, problem = wrong
            self._refuse(field, problem)
            return
        unchanged = self._row is not None and self._content == self._shown
        tags_box = self.query_one("#tags", Input).value
        tags = self._row.tags if self._row and tags_box == self._tags else split_tags(tags_box)
        chosen = self.query_one(CategoryPicker).chosen
        content = None if unchanged else self._content
        written = Written(agent, chosen, content, tags, self._project)
        self._warned = False
        self._saving.begin(lambda: self._save(written))

    def _wrong(self, agent: str) -> tuple[str, str] | None:
        """The first field that can't be saved, and what is wrong with it."""
        if not agent:
            return "#agent", "Needs an agent."
        if not self._content.strip():
            return "#content", "Needs some content."
        if self._project is not None and not Path(self._project).is_dir():
            return "#project", "There is no such folder."
        return None
