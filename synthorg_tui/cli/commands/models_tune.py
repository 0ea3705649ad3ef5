"""``models tune`` and what follows it: runs, checkpoints, deploying one and taking it back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from synthorg_tui.cli.arguments import Subparsers, add_command, path, whole
from synthorg_tui.cli.errors import CANCELLED, UsageError
from synthorg_tui.cli.output import Console, ProgressLine, local_time
from synthorg_tui.cli.shapes import Json

if TYPE_CHECKING:
    import argparse

    from synthorg_tui.cli.context import AnyEngine, Context
    from synthorg_tui.memory.fine_tune.models import (
        CheckpointRecord,
        EvalMetrics,
        FineTunePlan,
        FineTuneRun,
    )
    from synthorg_tui.memory.service import MemoryService

_LOOK_EVERY: Final = 0.3
_MAX_LISTED: Final = 20
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
Begin: TypeAlias = "Callable[[MemoryService], Awaitable[FineTuneRun]]"


def add(actions: Subparsers) -> None:
    """Add the parsers of fine-tuning to the subcommands of ``models``."""
    _add_tune(actions)
    for name, run, summary in (
        ("runs", run_runs, "list the runs of tuning, newest first"),
        ("checkpoints", run_checkpoints, "list what was trained, with figures, and what is used"),
    ):
        parser = add_command(actions, name, run, summary)
        parser.add_argument(
            "--limit",
            type=whole(1, _MOST),
            default=_MAX_LISTED,
            metavar="N",
            help=f"how many, at most (default {_MAX_LISTED})",
        )
    resume = add_command(actions, "resume", run_resume, "go on with a run that was interrupted")
    resume.add_argument("run", metavar="RUN", help="its id, or how that begins")
    add_command(actions, "cancel", run_cancel, "cancel the run at work; it can be resumed")
    for name, run, summary in (
        ("deploy", run_deploy, "put a checkpoint in force; it asks you first"),
        ("rollback", run_rollback, "take the checkpoint in force back; it asks you first"),
        ("delete", run_delete, "delete a checkpoint that isn't in force; it asks you first"),
    ):
        parser = add_command(actions, name, run, summary)
        parser.add_argument("checkpoint", metavar="ID", help="its id, or how that begins")


def _add_tune(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "tune",
        run_tune,
        "fit the embedding model to your memories",
        more="It learns from questions\nwhose answer is known, and judges by sessions that it "
        "didn't learn from. Nothing\nis used before you deploy it.",
        examples=("models tune", "models tune --check", "models tune --source questions/"),
    )
    parser.add_argument("--check", action="store_true", help="only look whether it could begin")
    parser.add_argument(
        "--source", type=path, metavar="DIR", help="folder with more questions, as *.jsonl"
    )
    parser.add_argument(
        "--write-about",
        type=whole(0, 10_000),
        default=0,
        metavar="N",
        help="have your language model write questions about N memories to learn from (default 0)",
    )
    parser.add_argument(
        "--trainer",
        choices=("adapter", "contrastive"),
        default="adapter",
        help="a map of questions, or all weights for questions (default adapter)",
    )
    parser.add_argument(
        "--base-model",
        type=path,
        metavar="DIR",
        help="for contrastive: folder of the model in use (default the bundled model's weights)",
    )
    parser.add_argument(
        "--output", type=path, metavar="DIR", help="write a copy of the checkpoint here"
    )
    parser.add_argument("--seed", type=whole(0, 2**31), default=0, metavar="N", help="default 0")
    for option, kind, told in _VALUES:
        parser.add_argument(option, type=kind, metavar="N", help=told)


async def run_tune(context: "Context") -> int:
    """Train a checkpoint; returns 1 when the run fails or can't begin, 130 when it is cancelled."""
    plan = _plan(context)
    if context.args.check:
        return await _check(context, plan)
    return await _follow(context, lambda service: service.start_fine_tune(plan))


async def run_resume(context: "Context") -> int:
    """Go on with a run; the exit codes are those of ``run_tune``."""

    async def begin(service: "MemoryService") -> "FineTuneRun":
        runs, _ = await service.list_runs(limit=_MOST, offset=0)
        run_id = _meant([run.id for run in runs], context.args.run)
        return await service.resume_fine_tune(run_id)

    return await _follow(context, begin)


async def run_cancel(context: "Context") -> int:
    """Cancel the run at work; returns 0 also when there is none."""
    async with context.engine() as engine:
        cancelled = await engine.memory_service.cancel_fine_tune()
    told = f"Cancelled run {cancelled[:_SHORT]}." if cancelled else "No run is at work."
    return context.print_result({"cancelled": cancelled}, told)


