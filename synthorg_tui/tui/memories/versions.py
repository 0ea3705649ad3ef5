"""The versions of a memory: what each changed, and one of them restored as the newest.

The texts are untrusted: they are only ever put into lines, which make them safe.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from textual.app import ComposeResult
from textual.screen import Screen

from synthorg_tui.core.actors import actor_words
from synthorg_tui.memory.listing import ChangeKind, ListedMemory, MemoryRevision
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.formatting import ago
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.jobs import run_job, toast
from synthorg_tui.tui.memories.changes import PersonChanges
from synthorg_tui.tui.memories.detail import change_lines, content_lines, diff_lines
from synthorg_tui.tui.widgets.bars import KeyBar
from synthorg_tui.tui.widgets.line_list import LineList
from synthorg_tui.tui.widgets.line_view import LineView
from synthorg_tui.tui.widgets.rows import FixedList

_MARKS = {ChangeKind.ADDED: "+", ChangeKind.EDITED: "~"}


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A memory as it was after a revision; ``is_present`` is the newest one.

    ``text`` is ``None`` where it was erased: such a version can't be restored.
    """

    revision: MemoryRevision
    text: str | None
    is_present: bool


def versions_of(history: Sequence[MemoryRevision]) -> tuple[MemoryVersion, ...]:
    """Return the versions that a history, newest first, has; deleting made none."""
    text: str | None = None
    found: list[MemoryVersion] = []
    for revision in reversed(history):
        after = revision.after.get("content", text)
        text = after if isinstance(after, str) else None
        if revision.kind in _MARKS:
            found.append(MemoryVersion(revision, text, is_present=False))
    newest = [MemoryVersion(each.revision, each.text, is_present=True) for each in found[-1:]]
    return tuple(reversed([*found[:-1], *newest]))


def version_line(version: MemoryVersion, now: datetime) -> Line:
    """Render a version in a list: who made it, when, and which fields it changed."""
    revision = version.revision
    named = [name for name in revision.after if revision.before.get(name) != revision.after[name]]
    shown = line(
        ("● " if version.is_present else "  ", "good"),
        (f"{_MARKS[revision.kind]} {revision.kind}", "strong"),
        (f" by {one_line(actor_words(revision.actor))}", "muted"),
        (f"  {ago(revision.at, now)}", "faint"),
    )
    if revision.kind is ChangeKind.EDITED:
        shown.add(f"  {', '.join(map(one_line, sorted(named)))}", "muted")
    return shown.add("  present version" if version.is_present else "", "good")


def version_lines(version: MemoryVersion) -> list[Line]:
    """Render what a version changed, then its text."""
    changed = change_lines(version.revision) if version.revision.before else []
    text = [line(("Its text was erased.", "muted"))]
    if version.text is not None:
        text = content_lines(version.text)
    heading = Line([("Text of this version ", "title")], fill="track")
    return [*changed, *([Line()] if changed else []), heading, *text]


class VersionsScreen(Screen[bool]):
    """The versions of a memory, newest first; returns ``True`` if the memory was changed."""

    BINDINGS = bindings("versions")
    HELP_CONTEXTS = ("versions", "list", "view", "app")
    CSS = """
    VersionsScreen {
        & > FixedList { height: auto; max-height: 40%; padding: 0; }
        & > LineView { height: 1fr; }
    }
    """

    def __init__(self, desk: EngineAdapter, row: ListedMemory, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._desk = desk
        self._row = row
        self._now = now
        self._restored = 0
        self._has_changed = False

    def compose(self) -> ComposeResult:
        versions = FixedList(id="versions")
        versions.border_title = "Versions"
        versions.placeholder = [line(("Reading …", "muted"))]
        yield versions
        text = LineView(id="version")
        text.border_title = "What it changed"
        yield text
        yield KeyBar("versions", "app")

    def on_mount(self) -> None:
        self._list.focus()
        run_job(self, self._load, group="versions")

    @property
    def _list(self) -> FixedList:
        return self.query_one(FixedList)

    @property
    def _version(self) -> MemoryVersion | None:
        value = self._list.value
        return value if isinstance(value, MemoryVersion) else None

    async def _load(self) -> None:
        versions = versions_of(await self._desk.history(self._row.id))
        self._list.placeholder = [line(("No version is recorded.", "muted"))]
        self._list.styles.height = len(versions) + 2
        now = self._now()
        self._list.show(lambda _width: [(each, version_line(each, now)) for each in versions])
        self._list.border_subtitle = f"{len(versions):,}"
        self._show_version()

    def on_line_list_moved(self, event: LineList.Moved) -> None:
        """Show the version under the cursor."""
        event.stop()
        self._show_version()

    def _show_version(self) -> None:
        version = self._version
        self.query_one(LineView).show(version_lines(version) if version is not None else [])

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Ask about the version under the cursor."""
        event.stop()
        self.action_restore()

    def action_restore(self) -> None:
        """Restore the version under the cursor as the newest one, after a confirmation."""
        version = self._version
        if version is None or version.is_present or version.text is None:
            why = "This version's text was erased: it can't be restored"
            if version is None or version.is_present:
                why = "This is the present version; choose an older one"
            toast(self, why, severity="warning")
        else:
            run_job(self, partial(self._ask, version), group="change", newest_only=False)

    async def _ask(self, version: MemoryVersion) -> None:
        """Show what restoring would change of the present text."""
        present = versions_of(await self._desk.history(self._row.id))[0].text or ""
        changes = diff_lines(present, version.text or "")
        dialog = ConfirmDialog(
            "Restore this version?",
            changes or [line(("The text is the same; other fields change.", "muted"))],
            yes="Restore",
            note=f"It becomes the newest version. {key_of('versions.undo')} undoes this.",
        )

        def answered(yes: bool | None) -> None:
            if yes:
                work = partial(self._restore, version.revision.revision)
                run_job(self, work, group="change", newest_only=False)

        self.app.push_screen(dialog, answered)

    async def _restore(self, revision: int) -> None:
        await self._desk.restore_version(self._row.id, revision)
        self._restored += 1
        await self._changed(f"Restored · {key_of('versions.undo')} takes it back")

    def action_undo(self) -> None:
        """Undo what was restored here; other changes are undone in the Memories pane."""
        if self._restored:
            run_job(self, self._undo, group="change", newest_only=False)
        else:
            undo = key_of("memories.undo")
            told = f"Nothing was restored here; {undo} in Memories undoes your last change"
            toast(self, told, severity="warning")

    async def _undo(self) -> None:
        self._restored -= 1
        await self._changed(await PersonChanges().step(self._desk, undoes=True))

    async def _changed(self, message: str) -> None:
        self._has_changed = True
        toast(self, message)
        self._list.move_to(0)
        await self._load()

    def action_close(self) -> None:
        """Return to the memory."""
        self.dismiss(self._has_changed)
