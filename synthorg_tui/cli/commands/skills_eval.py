"""``skills eval``: whether a skill helps, level by level, the cheapest first."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, ArgumentGroup, path
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import Answer, Line, Lines, Parts, View, local_time
from synthorg_tui.cli.records import Json, fields
from synthorg_tui.core.paths import expand_home, short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.curation.overview import SkillOverviewRow
    from synthorg_tui.evaluation.models import ReplayResult, SkillEvaluation
    from synthorg_tui.evaluation.replay import ReplayPlan
    from synthorg_tui.evaluation.service import EvaluationService

HARMS: Final = 1
"""Exit code when a text has errors, or runs with the skill went worse."""
_REPLAY: Final = "replay"
_LEVELS: Final = ("lint", "trigger", _REPLAY, "recurrence")


@Command(
    "eval",
    "tell whether a skill or a proposal helps",
    more="Without --level it\nlooks at all that needs no agent. A replay says first what it "
    "takes at most, and asks at your terminal. Exits with 1 when the text has errors or "
    "runs with the skill went worse.",
    examples=(
        "skills eval push-new-branch",
        "skills eval --all --json",
        "skills eval push-new-branch --level replay --executor claude --runs 3",
    ),
    arguments=(
        Argument("skill", nargs="?", metavar="NAME", help="a skill, or the id of a proposal"),
        Argument("--all", action="store_true", help="every approved skill"),
        Argument("--level", choices=_LEVELS, help="only this one (default: all but replay)"),
        ArgumentGroup(
            Argument("--executor", default="builtin", metavar="NAME", help="who runs the cases"),
            Argument("--model", metavar="NAME", help="another model than the executor's own"),
            Argument("--runs", type=int, default=3, metavar="N", help="with it, and without it"),
            Argument("--turns", type=int, default=30, metavar="N", help="of a run at most"),
            Argument("--timeout", type=int, default=600, metavar="SECONDS", help="of a run"),
            Argument("--cases", type=path, metavar="FILE", help="an evals.json with the cases"),
            Argument(
                "--workspace",
                type=path,
                metavar="DIR",
                help="folder to copy instead of the recorded one",
            ),
            Argument("--to", type=path, metavar="DIR", help="where its files go (default: ours)"),
            Argument(
                "--write-cases",
                action="store_true",
                help="write the cases to a file to edit; run nothing",
            ),
            title="for a replay",
        ),
        Argument(
            "--from",
            dest="folder",
            type=path,
            metavar="DIR",
            help="only show an iteration's files",
        ),
    ),
).runs
async def evaluate(context: Context) -> Answer:
    """Evaluate one skill, or all that are approved; returns ``HARMS``, ``CANCELLED`` or 0."""
    args = context.args
    if args.folder is not None:
        return _files(args.folder)
    if args.all == bool(args.skill):
        raise UsageError("name a skill or a proposal, or all", remedy="Give NAME or --all.")
    if args.all:
        return await _all(context)
    if args.write_cases:
        return await _write_cases(context)
    if args.level == _REPLAY:
        return await _replay(context)
    from synthorg_tui.evaluation.models import EvaluationLevel
    from synthorg_tui.evaluation.service import QUICK

    levels = QUICK if args.level is None else (EvaluationLevel(args.level),)
    async with context.engine() as engine:
        named = await _named_by(engine, args.skill)
        found = await engine.evaluation.look(named, levels)
    wanted = [each for each in found if args.level in (None, each.level.value)]
    return _answer({named: wanted}, HARMS if _has_errors(wanted) else 0)


async def _named_by(engine: AnyEngine, text: str) -> str:
    """The path of a skill's file, or the id of a waiting proposal, that a text names."""
    if found := path_named((await engine.skills.overview()).rows, text):
        return found
    waiting = [entry.item.id for entry in await engine.reviews.inbox(include_snoozed=True)]
    ids = [item_id for item_id in waiting if item_id.startswith(text)]
    if len(ids) != 1:
        problem = "several proposals begin so" if ids else "no skill and no waiting proposal"
        raise UsageError(
            f"{text!r}: {problem}", remedy="`skills list` and `proposals list` name them."
        )
    return ids[0]


def path_named(rows: "Sequence[SkillOverviewRow]", text: str) -> str:
    """Return the path of the skill's file that a name or path stands for; "" for none.

    Raises ``UsageError`` for a name in several places.
    """
    from synthorg_tui.skills.disk import FILE_NAME

    named = expand_home(text).absolute()
    matching = [
        row for row in rows if row.name == text or Path(row.path) in (named, named / FILE_NAME)
    ]
    matching = [row for row in matching if not row.shadowed_by] or matching
    if len(matching) > 1:
        places = "\n".join(row.path for row in matching)
        raise UsageError(f"{text!r} is in several places:\n{places}", remedy="Name a path.")
    return matching[0].path if matching else ""


def in_words(known: "Sequence[SkillEvaluation]") -> str:
    """Return what is known of whether a skill helps, of its present text, in one line."""
    from synthorg_tui.evaluation.models import help_words

    return help_words(each for each in known if each.is_current)


async def _all(context: Context) -> Answer:
    if context.args.level not in (None, "trigger"):
        raise UsageError(
            f"--all looks at no single level but trigger, not at {context.args.level}",
            remedy="Name a skill, or leave --level out.",
        )
    async with context.engine() as engine:
        with context.working() as job:
            found = await engine.evaluation.look_at_all(
                progress=lambda done, total: job.show(f"{done:,} of {total:,} skills"),
                cancel=job.requested,
            )
    return _answer(found, CANCELLED if job.requested.is_set() else 0)


