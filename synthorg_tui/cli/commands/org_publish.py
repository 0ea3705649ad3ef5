"""``org publish``: approved policies as a marked block in the rule files of projects."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, ArgumentGroup, storable_path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.output import BLANK, Answer, Console, Diff, Parts, View, local_time
from synthorg_tui.cli.records import fields, shaped
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
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


@Command(
    "publish",
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
    arguments=(
        Argument(
            "--project",
            action="append",
            type=storable_path,
            metavar="PATH",
            default=[],
            help="folder of a project; may be repeated (default: this folder)",
        ),
        Argument("--all", action="store_true", help="everywhere it was published before"),
        Argument(
            "--file",
            action="append",
            choices=_FILES,
            metavar="NAME",
            default=[],
            help=f"{', '.join(_FILES)} (default: where it is already, else the first the project "
            "has)",
        ),
        Argument(
            "--with",
            action="append",
            choices=_PARTS,
            metavar="PART",
            dest="parts",
            help="conventions, adrs (titles of decisions) or nothing beside the policies "
            "(default: as before)",
        ),
        ArgumentGroup(
            Argument("--remove", action="store_true", help="take the block out again"),
            Argument("--undo", action="store_true", help="take the last publishing back"),
            Argument(
                "--check",
                action="store_true",
                help="tell which blocks are out of date; exit code 1 if any",
            ),
        ),
        Argument("--dry-run", action="store_true", help="only show what would change"),
        Argument(
            "--force",
            action="store_true",
            help="replace or remove what was edited by hand, too",
        ),
    ),
).runs
async def publish(context: Context) -> Answer:
    """Publish, remove, undo or check; only a person at the terminal has anything written."""
    from synthorg_tui.cli.terminal import deciding_person
    from synthorg_tui.organisation.publishing import take_back, write

    args = context.args
    if args.all and args.project:
        raise UsageError("--all and --project exclude each other")
    if args.check:
        return await _check(context)
    if args.dry_run:
        async with context.engine() as engine:
            return _report(await _plans(context, engine), written=False)
    async with context.own_engine() as engine:
        with deciding_person(engine.settings.approvals) as terminal:
            plans = await _plans(context, engine)
            _require_nothing_lost(context, plans)
            if changed := [plan for plan in plans if plan.is_needed]:
                _show_diffs(context, changed)
                what = counted(len(changed), "file")
                if terminal.ask(f"Write {what}? Type yes:").lower() != "yes":
                    raise DeclinedError("nothing was changed")
            records = engine.organisation.publications
            await (take_back if args.undo else write)(plans, records, person=terminal.person)
    return _report(plans, written=True)


async def _plans(context: Context, engine: AnyEngine) -> "tuple[BlockPlan, ...]":
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


def _places(context: Context, publishing: "Publishing") -> list[tuple[Path, str]]:
    """The files that are meant, each with its project."""
    from synthorg_tui.organisation.publishing import usual_file

    found: list[tuple[Path, str]] = []
    for project in context.args.project or [Path()]:
        names = context.args.file or publishing.names_in(project)
        if not names and context.args.remove:
            paths = {name: Path(project) / name for name in _FILES}
            names = [n for n, file in paths.items() if file.is_file() and not file.is_symlink()]
        found += [(project, name) for name in names or [usual_file(project)]]
    return list(dict.fromkeys(found))


def _require_nothing_lost(context: Context, plans: "Sequence[BlockPlan]") -> None:
    from synthorg_tui.organisation.project_block import PublishError

    lost = [plan for plan in plans if plan.would_lose]
    if lost and not context.args.force:
        _show_diffs(context, lost)
        files = ", ".join(short_path(str(plan.path)) for plan in lost)
        raise PublishError(
            f"the block in {files} isn't what was published: somebody changed it",
            remedy="See the difference above; --force replaces it.",
        )


def _show_diffs(context: Context, plans: "Sequence[BlockPlan]") -> None:
    """Print the changes before they are made: beside the result when that is for a program."""
    console = context.console
    (Console(console.err, console.err) if context.wants_json else console).show(_diffs(plans))


def _diffs(plans: "Sequence[BlockPlan]") -> View:
    return [(Diff(plan.diff()), BLANK) for plan in plans]


def _report(plans: "Sequence[BlockPlan]", *, written: bool) -> Answer:
    return Answer(
        {
            "files": [
                {
                    **fields(plan, "path project state changed=is_needed"),
                    "written": written and plan.is_needed,
                    **fields(plan, "would_lose entries=publication.entries"),
                    "diff": plan.diff(),
                }
                for plan in plans
            ],
            "written": written,
        },
        [
            not written and _diffs([plan for plan in plans if plan.is_needed]),
            [f"{short_path(str(each.path))} {_done(each, written=written)}" for each in plans],
        ],
    )


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
    return (
        "has no block of ours any more."
        if plan.after is not None
        else "is removed: it was made for this."
    )


async def _check(context: Context) -> Answer:
    """Tell how each block compares with what would be published now."""
    from synthorg_tui.organisation.publishing import Publishing

    async with context.engine() as engine:
        entries = await engine.organisation.entries()
        standing = await engine.organisation.published()
    blocks = Publishing(entries, standing).published(context.args.project)
    outdated = sum(not one.is_current for one in blocks)
    names = "path=publication.path project=publication.project state problem"
    return Answer(
        {
            "files": shaped(
                blocks,
                f"{names} entries=publication.entries published_at=publication.made_at"
                " published_by=publication.actor",
            ),
            "outdated": outdated,
        },
        [_block_view(one) for one in blocks]
        or "Nothing is published yet; `synthorg-tui org publish` does it.",
        code=int(outdated > 0),
    )


def _block_view(block: "PublishedBlock") -> View:
    said = block.problem or _STATES[block.state.value]
    path, when = short_path(block.publication.path), local_time(block.publication.made_at)
    style = "green" if block.is_current else "yellow"
    return Parts([(path, "bold"), (said, style), (when, "dim")])
