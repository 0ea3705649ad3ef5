"""The project screens: what is known of each project, and the page of one, line by line.

A line is a memory: what a person edits or deletes of it goes through the memory, with its undo.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import expand_home, short_path
from synthorg_tui.core.projects import folders_of
from synthorg_tui.core.text import counted
from synthorg_tui.tui.actions import bindings, key_of
from synthorg_tui.tui.base.choosing import ChoiceDialog
from synthorg_tui.tui.base.dialogs import ConfirmDialog, PromptDialog
from synthorg_tui.tui.base.form import MemoryForm, Written
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.jobs import copy, run_job, toast
from synthorg_tui.tui.manage.adapter import StoreManagement
from synthorg_tui.tui.manage.base import ManageScreen
from synthorg_tui.tui.manage.project_lines import (
    NO_PROJECTS,
    episode_line,
    known_lines,
    listed_lines,
    page_text,
    project_line,
)
from synthorg_tui.tui.memories.changes import Act, PersonChanges
from synthorg_tui.tui.sessions.transcript import open_transcript
from synthorg_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from synthorg_tui.knowledge.pages import PageLine, ProjectPage
    from synthorg_tui.knowledge.project_edits import PlannedEdit
    from synthorg_tui.tui.engine_adapter import EngineAdapter


class _PagesScreen(ManageScreen):
    """What both screens do: refresh, and take a page along as Markdown."""

    @property
    def page(self) -> "ProjectPage | None":
        """The page that is shown."""
        raise NotImplementedError

    def action_reload(self) -> None:
        """Look at the sessions that are new or changed; c stops that."""
        self.begin("Looking at sessions", self._refresh)

    async def _refresh(self) -> None:
        report = await self.management.refresh_projects(progress=self._looked, cancel=self.cancel)
        await self.load()
        toast(self, str(report))

    def _looked(self, done: int, total: int) -> None:
        """Show how many sessions were looked at; may be called from any thread."""
        self.post_message(self.Told(f"{done:,} of {counted(total, 'session')}"))

    def action_copy(self) -> None:
        """Copy the page as Markdown."""
        if self.page is not None:
            copy(self, self.page.markdown())
            toast(self, f"Sent the page of {self.page.name} to the terminal's clipboard")

    def action_export(self) -> None:
        """Write the page to a file, as Markdown."""
        page = self.page
        if page is None:
            return

        async def export(name: str) -> str:
            return _written(page, expand_home(name))

        safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in page.name)[:60]
        dialog = PromptDialog(
            "Write this page to",
            str(Path.cwd() / f"{safe}.md"),
            hint="Markdown · enter writes · esc cancels",
            save=export,
        )
        self.app.push_screen(dialog, lambda told: toast(self, told) if told else None)


def _written(page: "ProjectPage", path: Path) -> str:
    """Write a page to a new file and return a message."""
    try:
        with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page.markdown())
    except FileExistsError as error:
        raise DomainError(f"{path} exists.", remedy="Choose another name.") from error
    except OSError as error:
        raise DomainError(f"{path} can't be written: {error.strerror}.") from error
    return f"Wrote the page of {page.name} to {path}"


class ProjectsScreen(_PagesScreen):
    """Lists the projects beside the page of the one under the cursor."""

    BINDINGS = bindings("projects")
    CONTEXT = "projects"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "What is known"
    CHOICES = "Projects"
    _pages: "tuple[ProjectPage, ...]" = ()

    @property
    def page(self) -> "ProjectPage | None":
        """The page of the project under the cursor."""
        return cast("ProjectPage | None", self.choices.value)

    async def load(self) -> None:
        pages = self._pages = await self.management.projects()
        waiting = await self.management.waiting_sessions()
        self.choices.placeholder = list(NO_PROJECTS)
        now = self.now()
        self.choices.show(lambda width: [(page, project_line(page, width, now)) for page in pages])
        new = f"{counted(waiting, 'session')} not looked at yet: r" if waiting else ""
        for old, present in await self.management.renamed_projects():
            new = new or f"{one_line(old)} looks renamed to {one_line(present)}: J merges"
        self.choices.set_titles(bottom=new)
        self._show()

    def _show(self) -> None:
        self.say(page_text(self.page, self.now()) if self.page is not None else [])
        self.refresh_bindings()

    def on_line_list_moved(self) -> None:
        """Show the page of the project under the cursor; what went wrong stays."""
        if self.page is not None:
            self._show()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Open the page of the project under the cursor."""
        event.stop()
        self.action_read()

    def action_read(self) -> None:
        """Open the page, to go through its lines."""
        if self.page is not None:
            screen = ProjectScreen(self.management, self.now, self.page.project)
            self.app.push_screen(screen, lambda _: self._again())

    def action_merge(self) -> None:
        """Choose the project that this one becomes part of."""
        others = [page for page in self._pages if page.project and page is not self.page]
        rows: list[tuple[object, Line]] = [
            (page.project, line((one_line(page.name), "strong"))) for page in others
        ]
        self._choose("Becomes part of", rows, "merge")

    def action_split(self) -> None:
        """Choose the folder of this project that becomes one of its own."""
        folders = folders_of(self.page.project) if self.page is not None else ()
        rows: list[tuple[object, Line]] = [
            (each, line((one_line(short_path(each)), "text"))) for each in folders
        ]
        self._choose("Becomes a project of its own", rows, "split")

    def _choose(self, title: str, rows: list[tuple[object, Line]], kind: str) -> None:
        page = self.page
        if page is None or not page.project:
            return

        def chosen(value: object) -> None:
            if isinstance(value, str):
                pair = (value, page.project) if kind == "merge" else (page.project, value)
                run_job(self, partial(self._plan, kind, *pair), group="plan", failed=self.fail)

        dialog = ChoiceDialog(
            f"{one_line(page.name)}: {title}", "↵ shows what moves", lambda _: rows
        )
        self.app.push_screen(dialog, chosen)

    async def _plan(self, kind: str, project: str, other: str) -> None:
        planned = await self.management.plan_project_edit(kind, project, other)
        touched = [line((one_line(short_path(each)), "text")) for each in planned.moved]
        note = f"{planned}. {key_of('projects.undo')} undoes this."
        dialog = ConfirmDialog(
            f"{kind.capitalize()}?", touched, yes=kind.capitalize(), note=one_line(note)
        )
        self.app.push_screen(dialog, lambda yes: self._edit(planned) if yes else None)

    def action_rename(self) -> None:
        """Ask what the project is to be called."""
        page = self.page
        if page is None or not page.project:
            return

        async def rename(name: str) -> str:
            planned = await self.management.plan_project_edit("rename", page.project, name)
            return await self.management.edit_projects(planned)

        hint = "enter renames · esc cancels"
        dialog = PromptDialog("Call this project", page.name, hint=hint, save=rename)
        self.app.push_screen(dialog, self._told)

    def action_undo(self) -> None:
        """Undo the last merge, split or rename."""
        self._edit(None)

    def _edit(self, planned: "PlannedEdit | None") -> None:
        async def edit() -> None:
            self._told(await self.management.edit_projects(planned))

        run_job(self, edit, group="change", newest_only=False, failed=self.fail)

    def _told(self, message: str | None) -> None:
        if message:
            toast(self, message)
            self._again()

    def _again(self) -> None:
        run_job(self, self.load, group="load", failed=self.fail)