async def _write_cases(context: Context) -> Answer:
    async with context.own_engine() as engine:
        named = await _named_by(engine, context.args.skill)
        file, count = await engine.evaluation.write_cases(named, context.args.cases)
    return Answer(
        {"path": str(file), "cases": count},
        f"Wrote {counted(count, 'case')} to {short_path(str(file))}",
    )


async def _replay(context: Context) -> Answer:
    """Show what a replay takes, have the person agree at the terminal, and run it."""
    from synthorg_tui.cli.terminal import controlling_terminal
    from synthorg_tui.evaluation.models import ReplayResult, ReplayVerdict

    async with context.own_engine() as engine:
        named = await _named_by(engine, context.args.skill)
        plan = await _plan(context, engine.evaluation, named)
        context.console.note(*plan.cost_words)
        with controlling_terminal() as terminal:
            terminal.agree(f"Start {counted(plan.total, 'run')}?")
        with context.working() as job:
            found = await engine.evaluation.replay(
                named,
                plan,
                to=context.args.to,
                progress=lambda step: job.show(f"{step.done} of {step.total}: {step.told}"),
                cancel=job.requested,
            )
    result = found.result
    is_bad = isinstance(result, ReplayResult) and result.verdict is ReplayVerdict.HARMS
    code = CANCELLED if job.requested.is_set() else HARMS if is_bad else 0
    return _answer({named: [found]}, code)


async def _plan(context: Context, evaluation: "EvaluationService", named: str) -> "ReplayPlan":
    from synthorg_tui.runtime import RunLimits

    args = context.args
    if args.turns < 1 or args.timeout < 1:
        raise UsageError("--turns and --timeout have to be at least 1")
    return await evaluation.plan(
        named,
        executor=args.executor,
        runs=args.runs,
        limits=RunLimits(turns=min(args.turns, 1000), seconds=float(args.timeout)),
        cases=args.cases,
        workspace=args.workspace.absolute() if args.workspace else None,
        model=args.model,
    )


def _files(folder: Path) -> Answer:
    """The summary of an iteration's files, whichever dialect they are in."""
    from synthorg_tui.evaluation import dialects

    benchmark = dialects.read_benchmark(dialects.read_file(folder / dialects.BENCHMARK))
    told = {
        arm: ", ".join(f"{name} {it.mean:.2f} ±{it.stddev:.2f}" for name, it in measures.items())
        for arm, measures in benchmark.figures.items()
    }
    figures = {
        arm: {name: figure.model_dump() for name, figure in measures.items()}
        for arm, measures in benchmark.figures.items()
    }
    return Answer(
        {"figures": figures, "delta": dict(benchmark.delta)},
        [
            *(f"{arm.replace('_', ' ')}: {words}" for arm, words in told.items()),
            *(f"difference in {name}: {value:+.2f}" for name, value in benchmark.delta.items()),
        ],
    )


def _answer(found: "Mapping[str, Sequence[SkillEvaluation]]", code: int) -> Answer:
    return Answer(
        {
            "skills": [
                {"named": named, "evaluations": [_evaluation(each) for each in known]}
                for named, known in found.items()
            ]
        },
        _view(found) if found else "No approved skill to look at yet.",
        code,
    )


def _evaluation(known: "SkillEvaluation") -> Json:
    return {
        **fields(known, "level sha256 current=is_current made_at words=result.words"),
        "result": known.result.model_dump(mode="json"),
        "figures": known.result.figures,
    }


def _view(found: "Mapping[str, Sequence[SkillEvaluation]]") -> View:
    return [
        (
            Line(known[0].name if known else named, "bold"),
            not known and Line("  nothing is known of it on this level", "dim"),
            [
                (
                    Parts(
                        [(f"  {each.result.words}",), (f"{local_time(each.made_at)}{old}", "dim")]
                    ),
                    _details(each),
                )
                for each in known
                for old in ["" if each.is_current else ", of an older text"]
            ],
        )
        for named, known in found.items()
    ]


def _details(evaluation: "SkillEvaluation") -> View:
    """What is wrong with a text, and how each run was graded."""
    from synthorg_tui.evaluation.models import LintResult, ReplayResult

    result = evaluation.result
    if isinstance(result, LintResult):
        return Lines((f"    {finding}" for finding in result.findings), "yellow")
    return isinstance(result, ReplayResult) and _replay_view(result)


def _replay_view(result: "ReplayResult") -> View:
    verdict = result.verdict.value
    marks = {True: "✓", False: "✗", None: "?"}
    return (
        Line(f"    {verdict}", {"helps": "green", "harms": "red"}.get(verdict, "dim")),
        [
            (
                Line(f"    {grade.case} {grade.arm.replace('_', ' ')}, run {grade.number}", "dim"),
                [
                    f"      {marks[each.passed]} {each.text} {each.evidence}{idle}"
                    for each in grade.results
                    for idle in ["  (tells nothing)" * ((grade.case, each.text) in result.idle)]
                ],
            )
            for grade in result.grades
        ],
        Line(f"    files: {short_path(result.folder)}", "dim"),
    )


def _has_errors(known: "Sequence[SkillEvaluation]") -> bool:
    from synthorg_tui.evaluation.models import LintResult

    return any(isinstance(each.result, LintResult) and each.result.errors for each in known)
