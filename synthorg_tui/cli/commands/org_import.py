"""``org import``: the rules and decisions that a project keeps in files become facts."""

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, storable_path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import Answer, Line, Lines, Parts, View, Warn
from synthorg_tui.cli.records import Json, fields, pairs, shaped
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.organisation.import_plan import OrgImportPlan, PlannedChange
    from synthorg_tui.organisation.importing import ImportOutcome

KINDS: Final = (
    *("new", "changed", "gone", "conflict", "retracted", "flagged"),
    *("core_policy", "adr", "procedure", "convention"),
)
_STYLES: Final = {
    "new": "green",
    "changed": "yellow",
    "gone": "red",
    "conflict": "yellow",
    "retracted": "dim",
}
_MAX_LINES: Final = 6
"""Lines of a text that the plan shows."""


def _plan_view(plan: "OrgImportPlan", chosen: "Sequence[PlannedChange]") -> View:
    """The plan file by file, then what wasn't read, then the counts."""
    taken = {change.number for change in chosen}
    files = groupby(plan.changes, key=lambda change: change.path)
    kinds = Counter(change.kind for change in plan.changes)
    flagged = sum(bool(change.flags) for change in plan.changes)
    counts = [
        f"{counted(len(plan.files), 'file')} read",
        f"{plan.unchanged:,} unchanged",
        *(f"{number:,} {kind}" for kind, number in kinds.items()),
        *([f"{flagged:,} flagged"] if flagged else []),
    ]
    total = f"{', '.join(counts)}; {len(chosen):,} chosen."
    return (
        [
            (Line(path, "bold"), [_change_view(each, each.number in taken) for each in changes])
            for path, changes in files
        ],
        Warn(*(f"{path}: {reason}" for path, reason in plan.problems)),
        total
        if plan.files or plan.problems
        else f"No files of rules or decisions in {plan.project}.",
    )


def _change_view(change: "PlannedChange", chosen: bool) -> View:
    head = [
        (f" {'+' if chosen else ' '}", "green"),
        (change.kind, _STYLES[change.kind]),
        (change.category, "dim"),
        (change.traits.source.rpartition("#")[2], "dim"),
        (change.traits.title, "dim"),
        (change.traits.status,),
        (change.note, "yellow"),
    ]
    before = [] if change.before == change.content else (change.before or "").split("\n")
    return (
        Parts(head),
        Lines((f"     - {line}" for line in before[:_MAX_LINES] if change.before), "red"),
        Lines(f"     {line}" for line in change.content.split("\n")[:_MAX_LINES]),
        Lines((f"     ! {flag}" for flag in change.flags), "red"),
    )


def _kinds(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [name for name in found if name not in KINDS]
    if not found or unknown:
        named = ", ".join(unknown) or "nothing"
        raise argparse.ArgumentTypeError(f"{named} isn't one of {', '.join(KINDS)}")
    return found


@Command(
    "import",
    "read a project's CLAUDE.md, AGENTS.md, Cursor rules, ADRs and the like",
    more="Without\n--apply it only shows what would change. With it you are asked, and what was"
    " done is\none act that can be undone as a whole. What looks like an attempt to steer an"
    " agent\n(flagged), what you changed here since (conflict) and what you retracted"
    " (retracted) is\napplied only when --only names it.",
    examples=(
        "org import",
        "org import ~/work/shop --apply",
        "org import --only adr --apply",
        "org import --only new,flagged --json",
    ),
    arguments=(
        Argument(
            "path",
            metavar="PATH",
            nargs="?",
            type=storable_path,
            default=Path(),
            help="folder of the project (this one)",
        ),
        Argument("--apply", action="store_true", help="write what the plan shows"),
        Argument(
            "--only",
            metavar="KIND",
            type=_kinds,
            default=(),
            help=f"only these, with commas: {', '.join(KINDS)}",
        ),
    ),
).runs
async def import_files(context: Context) -> Answer | int:
    """Show what importing a project's files would change, and do it with ``--apply``."""
    args = context.args
    async with context.engine() as engine:
        with context.working() as job:
            plan = await engine.org_imports.plan(
                args.path.absolute(),
                progress=lambda done, total: job.show(f"file {done:,} of {total:,}"),
                cancel=job.requested,
            )
    if plan.cancelled:
        context.console.note("Stopped; nothing was changed.")
        return CANCELLED
    chosen = plan.chosen(args.only)
    more = f" --only {','.join(args.only)}" if args.only else ""
    planned = Answer(
        _plan_shape(plan, chosen, None),
        _plan_view(plan, chosen),
        note=f"Next: the same with --apply{more}." if chosen else "",
    )
    if not args.apply or not chosen:
        return planned
    if not context.wants_json:
        context.console.show(_plan_view(plan, chosen))
    numbers = [change.number for change in chosen]
    async with context.deciding() as (own, terminal):
        terminal.agree(f"Apply {counted(len(chosen), 'change')} of {plan.project}?")
        outcome = await own.org_imports.apply(
            Path(plan.project), plan.mark, numbers, actor=str(terminal.person)
        )
    return Answer(_plan_shape(plan, chosen, outcome), f"{str(outcome).capitalize()}.")


def _plan_shape(
    plan: "OrgImportPlan", chosen: "Sequence[PlannedChange]", outcome: "ImportOutcome | None"
) -> Json:
    taken = {change.number for change in chosen}
    return {
        "project": plan.project,
        "files": shaped(plan.files, "path kind found also"),
        "problems": pairs(plan.problems, "path", "reason"),
        "unchanged": plan.unchanged,
        "changes": [
            {
                **fields(change, "number kind"),
                "chosen": change.number in taken,
                **fields(change, "fact_id category source=traits.source section=traits.title"),
                **fields(change, "content before flags note"),
            }
            for change in plan.changes
        ],
        "applied": outcome and fields(outcome, "added changed retracted"),
    }