class ProjectScreen(_PagesScreen):
    """The page of one project: its lines, and what each stands on.

    ``project`` is its folder, empty for the page of the person.
    """

    BINDINGS = bindings("project")
    CONTEXT = "project"
    HELP_CONTEXTS = (CONTEXT, "list", "view", "app")
    TITLE_OF_TEXT = "The line"
    CHOICES = "Project"

    def __init__(
        self, management: StoreManagement, now: Callable[[], datetime], project: str
    ) -> None:
        super().__init__(management, now)
        self._project = project
        self._page: ProjectPage | None = None
        self._changes = PersonChanges()

    @property
    def page(self) -> "ProjectPage | None":
        """The page that is shown, once it is read."""
        return self._page

    @property
    def line(self) -> "PageLine | None":
        """The line under the cursor."""
        return cast("PageLine | None", self.choices.value)

    async def load(self) -> None:
        page = self._page = await self.management.project(self._project)
        self.choices.placeholder = [
            line((f"Nothing certain is known of {one_line(page.name)} yet", "title")),
            Line(),
            line(("r", "accent"), (" looks at sessions that are new or changed", "muted")),
        ]
        self.choices.border_title = f"Project: {one_line(page.name)}"
        self.choices.show(partial(listed_lines, page))
        self._show()

    def _show(self) -> None:
        self.say(known_lines(self.line, self.now()) if self.line is not None else [])
        self.refresh_bindings()

    def on_line_list_moved(self) -> None:
        """Show the line under the cursor in full; what went wrong stays."""
        if self.line is not None:
            self._show()

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Show where the line under the cursor was seen."""
        event.stop()
        self.action_read()

    def action_read(self) -> None:
        """Show the lines of the session that the line stands on; of several, the chosen one's."""
        episodes = self.line.line.episodes if self.line is not None else ()
        if len(episodes) == 1:
            self._go(episodes[0])
        elif episodes:
            rows: list[tuple[object, Line]] = [(ref, episode_line(ref)) for ref in episodes]
            dialog = ChoiceDialog("Seen in", "↵ shows the lines · esc leaves", lambda _: rows)
            self.app.push_screen(dialog, self._go)
        else:
            toast(self, "The line names no place in a session", severity="warning")

    def _go(self, ref: object) -> None:
        desk = self._ready()
        if isinstance(ref, str) and desk is not None:
            open_transcript(self, desk.sessions, ref, self.now)

    def _ready(self) -> "EngineAdapter | None":
        desk: EngineAdapter | None = self.app.maker.desk  # type: ignore[attr-defined]
        if desk is None:
            toast(self, "The store is not open", severity="warning")
        return desk

    def action_edit(self) -> None:
        """Edit the memory that the line is; further evidence leaves it as it then is."""
        desk, shown = self._ready(), self.line
        if desk is not None and shown is not None:
            run_job(self, partial(self._edit, desk, shown), group="edit")

    async def _edit(self, desk: "EngineAdapter", shown: "PageLine") -> None:
        found = await desk.digests.memories([shown.memory_id])
        if not found:
            toast(self, "The line's memory is no longer there", severity="warning")
            return
        row = found[0]

        async def edit(written: Written) -> str:
            return await self._changes.edit(desk, row, written.change(row))

        self.app.push_screen(MemoryForm(row, (), edit), self._changed)

    def action_delete(self) -> None:
        """Delete the memory that the line is, after asking; the line then stays away."""
        desk, shown = self._ready(), self.line
        if desk is None or shown is None:
            return

        def answered(yes: bool | None) -> None:
            if yes:
                ids = [shown.memory_id]
                self._do(partial(self._changes.delete, desk, ids))

        touched = [line((one_line(shown.text), "text"))]
        undo = key_of("project.undo")
        note = f"It isn't told again, whatever sessions show. {undo} undoes this."
        dialog = ConfirmDialog("Delete this line?", touched, yes="Delete", note=note)
        self.app.push_screen(dialog, answered)

    def action_undo(self) -> None:
        """Undo your last change of a memory, also one of an earlier run."""
        desk = self._ready()
        if desk is not None:
            self._do(partial(self._changes.step, desk, undoes=True))

    def _do(self, act: Act) -> None:
        async def run() -> None:
            self._changed(await act() or "You have changed nothing that can be undone here")

        run_job(self, run, group="change", newest_only=False)

    def _changed(self, message: str | None) -> None:
        if message:
            toast(self, message)
            run_job(self, self.load, group="load", failed=self.fail)
