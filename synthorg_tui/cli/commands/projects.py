"""``projects``: what is known of each project, made by code from the sessions that show it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import YES, Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.naming import project_named
from synthorg_tui.cli.output import Answer, Note, local_time
from synthorg_tui.cli.records import Json, fields, pairs, shaped, table
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.projects import canonical_folder
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.knowledge.pages import ProjectPage

_MOVED: Final = 12
"""Folders of a change that are shown, at most."""
_ALL: Final = Argument(
    "--all", action="store_true", help="also those of which nothing is certain yet"
)


async def _list_projects(context: Context, engine: AnyEngine) -> Answer:
    """List the projects of which sessions were imported."""
    every = await engine.knowledge.projects()
    waiting = await engine.knowledge.waiting()
    renamed = await engine.knowledge.renamed()
    pages: list[ProjectPage] = [page for page in every if page.lines or context.args.all]
    others = f"{counted(len(every) - len(pages), 'project')} of which nothing is certain yet"
    columns: Mapping[str, Callable[[ProjectPage], str]] = {
        "PROJECT": lambda page: page.name,
        "KNOWN": lambda page: counted(len(page.lines), "line"),
        "FROM": lambda page: counted(page.sessions, "session") if page.project else "",
        "LAST": lambda page: local_time(page.last),
        "FOLDER": lambda page: short_path(page.project),
    }
    none = "" if every or waiting else "No projects; they come with `synthorg-tui import`."
    return Answer(
        {
            "projects": [{**_head(page), "lines": len(page.lines)} for page in pages],
            "total": len(every),
            "waiting": waiting,
            "renamed": pairs(renamed, "from", "to"),
        },
        [
            table(pages, columns) if pages else none,
            len(every) > len(pages) and Note(f"{others}: --all lists them."),
            [
                Note(
                    f"{old} looks renamed to {new}: `synthorg-tui projects merge {new} {old}` "
                    "makes them one."
                )
                for old, new in renamed
            ],
        ],
        note=_waiting(waiting),
    )


@Command(
    "show",
    "show what is known of a project, as Markdown",
    more="Each line has\nits counters, how certain it is, and the lines of the sessions that"
    " show it:\n`sessions show ID#LFIRST-LLAST` shows those. A line is a memory: change or\n"
    "delete it with `memories edit` and `memories delete`, and it stays so.\n"
    "The page `you` has what you said of how to work in all projects.",
    examples=("projects show shop", "projects show ~/work/shop --json", "projects show you"),
    arguments=(Argument("name", metavar="NAME", help="a project's name, or its folder"),),
).asks
async def show_project(context: Context, engine: AnyEngine) -> Answer:
    """Show one page."""
    from synthorg_tui.knowledge.pages import find_page

    page = find_page(await engine.knowledge.projects(), context.args.name)
    waiting = await engine.knowledge.waiting()
    names = "section=line.section text counts=line.counts good=line.good bad=line.bad"
    more = "sessions=line.sessions last=line.last certainty=line.certainty episodes=line.episodes"
    return Answer(
        {**_head(page), "lines": shaped(page.lines, f"{names} {more} memory_id edited")},
        page.markdown().rstrip("\n"),
        note=_waiting(waiting),
    )


@Command(
    "refresh",
    "look at sessions that are new or changed; every import does so too",
    more="Ctrl-C stops it and\nkeeps what is done.",
    examples=("projects refresh",),
).asks
async def refresh(context: Context, engine: AnyEngine) -> Answer:
    """Look at sessions that changed."""
    with context.working() as job:
        report = await engine.knowledge.refresh(
            lambda done, total: job.show(f"Session {done} of {total}"), job.requested
        )
    return Answer(
        {
            "sessions": report.sessions,
            **fields(report.change, "added updated withdrawn restored"),
            "cancelled": report.cancelled,
        },
        f"{report}.",
        code=CANCELLED if report.cancelled else 0,
    )


_KEPT: Final = Argument("project", metavar="PROJECT", help="its name, or a folder of it")
_EDIT: Final = "It shows what would move, and asks. `projects undo` takes it back."


async def _edit(context: Context, engine: AnyEngine, *, kind: str) -> Answer:
    """Show what an edit of projects moves, ask, and make it."""
    from pathlib import Path

    args, other = context.args, context.args.other
    project = await project_named(engine, args.project)
    if kind == "merge":
        other = await project_named(engine, other)
    elif kind == "split":
        other = str(Path(canonical_folder(other)))
    planned = await engine.knowledge.plan_edit(kind, project, other)
    shown = [f"  {short_path(folder)}" for folder in planned.moved if kind != "rename"]
    if not context.wants_json:
        context.console.note("\n".join([f"{planned}", *shown[:_MOVED]]))
    if not args.dry_run:
        context.confirm(f"{kind.capitalize()}?")
        await engine.knowledge.make_edit(planned, actor=context.actor)
    done = "Nothing was changed." if args.dry_run else "Done; `synthorg-tui projects undo` undoes."
    return Answer(
        {
            "kind": kind,
            **fields(planned, "source target folders=moved memories sessions"),
            "done": not args.dry_run,
        },
        done,
    )


_DRY: Final = Argument("--dry-run", action="store_true", help="only show what would move")


@Command("undo", "undo the merge, split or rename that was made last").asks
async def undo(context: Context, engine: AnyEngine) -> Answer:
    """Undo the last edit of projects."""
    undone = await engine.knowledge.undo_edit()
    return Answer(
        {"undone": undone or None}, f"Undone: {undone}." if undone else "Nothing to undo."
    )


GROUP: Final = Command(
    "projects",
    more="Without a command\nthe projects are listed.",
    examples=("projects", "projects show shop", "projects show shop > shop.md"),
    arguments=(_ALL,),
    commands=(
        Command(
            "list",
            "list projects with how much is known of each",
            examples=("projects list", "projects list --all --json"),
            arguments=(_ALL,),
        ).asks(_list_projects),
        show_project,
        refresh,
        Command(
            "merge",
            "make two projects one",
            more=f"OTHER becomes part of PROJECT.\n{_EDIT}",
            examples=(
                "projects merge newname oldname",
                "projects merge shop ~/old/shop --dry-run",
            ),
            arguments=(
                _KEPT,
                Argument("other", metavar="OTHER", help="what becomes part of it"),
                _DRY,
                YES,
            ),
        ).asks(partial(_edit, kind="merge")),
        Command(
            "split",
            "make a folder of a project one of its own",
            more=f"With all that lies in it.\n{_EDIT}",
            examples=("projects split shop ~/work/shop-fork",),
            arguments=(
                _KEPT,
                Argument("other", metavar="FOLDER", help="a folder of it"),
                _DRY,
                YES,
            ),
        ).asks(partial(_edit, kind="split")),
        Command(
            "rename",
            "call a project otherwise",
            more=_EDIT,
            examples=("projects rename shop web-shop",),
            arguments=(_KEPT, Argument("other", metavar="NAME", help="what to call it"), _DRY, YES),
        ).asks(partial(_edit, kind="rename")),
        undo,
    ),
).asks(_list_projects)


def _waiting(sessions: int) -> str:
    if not sessions:
        return ""
    told = counted(sessions, "session")
    return f"{told} not looked at yet: run `synthorg-tui projects refresh`."


def _head(page: "ProjectPage") -> Json:
    return fields(page, "name project? sessions last")
