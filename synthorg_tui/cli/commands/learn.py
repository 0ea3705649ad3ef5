"""``learn``."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.commands.transcripts import CANCELLED
from synthorg_tui.cli.console import Console, plural
from synthorg_tui.cli.context import Context, cancelled_by_signal
from synthorg_tui.cli.progress import ProgressLine

if TYPE_CHECKING:
    from synthorg_tui.learning.models import Learned, LearnProgress, LearnReport

_SAID = {
    "proposed": "new",
    "seen_again": "seen again",
    "known": "known",
    "adopted": "adopted already",
    "rejected": "rejected before",
    "uncertain": "too uncertain",
}


class LearnLine(ProgressLine):
    """``reading 3 of 20 sessions``, ``wording 1 of 4 lessons``."""

    def __call__(self, step: "LearnProgress") -> None:
        """Show how far learning is."""
        if self.is_due:
            unit = "sessions" if step.stage == "reading" else "lessons"
            self.show(f"{step.stage} {step.done:,} of {step.total:,} {unit}")


async def run_learn(context: Context) -> int:
    """Draw lessons from what was imported and put them into the queue."""
    args = context.args
    async with context.engine() as engine:
        line = LearnLine(context.console)
        with cancelled_by_signal(context.console) as cancellation, line:
            report = await engine.learning.learn(
                since=args.since,
                word=not args.no_model,
                progress=line,
                cancel=cancellation.requested,
            )
    if context.wants_json:
        context.console.json(_shape(report))
    else:
        _show(context.console, report)
    for text in report.warnings:
        context.console.warning(text)
    return CANCELLED if report.cancelled else 0


def _shape(report: "LearnReport") -> dict[str, object]:
    return {
        "executions": report.executions,
        "lessons": [
            {
                "id": each.item_id,
                "title": each.title,
                "verdict": each.verdict.value,
                "recurrence": each.recurrence,
                "confidence": each.confidence,
                "worded": list(each.worded),
            }
            for each in report.lessons
        ],
        "warnings": list(report.warnings),
        "cancelled": report.cancelled,
    }


def _show(console: Console, report: "LearnReport") -> None:
    read = f"{plural(report.executions, 'session')} read"
    console.parts([(read,), (plural(len(report.lessons), "lesson"), "bold")])
    for each in report.lessons:
        console.line(f"{each.item_id}  {_SAID[each.verdict.value]}{_seen(each)}", "bold")
        console.line(f"  {each.title}")
    if any(each.verdict.value in {"proposed", "seen_again"} for each in report.lessons):
        console.note("Next: `synthorg-tui proposals list`, or the app's Approvals.")
    elif not report.lessons:
        console.note("Nothing went wrong there that would come up again.")


def _seen(lesson: "Learned") -> str:
    words = f", worded by the model: {', '.join(lesson.worded)}" if lesson.worded else ""
    times = plural(lesson.recurrence, "session")
    return f" · seen in {times} · confidence {lesson.confidence:.2f}{words}"
