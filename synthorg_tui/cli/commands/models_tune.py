"""``models tune`` and what follows it: runs, checkpoints, deploying one and taking it back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from synthorg_tui.cli.arguments import Argument, limit, path, whole
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED, UsageError, usage_errors
from synthorg_tui.cli.naming import the_only
from synthorg_tui.cli.output import BLANK, Answer, Block, Table, View, Warn, local_time
from synthorg_tui.cli.records import Json, fields, listing, shaped

if TYPE_CHECKING:
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.engine import Engine
    from synthorg_tui.memory.fine_tune.models import (
        CheckpointRecord,
        FineTunePlan,
        FineTuneRun,
    )
    from synthorg_tui.memory.service import MemoryService

_LOOK_EVERY: Final = 0.3
_MOST: Final = 500
_SHORT: Final = 8
_VALUES: Final = (
    ("--epochs", int, "steps of adapter, rounds of contrastive, at most (default 60, 6)"),
    ("--learning-rate", float, "how far a step goes (default 0.0003, 0.00005)"),
    ("--temperature", float, "how sharply answers are told from others (default 0.05)"),
    ("--top-k", int, "hard negatives of each question, by meaning and by words (default 8, 4)"),
    ("--batch-size", int, "questions of a step of contrastive (default 128)"),
    ("--validation-split", float, "share of the sessions that tell when to stop (default 0.1)"),
)
_CHECKPOINT: Final = Argument("checkpoint", metavar="ID", help="its id, or how that begins")
_LIMIT: Final = limit(20, "how many, at most (default {})", most=_MOST)
Begin: TypeAlias = "Callable[[MemoryService], Awaitable[FineTuneRun]]"
_Record = TypeVar("_Record", "CheckpointRecord", "FineTuneRun")


@Command(
    "tune",
    "fit the embedding model to your memories",
    more="It learns from questions\nwhose answer is known, and judges by sessions that it "
    "didn't learn from. Nothing\nis used before you deploy it.",
    examples=("models tune", "models tune --check", "models tune --source questions/"),
    arguments=(
        Argument("--check", action="store_true", help="only look whether it could begin"),
        Argument(
            "--source", type=path, metavar="DIR", help="folder with more questions, as *.jsonl"
        ),
        Argument(
            "--write-about",
            type=whole(0, 10_000),
            default=0,
            metavar="N",
            help="have your language model write questions about N memories to learn from "
            "(default 0)",
        ),
        Argument(
            "--trainer",
            choices=("adapter", "contrastive"),
            default="adapter",
            help="a map of questions, or all weights for questions (default adapter)",
        ),
        Argument(
            "--base-model",
            type=path,
            metavar="DIR",
            help="for contrastive: folder of the model in use "
            "(default the bundled model's weights)",
        ),
        Argument("--output", type=path, metavar="DIR", help="write a copy of the checkpoint here"),
        Argument("--seed", type=whole(0, 2**31), default=0, metavar="N", help="default 0"),
        *(Argument(option, type=kind, metavar="N", help=told) for option, kind, told in _VALUES),
    ),
).runs
async def tune(context: Context) -> Answer:
    """Train a checkpoint; returns 1 when the run fails or can't begin, 130 when it is cancelled."""
    plan = _plan(context)
    if context.args.check:
        return await _check(context, plan)
    return await _follow(context, lambda service: service.start_fine_tune(plan))


@Command(
    "resume",
    "go on with a run that was interrupted",
    arguments=(Argument("run", metavar="RUN", help="its id, or how that begins"),),
).runs
async def resume(context: Context) -> Answer:
    """Go on with a run; the exit codes are those of ``tune``."""

    async def begin(service: "MemoryService") -> "FineTuneRun":
        runs, _ = await service.list_runs(limit=_MOST, offset=0)
        return await service.resume_fine_tune(_meant(runs, context.args.run).id)

    return await _follow(context, begin)


@Command("cancel", "cancel the run at work; it can be resumed").asks
async def cancel(context: Context, engine: AnyEngine) -> Answer:
    """Cancel the run at work; returns 0 also when there is none."""
    cancelled = await engine.memory_service.cancel_fine_tune()
    return Answer(
        {"cancelled": cancelled},
        f"Cancelled run {cancelled[:_SHORT]}." if cancelled else "No run is at work.",
    )


