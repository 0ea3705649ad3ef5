"""``evolve`` and ``prune``: propose shared skills, and skills to remove; a person decides."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import skills_eval
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Console, ProgressLine
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.approvals.models import ApprovalItem
    from synthorg_tui.learning.promotion import Evolution

_NEXT: Final = "Next: `synthorg-tui proposals list`, or the app's Approvals."
_WAITS: Final = "Nothing changes before you approve it:\n`synthorg-tui proposals list` shows it."


@Command("evolve", more=_WAITS, examples=("evolve", "evolve --json")).runs
async def evolve(context: Context) -> Answer:
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
    return Answer(
        _evolution_shape(evolution, helps),
        lambda console: _show_evolution(console, evolution, helps),
    )


@Command("prune", more=_WAITS, examples=("prune", "prune --json")).asks
async def prune(context: Context, engine: AnyEngine) -> Answer:
    """Propose active skills for removal, chosen by the configured pruning strategy."""
    with ProgressLine(context.console) as line:
        report = await engine.pruning.propose(
            progress=lambda done, total: line.update(f"{done:,} of {total:,} sessions")
        )

    def show(console: Console) -> None:
        if not report.chosen:
            console.line(f"{counted(report.skills, 'skill')}, all worth keeping.")
            return
        console.line(f"{report.chosen:,} of {counted(report.skills, 'skill')} can go.")
        console.lines((f"{item_id}  proposed" for item_id in report.proposed), "bold")
        console.lines((f"{item_id}  revised" for item_id in report.revised), "bold")
        console.note(_NEXT)

    return Answer(
        {
            "skills": report.skills,
            "chosen": report.chosen,
            "proposed": list(report.proposed),
            "revised": list(report.revised),
        },
        show,
    )


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
        "items": [
            {
                "id": item.id,
                "kind": item.action_type,
                "title": item.title,
                "confidence": float(item.metadata["confidence"]),
                "recurrence": int(item.metadata["recurrence"]),
                "state": _state(item, evolution),
                "helps": helps.get(item.id, ""),
            }
            for item in report.items
        ],
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
        told = (item.description, helps.get(item.id, ""))
        console.lines((f"  {words}" for words in told if words), "dim")
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