async def run_runs(context: "Context") -> int:
    """List runs, newest first."""
    async with context.engine() as engine:
        runs, total = await engine.memory_service.list_runs(limit=context.args.limit, offset=0)
    if context.wants_json:
        context.console.json({"runs": [run_shape(run) for run in runs], "total": total})
        return 0
    if not runs:
        context.console.line("Nothing was trained yet; `synthorg-tui models tune` does it.")
        return 0
    rows = [
        (
            run.id[:_SHORT],
            local_time(run.started_at),
            run.stage.value.replace("_", " "),
            str(run.pairs),
            run.error or run.note.partition(":")[0],
        )
        for run in runs
    ]
    context.console.table(("RUN", "STARTED", "STAGE", "QUESTIONS", ""), rows)
    return 0


async def run_checkpoints(context: "Context") -> int:
    """List checkpoints, newest first, and say which embedder is in force."""
    async with context.engine() as engine:
        service = engine.memory_service
        active = await service.get_active_embedder()
        found, total = await service.list_checkpoints(limit=context.args.limit, offset=0)
    if context.wants_json:
        shape: Json = {
            "active": active.model_dump(mode="json"),
            "checkpoints": [checkpoint_shape(each) for each in found],
            "total": total,
        }
        context.console.json(shape)
        return 0
    console = context.console
    if found:
        header = ("CHECKPOINT", "MADE", "NDCG@10", "RECALL@10", "GAIN", "")
        console.table(header, [_row(each) for each in found])
        console.line()
    tuned = f" with checkpoint {active.checkpoint_id[:_SHORT]}" if active.checkpoint_id else ""
    console.line(f"In force: {active.model}{tuned}.")
    if active.problem:
        console.warning(f"the base is used: {active.problem}")
    return 0


async def run_deploy(context: "Context") -> int:
    """Put a checkpoint in force after a person at the terminal agreed."""

    async def act(service: "MemoryService", record: "CheckpointRecord", by: str) -> Any:
        return await service.deploy_checkpoint(record.id, actor=by)

    return await _decide(
        context, act, "Use checkpoint {} for all searches? {}", "Deployed {}; it is used at once."
    )


async def run_rollback(context: "Context") -> int:
    """Take the checkpoint in force back after a person at the terminal agreed."""

    async def act(service: "MemoryService", record: "CheckpointRecord", by: str) -> Any:
        return await service.rollback_checkpoint(record.id, actor=by)

    return await _decide(
        context, act, "Take checkpoint {} back? {}", "Took {} back; what was before it is used."
    )


async def run_delete(context: "Context") -> int:
    """Delete a checkpoint after a person at the terminal agreed."""

    async def act(service: "MemoryService", record: "CheckpointRecord", by: str) -> Any:
        return await service.delete_checkpoint(record.id)

    return await _decide(context, act, "Delete checkpoint {} with its file? {}", "Deleted {}.")


async def _decide(
    context: "Context",
    act: "Callable[[MemoryService, CheckpointRecord, str], Awaitable[Any]]",
    question: str,
    done: str,
) -> int:
    """Ask the person at the terminal about a checkpoint, and act on it."""
    from synthorg_tui.memory.fine_tune.deployment import require_better

    async with context.deciding() as (engine, terminal):
        service = engine.memory_service
        known, _ = await service.list_checkpoints(limit=_MOST, offset=0)
        record_id = _meant([each.id for each in known], context.args.checkpoint)
        record = next(each for each in known if each.id == record_id)
        if context.args.handler is run_deploy:
            require_better(record)  # before a question that nothing could come of
        short, figures = record.id[:_SHORT], record.eval_metrics
        told = f"({figures.words})" if figures is not None else ""
        terminal.agree(question.format(short, told).strip())
        changed: CheckpointRecord = await act(service, record, str(terminal.person))
    return context.print_result(checkpoint_shape(changed), done.format(short))


def _plan(context: "Context") -> "FineTunePlan":
    from pydantic import ValidationError

    from synthorg_tui.memory.fine_tune.models import FineTunePlan

    args: argparse.Namespace = context.args
    names = [option.removeprefix("--").replace("-", "_") for option, _, _ in _VALUES]
    values = {name: value for name in names if (value := getattr(args, name)) is not None}
    try:
        return FineTunePlan(
            source_dir=str((args.source or context.data_dir).absolute()),
            output_dir=str(args.output.absolute()) if args.output else None,
            base_model=str(args.base_model.absolute()) if args.base_model else None,
            trainer=args.trainer,
            write_about=args.write_about,
            seed=args.seed,
            **values,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])).replace("_", "-")
        raise UsageError(f"--{field}: {first['msg'].removeprefix('Value error, ')}") from None


