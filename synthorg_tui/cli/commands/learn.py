"""``learn``: draws lessons from the imported sessions and proposes them to the person."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.arguments import Subparsers, add_command, add_since
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import Console, ProgressLine
from synthorg_tui.cli.shapes import Json
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.learning.models import Learned, LearnProgress, LearnReport

_VERDICTS = {
    "proposed": "new",
    "seen_again": "seen again",
    "known": "known",
    "adopted": "adopted already",
    "rejected": "rejected before",
    "uncertain": "too uncertain",
    "crowded": "left out, since too much of this agent waits",
}


def add(commands: Subparsers) -> None:
    """Add the parser of ``learn`` to ``commands``."""
    parser = add_command(
        commands,
        "learn",
        run_learn,
        COMMANDS["learn"].summary,
        more="They wait for you:\n`synthorg-tui proposals list` shows them.",
        examples=("learn", "learn --since 7d --no-model"),
    )
    add_since(parser)
    parser.add_argument(
        "--no-model", action="store_true", help="leave the wording as it was put together"
    )


async def run_learn(context: "Context") -> int:
    """Draw lessons from imported executions and put them into the queue of proposals."""
    from synthorg_tui.cli.context import cancelled_by_signal

    args = context.args
    async with context.engine(is_long=True) as engine:
        line = ProgressLine(context.console)
        with cancelled_by_signal(context.console) as cancellation, line:
            if await engine.executions.unlearnt():  # knowledge has yet to be drawn from them, too
                await engine.knowledge.refresh(cancel=cancellation.requested)
            report = await engine.learning.learn(
                since=args.since,
                word=not args.no_model,
                progress=lambda step: line.update(_progress(step)),
                cancel=cancellation.requested,
            )
    if context.wants_json:
        context.console.json(_shape(report))
    else:
        _show(context.console, report)
    for text in report.warnings:
        context.console.warning(text)
    return CANCELLED if report.cancelled else 0


def _progress(step: "LearnProgress") -> str:
    unit = "sessions" if step.stage == "reading" else "lessons"
    return f"{step.stage} {step.done:,} of {step.total:,} {unit}"


def _shape(report: "LearnReport") -> Json:
    return {
        "executions": report.executions,
        "lessons": [
            {
                "id": lesson.item_id,
                "title": lesson.title,
                "verdict": lesson.verdict.value,
                "recurrence": lesson.recurrence,
                "confidence": lesson.confidence,
                "worded": list(lesson.worded),
                "refused": list(lesson.refused),
                "seconds": lesson.seconds,
            }
            for lesson in report.lessons
        ],
        "notes": list(report.notes),
        "warnings": list(report.warnings),
        "cancelled": report.cancelled,
    }


def _show(console: Console, report: "LearnReport") -> None:
    read = f"{counted(report.executions, 'session')} read"
    console.parts([(read,), (counted(len(report.lessons), "lesson"), "bold")])
    for lesson in report.lessons:
        console.line(f"{lesson.item_id}  {_VERDICTS[lesson.verdict.value]}{_seen(lesson)}", "bold")
        console.line(f"  {lesson.title}")
        for why in lesson.refused:
            console.line(f"  refused: {why}", "dim")
    for note in report.notes:
        console.note(note)
    if any(lesson.verdict.value in {"proposed", "seen_again"} for lesson in report.lessons):
        console.note("Next: `synthorg-tui proposals list`, or the app's Approvals.")
    elif not report.lessons:
        console.note("Nothing went wrong there that would come up again.")


def _seen(lesson: "Learned") -> str:
    words = f", worded by the model: {', '.join(lesson.worded)}" if lesson.worded else ""
    times = f"seen in {counted(lesson.recurrence, 'session')}" if lesson.recurrence else "reported"
    return f" · {times} · confidence {lesson.confidence:.2f}{words}"
