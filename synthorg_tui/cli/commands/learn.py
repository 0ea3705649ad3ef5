"""``learn``: draws lessons from the imported sessions and proposes them to the person."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import SINCE, Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import Answer, Line, Lines, Note, Parts, View, Warn
from synthorg_tui.cli.records import fields, shaped
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.learning.models import Learned, LearnProgress, LearnReport

_VERDICTS: Final = {
    "proposed": "new",
    "seen_again": "seen again",
    "known": "known",
    "adopted": "adopted already",
    "rejected": "rejected before",
    "uncertain": "too uncertain",
    "crowded": "left out, since too much of this agent waits",
}


@Command(
    "learn",
    is_long=True,
    more="They wait for you:\n`synthorg-tui proposals list` shows them.",
    examples=("learn", "learn --since 7d --no-model"),
    arguments=(
        SINCE,
        Argument(
            "--no-model", action="store_true", help="leave the wording as it was put together"
        ),
    ),
).asks
async def learn(context: Context, engine: AnyEngine) -> Answer:
    """Draw lessons from imported executions and put them into the queue of proposals."""
    with context.working() as job:
        if await engine.executions.unlearnt():  # knowledge has yet to be drawn from them, too
            await engine.knowledge.refresh(cancel=job.requested)
        report = await engine.learning.learn(
            since=context.args.since,
            word=not context.args.no_model,
            progress=lambda step: job.show(_progress(step)),
            cancel=job.requested,
        )
    if context.wants_json:
        context.console.warning(*report.warnings)
    names = "id=item_id title verdict recurrence confidence worded refused seconds"
    return Answer(
        {
            "executions": report.executions,
            "lessons": shaped(report.lessons, names),
            **fields(report, "notes warnings cancelled"),
        },
        _view(report),
        CANCELLED if report.cancelled else 0,
    )


def _view(report: "LearnReport") -> View:
    read = f"{counted(report.executions, 'session')} read"
    more = "" if report.lessons else "Nothing went wrong there that would come up again."
    if any(lesson.verdict.value in {"proposed", "seen_again"} for lesson in report.lessons):
        more = "Next: `synthorg-tui proposals list`, or the app's Approvals."
    return (
        Parts([(read,), (counted(len(report.lessons), "lesson"), "bold")]),
        [
            (
                Line(f"{each.item_id}  {_VERDICTS[each.verdict.value]}{_seen(each)}", "bold"),
                f"  {each.title}",
                Lines((f"  refused: {why}" for why in each.refused), "dim"),
            )
            for each in report.lessons
        ],
        Note(*report.notes, more),
        Warn(*report.warnings),
    )


def _progress(step: "LearnProgress") -> str:
    unit = "sessions" if step.stage == "reading" else "lessons"
    return f"{step.stage} {step.done:,} of {step.total:,} {unit}"


def _seen(lesson: "Learned") -> str:
    words = f", worded by the model: {', '.join(lesson.worded)}" if lesson.worded else ""
    times = f"seen in {counted(lesson.recurrence, 'session')}" if lesson.recurrence else "reported"
    return f" · {times} · confidence {lesson.confidence:.2f}{words}"
