"""``evolve`` and ``prune``: propose shared skills, and skills to remove; a person decides."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import skills_eval
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Answer, Line, Lines, Note, Parts, ProgressLine, View
from synthorg_tui.cli.records import Json, fields
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
    return Answer(_evolution_shape(evolution, helps), _evolution_view(evolution, helps))


@Command("prune", more=_WAITS, examples=("prune", "prune --json")).asks
async def prune(context: Context, engine: AnyEngine) -> Answer:
    """Propose active skills for removal, chosen by the configured pruning strategy."""
    with ProgressLine(context.console) as line:
        report = await engine.pruning.propose(
            progress=lambda done, total: line.update(f"{done:,} of {total:,} sessions")
        )
    skills = counted(report.skills, "skill")
    found = (
        f"{report.chosen:,} of {skills} can go.",
        Lines((f"{item_id}  proposed" for item_id in report.proposed), "bold"),
        Lines((f"{item_id}  revised" for item_id in report.revised), "bold"),
        Note(_NEXT),
    )
    return Answer(
        fields(report, "skills chosen proposed revised"),
        found if report.chosen else f"{skills}, all worth keeping.",
    )


def _evolution_shape(evolution: "Evolution", helps: Mapping[str, str]) -> Json:
    report = evolution.report
    return {
        "cycle": report.cycle_id,
        "window": [report.window_start.isoformat(), report.window_end.isoformat()],
        **fields(report, "lessons=trajectories patterns"),
        "skipped": fields(report, "few_agents uncertain known decided over_limit"),
        "items": [
            {
                **fields(item, "id kind=action_type title"),
                "confidence": float(item.metadata["confidence"]),
                "recurrence": int(item.metadata["recurrence"]),
                "state": _state(item, evolution),
                "helps": helps.get(item.id, ""),
            }
            for item in report.items
        ],
    }


def _evolution_view(evolution: "Evolution", helps: Mapping[str, str]) -> View:
    report = evolution.report
    read = f"{counted(report.trajectories, 'lesson')} of single sessions"
    skipped = (
        (report.few_agents, "was met by too few agents", "were met by too few agents"),
        (report.uncertain, "is not certain enough", "are not certain enough"),
        (report.known, "is known to every agent", "are known to every agent"),
        (report.decided, "was decided before", "were decided before"),
        (report.over_limit, "waits for another cycle", "wait for another cycle"),
    )
    return (
        Parts([(read,), (counted(report.patterns, "pattern"), "bold")]),
        [
            (
                Line(f"{item.id}  {_state(item, evolution)}", "bold"),
                f"  {item.title}",
                Lines((f"  {words}" for words in told if words), "dim"),
            )
            for item in report.items
            for told in [(item.description, helps.get(item.id, ""))]
        ],
        [f"{count:,} {one if count == 1 else many}" for count, one, many in skipped if count],
        bool(report.items) and Note(_NEXT),
    )


def _state(item: "ApprovalItem", evolution: "Evolution") -> str:
    if item.id in evolution.proposed:
        return "proposed"
    return "revised" if item.id in evolution.revised else "unchanged"
