"""``evolve`` and ``prune``: propose shared skills, and skills to remove; a person decides."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command
from synthorg_tui.cli.commands import COMMANDS, skills_eval
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Console, ProgressLine
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalItem
    from synthorg_tui.cli.context import Context
    from synthorg_tui.curation.pruning import PruneReport
    from synthorg_tui.learning.promotion import Evolution

_NEXT = "Next: `synthorg-tui proposals list`, or the app's Approvals."


def add(commands: Subparsers) -> None:
    """Add the parsers of ``evolve`` and ``prune`` to ``commands``."""
    waits = "Nothing changes before you approve it:\n`synthorg-tui proposals list` shows it."
    add_command(
        commands,
        "evolve",
        run_evolve,
        COMMANDS["evolve"].summary,
        more=waits,
        examples=("evolve", "evolve --json"),
    )
    add_command(
        commands,
        "prune",
        run_prune,
        COMMANDS["prune"].summary,
        more=waits,
        examples=("prune", "prune --json"),
    )


async def run_evolve(context: "Context") -> int:
    """Run one cycle of the evolver now, regardless of the schedule."""
    if not context.settings().memory.procedural.evolver.enabled:
        setting = "Set memory.procedural.evolver.enabled to true"
        raise UsageError(
            "the evolver is off", remedy=f"{setting} in the file that `config path` names."
        )
    async with context.engine() as engine:
        with ProgressLine(context.console) as line:
            evolution = await engine.evolution.run(
                progress=lambda step: line.update(f"{step.done:,} of {step.total:,} sessions")
            )
        found = await engine.evaluation.look_at_report(evolution.report)
    helps = {item_id: skills_eval.in_words(known) for item_id, known in found.items()}
    if context.wants_json:
        context.console.json(_evolution_shape(evolution, helps))
    else:
        _show_evolution(context.console, evolution, helps)
    return 0


async def run_prune(context: "Context") -> int:
    """Propose active skills for removal, chosen by the configured pruning strategy."""
    async with context.engine() as engine:
        with ProgressLine(context.console) as line:
            report = await engine.pruning.propose(
                progress=lambda done, total: line.update(f"{done:,} of {total:,} sessions")
            )
    if context.wants_json:
        context.console.json(
            {
                "skills": report.skills,
                "chosen": report.chosen,
                "proposed": list(report.proposed),
                "revised": list(report.revised),
            }
        )
    else:
        _show_pruning(context.console, report)
    return 0


def _evolution_shape(evolution: "Evolution", helps: Mapping[str, str]) -> Json:
    report = evolution.report
    return {
        "cycle": report.cycle_id,
        "window": [report.window_start.isoformat(), report.window_end.isoformat()],
        "lessons": report.trajectories,
        "patterns": report.patterns,
        "skipped": {
            "few_agents": report.few_agents,
            "uncertain": report.uncertain,
            "known": report.known,
            "decided": report.decided,
            "over_limit": report.over_limit,
        },
        "items": [_item_shape(item, evolution, helps) for item in report.items],
    }


def _item_shape(item: "ApprovalItem", evolution: "Evolution", helps: Mapping[str, str]) -> Json:
    return {
        "id": item.id,
        "kind": item.action_type,
        "title": item.title,
        "confidence": float(item.metadata["confidence"]),
        "recurrence": int(item.metadata["recurrence"]),
        "state": _state(item, evolution),
        "helps": helps.get(item.id, ""),
    }


def _state(item: "ApprovalItem", evolution: "Evolution") -> str:
    if item.id in evolution.proposed:
        return "proposed"
    return "revised" if item.id in evolution.revised else "unchanged"


def _show_evolution(console: Console, evolution: "Evolution", helps: Mapping[str, str]) -> None:
    report = evolution.report
    read = counted(report.trajectories, "lesson")
    console.parts([(f"{read} of single sessions",), (counted(report.patterns, "pattern"), "bold")])
    for item in report.items:
        console.line(f"{item.id}  {_state(item, evolution)}", "bold")
        console.line(f"  {item.title}")
        console.line(f"  {item.description}", "dim")
        if words := helps.get(item.id):
            console.line(f"  {words}", "dim")
    for count, one, many in (
        (report.few_agents, "was met by too few agents", "were met by too few agents"),
        (report.uncertain, "is not certain enough", "are not certain enough"),
        (report.known, "is known to every agent", "are known to every agent"),
        (report.decided, "was decided before", "were decided before"),
        (report.over_limit, "waits for another cycle", "wait for another cycle"),
    ):
        if count:
            console.line(f"{count:,} {one if count == 1 else many}")
    if report.items:
        console.note(_NEXT)


def _show_pruning(console: Console, report: "PruneReport") -> None:
    if not report.chosen:
        console.line(f"{counted(report.skills, 'skill')}, all worth keeping.")
        return
    console.line(f"{report.chosen:,} of {counted(report.skills, 'skill')} can go.")
    for word, ids in (("proposed", report.proposed), ("revised", report.revised)):
        for item_id in ids:
            console.line(f"{item_id}  {word}", "bold")
    console.note(_NEXT)
