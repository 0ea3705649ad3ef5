"""``evolve`` and ``prune``: both only propose."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.console import Console, plural
from synthorg_tui.cli.context import Context, UsageError
from synthorg_tui.cli.progress import CountProgress

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalItem
    from synthorg_tui.curation.pruning import PruneReport
    from synthorg_tui.learning.promotion import Evolution

_NEXT = "Next: `synthorg-tui proposals list`, or the app's Approvals."


async def run_evolve(context: Context) -> int:
    """One cycle of the evolver now, whatever the schedule says."""
    if not context.settings().memory.procedural.evolver.enabled:
        raise UsageError(
            "the evolver is off", remedy="Set memory.procedural.evolver.enabled to true."
        )
    async with context.engine() as engine:
        with CountProgress(context.console, "sessions") as line:
            evolution = await engine.evolution.run(
                progress=lambda step: line(step.done, step.total)
            )
    if context.wants_json:
        context.console.json(_evolution_shape(evolution))
    else:
        _show_evolution(context.console, evolution)
    return 0


async def run_prune(context: Context) -> int:
    """Propose what can go by the configured strategy."""
    async with context.engine() as engine:
        report = await engine.pruning.propose()
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


def _evolution_shape(evolution: "Evolution") -> dict[str, object]:
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
        "items": [_item_shape(item, evolution) for item in report.items],
    }


def _item_shape(item: "ApprovalItem", evolution: "Evolution") -> dict[str, object]:
    return {
        "id": item.id,
        "kind": item.action_type,
        "title": item.title,
        "confidence": float(item.metadata["confidence"]),
        "recurrence": int(item.metadata["recurrence"]),
        "state": _state(item, evolution),
    }


def _state(item: "ApprovalItem", evolution: "Evolution") -> str:
    if item.id in evolution.proposed:
        return "proposed"
    return "revised" if item.id in evolution.revised else "unchanged"


def _show_evolution(console: Console, evolution: "Evolution") -> None:
    report = evolution.report
    read = plural(report.trajectories, "lesson")
    console.parts([(f"{read} of single sessions",), (plural(report.patterns, "pattern"), "bold")])
    for item in report.items:
        console.line(f"{item.id}  {_state(item, evolution)}", "bold")
        console.line(f"  {item.title}")
        console.line(f"  {item.description}", "dim")
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
        console.line(f"{plural(report.skills, 'skill')}, all worth keeping.")
        return
    console.line(f"{report.chosen:,} of {plural(report.skills, 'skill')} can go.")
    for word, ids in (("proposed", report.proposed), ("revised", report.revised)):
        for item_id in ids:
            console.line(f"{item_id}  {word}", "bold")
    console.note(_NEXT)
