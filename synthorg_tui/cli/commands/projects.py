"""``projects``: what is known of each project, made by code from the sessions that show it."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import ProgressLine, local_time
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.cli.shapes import Json
    from synthorg_tui.knowledge.pages import PageLine, ProjectPage


def add(commands: Subparsers) -> None:
    """Add the parser of ``projects`` to ``commands``; without a subcommand it lists them."""
    parser = add_command(
        commands,
        "projects",
        run_list,
        COMMANDS["projects"].summary,
        more="Without a command\nthe projects are listed.",
        examples=("projects", "projects show shop", "projects show shop > shop.md"),
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = add_command(
        actions,
        "list",
        run_list,
        "list projects with how much is known of each",
        examples=("projects list", "projects list --all --json"),
    )
    for each in (parser, listing):
        each.add_argument(
            "--all", action="store_true", help="also those of which nothing is certain yet"
        )
    _add_show(actions)
    add_command(
        actions,
        "refresh",
        run_refresh,
        "look at sessions that are new or changed; every import does so too",
        more="Ctrl-C stops it and\nkeeps what is done.",
        examples=("projects refresh",),
    )


def _add_show(actions: Subparsers) -> None:
    showing = add_command(
        actions,
        "show",
        run_show,
        "show what is known of a project, as Markdown",
        more="Each line has\nits counters, how certain it is, and the lines of the sessions that"
        " show it:\n`sessions show ID#LFIRST-LLAST` shows those. A line is a memory: change or\n"
        "delete it with `memories edit` and `memories delete`, and it stays so.\n"
        "The page `you` has what you said of how to work in all projects.",
        examples=("projects show shop", "projects show ~/work/shop --json", "projects show you"),
    )
    showing.add_argument("name", metavar="NAME", help="a project's name, or its folder")


async def run_list(context: "Context") -> int:
    """List the projects of which sessions were imported."""
    async with context.engine() as engine:
        every = await engine.knowledge.projects()
        waiting = await engine.knowledge.waiting()
    pages = [page for page in every if page.lines or context.args.all]
    if context.wants_json:
        listed = [{**_head(page), "lines": len(page.lines)} for page in pages]
        context.console.json({"projects": listed, "total": len(every), "waiting": waiting})
        return 0
    if pages:
        rows = [
            (
                page.name,
                counted(len(page.lines), "line"),
                counted(page.sessions, "session") if page.project else "",
                local_time(page.last) if page.last else "",
                short_path(page.project),
            )
            for page in pages
        ]
        context.console.table(("PROJECT", "KNOWN", "FROM", "LAST", "FOLDER"), rows)
    elif not every and not waiting:
        context.console.line("No projects; they come with `synthorg-tui import`.")
    if others := len(every) - len(pages):
        more = counted(others, "project")
        context.console.note(f"{more} of which nothing is certain yet: --all lists them.")
    _tell_waiting(context, waiting)
    return 0


async def run_show(context: "Context") -> int:
    """Show one page."""
    from synthorg_tui.knowledge.pages import find_page

    async with context.engine() as engine:
        pages = await engine.knowledge.projects()
        waiting = await engine.knowledge.waiting()
    page = find_page(pages, context.args.name)
    if context.wants_json:
        lines = [_line(shown) for shown in page.lines]
        context.console.json({**_head(page), "lines": lines})
        return 0
    context.console.line(page.markdown().rstrip("\n"))
    _tell_waiting(context, waiting)
    return 0


async def run_refresh(context: "Context") -> int:
    """Look at sessions that changed."""
    from synthorg_tui.cli.context import cancelled_by_signal

    line = ProgressLine(context.console)
    async with context.engine() as engine:
        with cancelled_by_signal(context.console) as cancellation, line:
            report = await engine.knowledge.refresh(
                lambda done, total: line.update(f"Session {done} of {total}"),
                cancellation.requested,
            )
    change = report.change
    result: Json = {
        "sessions": report.sessions,
        "added": change.added,
        "updated": change.updated,
        "withdrawn": change.withdrawn,
        "restored": change.restored,
        "cancelled": report.cancelled,
    }
    context.print_result(result, f"{report}.")
    return CANCELLED if report.cancelled else 0


def _tell_waiting(context: "Context", waiting: int) -> None:
    if waiting:
        sessions = counted(waiting, "session")
        context.console.note(f"{sessions} not looked at yet: run `synthorg-tui projects refresh`.")


def _head(page: "ProjectPage") -> "Json":
    return {
        "name": page.name,
        "project": page.project or None,
        "sessions": page.sessions,
        "last": page.last.isoformat() if page.last else None,
    }


def _line(shown: "PageLine") -> "Json":
    line = shown.line
    return {
        "section": line.section,
        "text": shown.text,
        "counts": line.counts,
        "good": line.good,
        "bad": line.bad,
        "sessions": line.sessions,
        "last": line.last.isoformat() if line.last else None,
        "certainty": line.certainty,
        "episodes": list(line.episodes),
        "memory_id": shown.memory_id,
        "edited": shown.edited,
    }
