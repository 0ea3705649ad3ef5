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
from synthorg_tui.cli.output import Answer, Console
from synthorg_tui.cli.shapes import Json
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
        lambda console: _show(console, plan, chosen),
        note=f"Next: the same with --apply{more}." if chosen else "",
    )
    if not args.apply or not chosen:
        return planned
    if not context.wants_json:
        _show(context.console, plan, chosen)
    numbers = [change.number for change in chosen]
    async with context.deciding() as (own, terminal):
        terminal.agree(f"Apply {counted(len(chosen), 'change')} of {plan.project}?")
        outcome = await own.org_imports.apply(
            Path(plan.project), plan.mark, numbers, actor=str(terminal.person)
        )
    return Answer(_plan_shape(plan, chosen, outcome), f"{str(outcome).capitalize()}.")


def _show(console: Console, plan: "OrgImportPlan", chosen: "Sequence[PlannedChange]") -> None:
    """Print the plan file by file, then what wasn't read, then the counts."""
    taken = {change.number for change in chosen}
    for path, changes in groupby(plan.changes, key=lambda change: change.path):
        console.line(path, "bold")
        for change in changes:
            _show_change(console, change, chosen=change.number in taken)
    console.warning(*(f"{path}: {reason}" for path, reason in plan.problems))
    read = counted(len(plan.files), "file")
    if not plan.files and not plan.problems:
        console.line(f"No files of rules or decisions in {plan.project}.")
        return
    counts = [f"{read} read", f"{plan.unchanged:,} unchanged"]
    kinds = Counter(change.kind for change in plan.changes)
    counts += [f"{number:,} {kind}" for kind, number in kinds.items()]
    if flagged := sum(bool(change.flags) for change in plan.changes):
        counts.append(f"{flagged:,} flagged")
    console.line(f"{', '.join(counts)}; {len(chosen):,} chosen.")


def _show_change(console: Console, change: "PlannedChange", *, chosen: bool) -> None:
    mark = "+" if chosen else " "
    console.parts(
        [
            (f" {mark}", "green"),
            (change.kind, _STYLES[change.kind]),
            (change.category, "dim"),
            (change.traits.source.rpartition("#")[2], "dim"),
            (change.traits.title, "dim"),
            (change.traits.status,),
            (change.note, "yellow"),
        ]
    )
    if change.before and change.before != change.content:
        before = change.before.split("\n")[:_MAX_LINES]
        console.lines((f"     - {line}" for line in before), "red")
    console.lines(f"     {line}" for line in change.content.split("\n")[:_MAX_LINES])
    console.lines((f"     ! {flag}" for flag in change.flags), "red")


def _plan_shape(
    plan: "OrgImportPlan", chosen: "Sequence[PlannedChange]", outcome: "ImportOutcome | None"
) -> Json:
    taken = {change.number for change in chosen}
    return {
        "project": plan.project,
        "files": [
            {"path": file.path, "kind": file.kind, "found": file.found, "also": list(file.also)}
            for file in plan.files
        ],
        "problems": [{"path": path, "reason": reason} for path, reason in plan.problems],
        "unchanged": plan.unchanged,
        "changes": [
            {
                "number": change.number,
                "kind": change.kind,
                "chosen": change.number in taken,
                "fact_id": change.fact_id,
                "category": change.category,
                "source": change.traits.source,
                "section": change.traits.title,
                "content": change.content,
                "before": change.before,
                "flags": list(change.flags),
                "note": change.note,
            }
            for change in plan.changes
        ],
        "applied": None
        if outcome is None
        else {
            "added": outcome.added,
            "changed": outcome.changed,
            "retracted": outcome.retracted,
        },
    }