@Command("runs", "list the runs of tuning, newest first", arguments=(_LIMIT,)).asks
async def list_runs(context: Context, engine: AnyEngine) -> Answer:
    """List runs, newest first."""
    found: tuple[Sequence[FineTuneRun], int] = await engine.memory_service.list_runs(
        limit=context.args.limit, offset=0
    )
    return listing(
        "runs",
        found[0],
        run_shape,
        {
            "RUN": lambda run: run.id[:_SHORT],
            "STARTED": lambda run: local_time(run.started_at),
            "STAGE": lambda run: run.stage.value.replace("_", " "),
            "QUESTIONS": lambda run: str(run.pairs),
            "": lambda run: run.error or run.note.partition(":")[0],
        },
        empty="Nothing was trained yet; `synthorg-tui models tune` does it.",
        more={"total": found[1]},
    )


@Command(
    "checkpoints",
    "list what was trained, with figures, and what is used",
    arguments=(_LIMIT,),
).asks
async def list_checkpoints(context: Context, engine: AnyEngine) -> Answer:
    """List checkpoints, newest first, and say which embedder is in force."""
    service = engine.memory_service
    active = await service.get_active_embedder()
    found, total = await service.list_checkpoints(limit=context.args.limit, offset=0)
    tuned = f" with checkpoint {active.checkpoint_id[:_SHORT]}" if active.checkpoint_id else ""
    header = ("CHECKPOINT", "MADE", "NDCG@10", "RECALL@10", "GAIN", "")
    return Answer(
        {
            "active": active.model_dump(mode="json"),
            "checkpoints": shaped(found, checkpoint_shape),
            "total": total,
        },
        [
            bool(found) and (Table(header, [_row(each) for each in found]), BLANK),
            f"In force: {active.model}{tuned}.",
            bool(active.problem) and Warn(f"the base is used: {active.problem}"),
        ],
    )


@Command("deploy", "put a checkpoint in force; it asks you first", arguments=(_CHECKPOINT,)).decides
async def deploy(context: Context, engine: "Engine", terminal: "Terminal") -> Answer:
    """Put a checkpoint in force after a person at the terminal agreed."""
    from synthorg_tui.memory.fine_tune.deployment import require_better

    record = await _named(context, engine.memory_service)
    require_better(record)  # before a question that nothing could come of
    _agree(terminal, "Use checkpoint {} for all searches? {}", record)
    changed = await engine.memory_service.deploy_checkpoint(record.id, actor=str(terminal.person))
    return Answer(checkpoint_shape(changed), f"Deployed {record.id[:_SHORT]}; it is used at once.")


@Command(
    "rollback",
    "take the checkpoint in force back; it asks you first",
    arguments=(_CHECKPOINT,),
).decides
async def roll_back(context: Context, engine: "Engine", terminal: "Terminal") -> Answer:
    """Take the checkpoint in force back after a person at the terminal agreed."""
    record = await _named(context, engine.memory_service)
    _agree(terminal, "Take checkpoint {} back? {}", record)
    changed = await engine.memory_service.rollback_checkpoint(record.id, actor=str(terminal.person))
    return Answer(
        checkpoint_shape(changed), f"Took {record.id[:_SHORT]} back; what was before it is used."
    )


@Command(
    "delete",
    "delete a checkpoint that isn't in force; it asks you first",
    arguments=(_CHECKPOINT,),
).decides
async def delete(context: Context, engine: "Engine", terminal: "Terminal") -> Answer:
    """Delete a checkpoint after a person at the terminal agreed."""
    record = await _named(context, engine.memory_service)
    _agree(terminal, "Delete checkpoint {} with its file? {}", record)
    changed = await engine.memory_service.delete_checkpoint(record.id)
    return Answer(checkpoint_shape(changed), f"Deleted {record.id[:_SHORT]}.")


DECLARED: Final = (
    tune,
    list_runs,
    list_checkpoints,
    resume,
    cancel,
    deploy,
    roll_back,
    delete,
)
"""The commands of fine-tuning, for ``models``."""


async def _named(context: Context, service: "MemoryService") -> "CheckpointRecord":
    """The checkpoint that the argument names."""
    known, _ = await service.list_checkpoints(limit=_MOST, offset=0)
    return _meant(known, context.args.checkpoint)


def _agree(terminal: "Terminal", question: str, record: "CheckpointRecord") -> None:
    """Ask the person about a checkpoint, with its figures."""
    figures = record.eval_metrics
    told = f"({figures.words})" if figures is not None else ""
    terminal.agree(question.format(record.id[:_SHORT], told).strip())