async def _check(context: "Context", plan: "FineTunePlan") -> int:
    """Show what was found for a plan; 1 when it couldn't begin."""
    async with context.engine() as engine:
        found = await engine.memory_service.run_preflight(plan)
    if context.wants_json:
        context.console.json(found.model_dump(mode="json"))
    else:
        rows = [(check.status.upper(), check.name, check.message) for check in found.checks]
        context.console.table(("", "CHECK", ""), rows)
        for check in found.checks:
            if remedy := check.detail.get("remedy"):
                context.console.line(f"{check.name}: {remedy}")
    return 0 if found.can_proceed else 1


async def _follow(context: "Context", begin: Begin) -> int:
    """Begin a run and show its stages until it is over; Ctrl-C cancels it."""
    from synthorg_tui.cli.context import cancelled_by_signal

    async with _service(context) as service:
        run = await begin(service)
        with (
            cancelled_by_signal(context.console) as cancellation,
            ProgressLine(context.console) as line,
        ):
            while run.stage.is_active:
                if cancellation.requested.is_set():
                    await service.cancel_fine_tune()
                run = await service.get_run(run.id)
                line.update(
                    f"{run.stage.value.replace('_', ' ')} {run.progress or 0:.0%}{_latest(run)}"
                )
                await asyncio.sleep(_LOOK_EVERY if run.stage.is_active else 0)
    if context.wants_json:
        context.console.json(run_shape(run))
    else:
        _show(context.console, run)
    if run.error is None:
        return 0
    return CANCELLED if run.error.startswith("cancelled") else 1


@asynccontextmanager
async def _service(context: "Context") -> "AsyncIterator[MemoryService]":
    engine: AnyEngine
    async with context.engine() as engine:
        yield engine.memory_service


def _show(console: Console, run: "FineTuneRun") -> None:
    if run.error is not None:
        console.error(run.error, f"`synthorg-tui models resume {run.id[:_SHORT]}` goes on with it.")
        return
    written = f", {run.written} of them written by your model," if run.written else ""
    took = f"in {run.duration_seconds or 0:.0f} s."
    console.line(f"Trained on {run.pairs} questions{written} {took}")
    console.block(f"It is {run.note}.")
    if run.metrics is not None and run.metrics.is_surely_better and run.checkpoint_id:
        console.line(f"`synthorg-tui models deploy {run.checkpoint_id[:_SHORT]}` uses it.")


def _latest(run: "FineTuneRun") -> str:
    if not run.curve:
        return ""
    point = run.curve[-1]
    return f" · step {point.step} · loss {point.loss:.3f} · NDCG {point.metric:.3f}"


def _row(record: "CheckpointRecord") -> tuple[str, ...]:
    figures = record.eval_metrics
    state = "in force" if record.is_active else ""
    if record.erased_since:
        state = f"{state} {record.erased_since} of its memories were purged since".strip()
    if figures is None:
        return record.id[:_SHORT], local_time(record.created_at), "", "", "", state
    return (
        record.id[:_SHORT],
        local_time(record.created_at),
        f"{figures.base_ndcg_at_10:.3f} -> {figures.ndcg_at_10:.3f}",
        f"{figures.base_recall_at_10:.3f} -> {figures.recall_at_10:.3f}",
        f"{figures.gain_low:+.3f} to {figures.gain_high:+.3f}",
        state or ("" if figures.is_surely_better else "can't be deployed"),
    )


def run_shape(run: "FineTuneRun") -> Json:
    """Return a run as JSON."""
    shape: Json = {
        "id": run.id,
        "stage": run.stage.value,
        "progress": run.progress,
        "error": run.error,
        "started_at": run.started_at.isoformat(),
        "completed_at": run.completed_at.isoformat() if run.completed_at else None,
        "questions": run.pairs,
        "checkpoint": run.checkpoint_id,
        "note": run.note,
        "metrics": _figures(run.metrics),
        "curve": [point.model_dump(mode="json") for point in run.curve],
    }
    return shape


def checkpoint_shape(record: "CheckpointRecord") -> Json:
    """Return a checkpoint as JSON."""
    return {
        "id": record.id,
        "run": record.run_id,
        "path": record.model_path,
        "sha256": record.sha256,
        "base_model": record.base_model,
        "fingerprint": record.fingerprint,
        "made_at": record.created_at.isoformat(),
        "active": record.is_active,
        "pairs": record.doc_count,
        "erased_since": record.erased_since,
        "bytes": record.size_bytes,
        "metrics": _figures(record.eval_metrics),
    }


def _figures(metrics: "EvalMetrics | None") -> Json | None:
    return None if metrics is None else metrics.model_dump(mode="json")


def _meant(ids: "list[str]", start: str) -> str:
    """The one id that begins so; raises ``UsageError`` for none or several."""
    found = [each for each in ids if each.startswith(start)]
    if len(found) != 1:
        raise UsageError(
            f"{'no' if not found else 'more than one'} id begins with {start!r}",
            remedy="`models runs` and `models checkpoints` list them.",
        )
    return found[0]
