"""The form in which a person writes an entry of the organisation, or a new version of one."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, TextArea

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import has_hidden, safe_text
from synthorg_tui.memory.retrieval.tags import split_tags
from synthorg_tui.organisation.models import OrgEntry
from synthorg_tui.tui.base.form import CategoryPicker, FormScreen
from synthorg_tui.tui.base.lines import Line, line
from synthorg_tui.tui.organisation.adapter import EntryText
from synthorg_tui.tui.organisation.lines import GLYPHS
from synthorg_tui.tui.organisation.state import KINDS
from synthorg_tui.tui.widgets.line_view import LineBar

_CHOICES = {
    category: (glyph, KINDS[category][0], role) for category, (glyph, role) in GLYPHS.items()
}


class EntryForm(FormScreen):
    """The dialog for an entry: empty for a new one, filled in for a new version.

    It stays open until ``save`` has stored what is written, and then returns its message; a write
    that is refused says why in it, with the text still there. ``None`` if the person cancels.
    """

    def __init__(
        self, entry: OrgEntry | None, save: Callable[[EntryText], Awaitable[str]], *, text: str = ""
    ) -> None:
        super().__init__()
        self._save = save
        self._entry = entry
        self._content = entry.content if entry else text
        self._shown = safe_text(self._content, multiline=True)
        self._tags = safe_text(" ".join(entry.traits.others)) if entry else ""
        self._project = safe_text(entry.traits.project) if entry else ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="form") as box:
            version = f" · version {self._entry.version + 1}" if self._entry else ""
            box.border_title = f"Edit entry{version}" if self._entry else "New entry"
            box.border_subtitle = "^s saves · esc cancels"
            yield LineBar([line(("Category", "muted"))])
            begins = self._entry.category if self._entry else OrgFactCategory.CORE_POLICY
            yield CategoryPicker(begins, _CHOICES)
            yield LineBar([line(("Text", "muted"))])
            yield TextArea(self._shown, id="content", tab_behavior="focus", compact=True)
            yield LineBar([line(("Project", "muted"))])
            yield Input(
                self._project, placeholder="Its folder; empty for all", compact=True, id="project"
            )
            yield LineBar([line(("Tags, separated by spaces or commas", "muted"))])
            yield Input(self._tags, placeholder="git review", compact=True, id="tags")
            yield LineBar([self._note()], id="note")

    def _note(self) -> Line:
        if has_hidden(self._content):
            return line(("! ", "warn"), ("Hidden characters are shown as glyphs.", "muted"))
        return Line()

    def on_mount(self) -> None:
        self.query_one("#content", TextArea).focus()

    @property
    def _typed(self) -> tuple[str, str, str]:
        """The text, the project and the tags as they are in the form."""
        return (
            self.query_one("#content", TextArea).text,
            self.query_one("#project", Input).value.strip(),
            self.query_one("#tags", Input).value,
        )

    @property
    def changed(self) -> bool:
        """Whether closing the form would lose something that the person wrote."""
        chosen = self.query_one(CategoryPicker).chosen
        return self._typed != (self._shown, self._project, self._tags) or (
            self._entry is not None and chosen is not self._entry.category
        )

    def action_save(self) -> None:
        """Save what is written if it is complete; otherwise say what is missing."""
        if self._saving.is_busy:
            return
        content, project, tags = self._typed
        if not content.strip():
            self._refuse("#content", "Needs some text.")
        elif project != self._project and project and not Path(project).expanduser().is_dir():
            self._refuse("#project", "There is no such folder.")
        else:
            self._warned = False
            written = self._written(content, project, tags)
            self._saving.begin(lambda: self._save(written))

    def _written(self, content: str, project: str, tags: str) -> EntryText:
        """What to store; a field that wasn't touched keeps its hidden characters."""
        traits = self._entry.traits if self._entry else None
        folder = str(Path(project).expanduser().resolve()) if project else ""
        return EntryText(
            self.query_one(CategoryPicker).chosen,
            self._content if content == self._shown else content,
            traits.project if traits and project == self._project else folder,
            traits.others if traits and tags == self._tags else split_tags(tags),
        )