def _plan(context: Context) -> "FineTunePlan":
    from synthorg_tui.memory.fine_tune.models import FineTunePlan

    args = context.args
    names = [option.removeprefix("--").replace("-", "_") for option, _, _ in _VALUES]
    values = {name: value for name in names if (value := getattr(args, name)) is not None}
    with usage_errors({name: f"--{name.replace('_', '-')}" for name in FineTunePlan.model_fields}):
        return FineTunePlan(
            source_dir=str((args.source or context.data_dir).absolute()),
            output_dir=str(args.output.absolute()) if args.output else None,
            base_model=str(args.base_model.absolute()) if args.base_model else None,
            trainer=args.trainer,
            write_about=args.write_about,
            seed=args.seed,
            **values,
        )


async def _check(context: Context, plan: "FineTunePlan") -> Answer:
    """Show what was found for a plan; 1 when it couldn't begin."""
    async with context.engine() as engine:
        found = await engine.memory_service.run_preflight(plan)
    rows = [(check.status.upper(), check.name, check.message) for check in found.checks]
    remedies = [(check.name, check.detail.get("remedy")) for check in found.checks]
    return Answer(
        found.model_dump(mode="json"),
        [
            Table(("", "CHECK", ""), rows),
            [f"{name}: {remedy}" for name, remedy in remedies if remedy],
        ],
        code=0 if found.can_proceed else 1,
    )


async def _follow(context: Context, begin: Begin) -> Answer:
    """Begin a run and show its stages until it is over; Ctrl-C cancels it."""
    async with context.engine() as engine:
        service = engine.memory_service
        run = await begin(service)
        with context.working() as job:
            while run.stage.is_active:
                if job.requested.is_set():
                    await service.cancel_fine_tune()
                run = await service.get_run(run.id)
                job.show(_progress(run))
                await asyncio.sleep(_LOOK_EVERY if run.stage.is_active else 0)
    if run.error is None:
        return Answer(run_shape(run), _trained(run))
    error, remedy = run.error, f"`synthorg-tui models resume {run.id[:_SHORT]}` goes on with it."
    code = CANCELLED if error.startswith("cancelled") else 1
    return Answer(run_shape(run), lambda console: console.error(error, remedy), code)


def _trained(run: "FineTuneRun") -> View:
    written = f", {run.written} of them written by your model," if run.written else ""
    is_better = run.metrics is not None and run.metrics.is_surely_better
    return (
        f"Trained on {run.pairs} questions{written} in {run.duration_seconds or 0:.0f} s.",
        Block(f"It is {run.note}."),
        is_better
        and run.checkpoint_id
        and f"`synthorg-tui models deploy {run.checkpoint_id[:_SHORT]}` uses it.",
    )


def _progress(run: "FineTuneRun") -> str:
    told = f"{run.stage.value.replace('_', ' ')} {run.progress or 0:.0%}"
    for point in run.curve[-1:]:
        told += f" · step {point.step} · loss {point.loss:.3f} · NDCG {point.metric:.3f}"
    return told


def _row(record: "CheckpointRecord") -> tuple[str, ...]:
    figures = record.eval_metrics
    state = "in force" if record.is_active else ""
    if record.erased_since:
        state = f"{state} {record.erased_since} of its memories were purged since".strip()
    head = record.id[:_SHORT], local_time(record.created_at)
    if figures is None:
        return *head, "", "", "", state
    return (
        *head,
        f"{figures.base_ndcg_at_10:.3f} -> {figures.ndcg_at_10:.3f}",
        f"{figures.base_recall_at_10:.3f} -> {figures.recall_at_10:.3f}",
        f"{figures.gain_low:+.3f} to {figures.gain_high:+.3f}",
        state or ("" if figures.is_surely_better else "can't be deployed"),
    )


def run_shape(run: "FineTuneRun") -> Json:
    """Return a run as JSON."""
    return {
        **fields(run, "id stage progress error started_at completed_at questions=pairs"),
        **fields(run, "checkpoint=checkpoint_id note"),
        "metrics": run.metrics and run.metrics.model_dump(mode="json"),
        "curve": [point.model_dump(mode="json") for point in run.curve],
    }


def checkpoint_shape(record: "CheckpointRecord") -> Json:
    """Return a checkpoint as JSON."""
    return {
        **fields(record, "id run=run_id path=model_path sha256 base_model fingerprint"),
        **fields(record, "made_at=created_at active=is_active pairs=doc_count erased_since"),
        "bytes": record.size_bytes,
        "metrics": record.eval_metrics and record.eval_metrics.model_dump(mode="json"),
    }


def _meant(known: "Sequence[_Record]", start: str) -> "_Record":
    """The one whose id begins so; raises ``UsageError`` for none or several."""
    none = UsageError(
        f"no id begins with {start!r}",
        remedy="`models runs` and `models checkpoints` list them.",
    )
    return the_only([each for each in known if each.id.startswith(start)], start, none)
