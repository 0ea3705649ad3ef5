"""``org publish``: approved policies as a marked block in the rule files of projects."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, storable_path
from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.output import Console, local_time
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.cli.shapes import Json
    from synthorg_tui.organisation.project_block import BlockPlan
    from synthorg_tui.organisation.publishing import PublishedBlock, Publishing

_FILES: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursor/rules/synthorg.mdc")
_PARTS: Final = ("conventions", "adrs", "nothing")
_STATES: Final = {
    "current": "as it should be",
    "stale": "out of date: publish again",
    "edited": "edited by hand: publish with --force, or take it out with --remove --force",
    "unknown": "not published from here, and not what would be: publish with --force",
    "gone": "taken out of the file by hand: publish again, or --remove",
    "absent": "nothing published",
}


def add_publish(actions: Subparsers) -> None:
    """Add the parser of ``org publish`` to the actions of ``org``."""
    parser = add_command(
        actions,
        "publish",
        run_publish,
        "write approved policies into AGENTS.md or CLAUDE.md of projects, and take them out",
        more="They\nstand in a marked block; every other byte of the file stays. You see the change"
        " and are\nasked at the terminal. A link, a read-only file and one that changed since are"
        " left alone.\nWhat is published where is remembered: --check compares, --undo takes the"
        " last time back.",
        examples=(
            "org publish",
            "org publish --project ~/work/shop --file CLAUDE.md --with conventions",
            "org publish --all",
            "org publish --check",
            "org publish --remove",
        ),
    )
    parser.add_argument(
        "--project",
        action="append",
        type=storable_path,
        metavar="PATH",
        default=[],
        help="folder of a project; may be repeated (default: this folder)",
    )
    parser.add_argument("--all", action="store_true", help="everywhere it was published before")
    _add_what(parser)
    _add_acts(parser)


def _add_what(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--file",
        action="append",
        choices=_FILES,
        metavar="NAME",
        default=[],
        help=f"{', '.join(_FILES)} (default: where it is already, else the first the project has)",
    )
    parser.add_argument(
        "--with",
        action="append",
        choices=_PARTS,
        metavar="PART",
        dest="parts",
        help="conventions, adrs (titles of decisions) or nothing beside the policies (default: as "
        "before)",
    )


def _add_acts(parser: "ArgumentParser") -> None:
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--remove", action="store_true", help="take the block out again")
    act.add_argument("--undo", action="store_true", help="take the last publishing back")
    act.add_argument(
        "--check", action="store_true", help="tell which blocks are out of date; exit code 1 if any"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace or remove what was edited by hand, too",
    )


async def run_publish(context: "Context") -> int:
    """Publish, remove, undo or check; only a person at the terminal has anything written."""
    from synthorg_tui.cli.terminal import controlling_terminal, require_open_to_decisions
    from synthorg_tui.organisation.publishing import take_back, write

    args = context.args
    if args.all and args.project:
        raise UsageError("--all and --project exclude each other")
    if args.check:
        return await _check(context)
    if args.dry_run:
        async with context.engine() as engine:
            plans = await _plans(context, engine)
        return _report(context, plans, written=False)
    async with context.own_engine() as engine:
        require_open_to_decisions(engine.settings.approvals)
        with controlling_terminal() as terminal:
            plans = await _plans(context, engine)
            _require_nothing_lost(context, plans)
            changed = [plan for plan in plans if plan.is_needed]
            if changed:
                _show(context, changed)
                what = counted(len(changed), "file")
                if terminal.ask(f"Write {what}? Type yes:").lower() != "yes":
                    raise DeclinedError("nothing was changed")
            records = engine.organisation.publications
            write_all = take_back if args.undo else write
            await write_all(plans, records, person=terminal.person)
    return _report(context, plans, written=True)


async def _plans(context: "Context", engine: "AnyEngine") -> "tuple[BlockPlan, ...]":
    """What the arguments ask for, file by file; nothing is written."""
    from synthorg_tui.organisation.publishing import Publishing, plan_undo

    args = context.args
    if args.undo:
        act = await engine.organisation.last_published()
        if not act:
            raise UsageError("there is no publishing to take back")
        return plan_undo(act)
    standing = await engine.organisation.published()
    publishing = Publishing(await engine.organisation.entries(), standing)
    if args.all:
        if not standing:
            raise UsageError("nothing is published yet", remedy="Name a --project.")
        places = [(Path(one.project), one.name) for one in standing]
    else:
        places = _places(context, publishing)
    if args.remove:
        return tuple(publishing.plan_removal(project, name) for project, name in places)
    parts = None if args.parts is None else [part for part in args.parts if part != "nothing"]
    return tuple(publishing.plan(project, name, parts) for project, name in places)


def _places(context: "Context", publishing: "Publishing") -> list[tuple[Path, str]]:
    """The files that are meant, each with its project."""
    from synthorg_tui.organisation.publishing import usual_file

    args = context.args
    found: list[tuple[Path, str]] = []
    for project in args.project or [Path()]:
        names = args.file or publishing.names_in(project)
        if not names and args.remove:
            paths = {name: Path(project) / name for name in _FILES}
            names = [name for name, path in paths.items() if path.is_file()]
            names = [name for name in names if not paths[name].is_symlink()]
        found += [(project, name) for name in names or [usual_file(project)]]
    return list(dict.fromkeys(found))


def _require_nothing_lost(context: "Context", plans: "Sequence[BlockPlan]") -> None:
    from synthorg_tui.organisation.project_block import PublishError

    lost = [plan for plan in plans if plan.would_lose]
    if lost and not context.args.force:
        _show(context, lost)
        files = ", ".join(short_path(str(plan.path)) for plan in lost)
        raise PublishError(
            f"the block in {files} isn't what was published: somebody changed it",
            remedy="See the difference above; --force replaces it.",
        )


def _show(context: "Context", plans: "Sequence[BlockPlan]") -> None:
    """Print the changes: beside the result when that is for a program."""
    console = context.console
    out = Console(console.err, console.err) if context.wants_json else console
    for plan in plans:
        out.diff(plan.diff())
        out.line()


def _report(context: "Context", plans: "Sequence[BlockPlan]", *, written: bool) -> int:
    if context.wants_json:
        files = [_file(plan, written=written) for plan in plans]
        context.console.json({"files": files, "written": written})
        return 0
    if not written:
        _show(context, [plan for plan in plans if plan.is_needed])
    for plan in plans:
        context.console.line(f"{short_path(str(plan.path))} {_done(plan, written=written)}")
    return 0


def _done(plan: "BlockPlan", *, written: bool) -> str:
    if not plan.is_needed:
        return "is as it should be." if plan.publication.written else "has no block of ours."
    if plan.would_lose and not written:
        return "would lose what somebody changed in the block: --force."
    if not written:
        return "would be written." if plan.after is not None else "would be removed."
    if entries := plan.publication.entries:
        return f"has {counted(len(entries), 'entry', 'entries')} now."
    if plan.publication.written:
        return "has its former block again."
    gone = "has no block of ours any more."
    return gone if plan.after is not None else "is removed: it was made for this."


def _file(plan: "BlockPlan", *, written: bool) -> "Json":
    return {
        "path": str(plan.path),
        "project": str(plan.project),
        "state": plan.state.value,
        "changed": plan.is_needed,
        "written": written and plan.is_needed,
        "would_lose": plan.would_lose,
        "entries": list(plan.publication.entries),
        "diff": plan.diff(),
    }


async def _check(context: "Context") -> int:
    """Tell how each block compares with what would be published now."""
    from synthorg_tui.organisation.publishing import Publishing

    async with context.engine() as engine:
        entries = await engine.organisation.entries()
        standing = await engine.organisation.published()
    blocks = Publishing(entries, standing).published(context.args.project)
    outdated = [one for one in blocks if not one.is_current]
    if context.wants_json:
        files = [_block(one) for one in blocks]
        context.console.json({"files": files, "outdated": len(outdated)})
        return int(bool(outdated))
    for one in blocks:
        style = "green" if one.is_current else "yellow"
        said = one.problem or _STATES[one.state.value]
        path = short_path(one.publication.path)
        when = local_time(one.publication.made_at)
        context.console.parts([(path, "bold"), (said, style), (when, "dim")])
    if not blocks:
        context.console.line("Nothing is published yet; `synthorg-tui org publish` does it.")
    return int(bool(outdated))


def _block(block: "PublishedBlock") -> "Json":
    one = block.publication
    return {
        "path": one.path,
        "project": one.project,
        "state": block.state.value,
        "problem": block.problem,
        "entries": list(one.entries),
        "published_at": one.made_at.isoformat() if one.made_at else None,
        "published_by": one.actor,
    }
