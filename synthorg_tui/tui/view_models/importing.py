"""The import screen: found places, progress, and the final report."""

from collections.abc import Sequence

from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.ports import FoundPlace, ImportOutcome, ImportStep
from synthorg_tui.tui.view_models.clockwork import counted, duration, memories, size
from synthorg_tui.tui.view_models.ink import Line, beside, line, one_line
from synthorg_tui.tui.view_models.rows import bar

_MAX_SKIPPED = 200


def place_line(place: FoundPlace, width: int, *, chosen: bool) -> Line:
    """One found place with how much is there."""
    box = ("■ ", "accent") if chosen else ("□ ", "muted")
    left = line(("  ", "text"), box, (place.reader, "strong"), ("  ", "text"))
    left.add(one_line(short_path(place.root)), "muted")
    right = line((f"{counted(place.files, 'file')}  {size(place.bytes).rjust(8)} ", "text"))
    return beside(left, right, width)


def progress_lines(step: ImportStep, width: int) -> list[Line]:
    """Bar, counts, rate and estimate of a running import."""
    share = step.bytes_done / step.bytes_total if step.bytes_total else 0.0
    size_bar = max(width - 8, 8)
    head = bar(share, size_bar).add(f" {share:>5.0%}", "strong")
    facts = f"{step.files_done:,} of {counted(step.files_total, 'file')}"
    facts += f" · {size(step.bytes_done)} of {size(step.bytes_total)}"
    left = "estimating" if step.seconds_left is None else f"{duration(step.seconds_left)} left"
    rate = f"{size(step.bytes_per_second)}/s · {left}"
    return [
        head,
        line((facts, "text")).fit(width),
        line((f"{memories(step.memories_added)} so far · {rate}", "text")).fit(width),
        line((one_line(step.current), "faint")).fit(width),
    ]


def report_lines(report: ImportOutcome) -> list[Line]:
    """What an import did, and every file it left out with the reason."""
    state = (
        ("Stopped. What was imported is kept.", "warn") if report.cancelled else ("Done.", "good")
    )
    made = [line(state), Line()]
    for label, value in (
        ("memories added", report.memories_added),
        ("memories updated", report.memories_updated),
        ("known already", report.memories_skipped),
        ("files read", report.files),
        ("sessions", report.executions),
        ("recoveries", report.recoveries),
        ("lessons proposed", report.lessons),
        ("secrets redacted", report.redactions),
        ("malformed lines", report.malformed_lines),
    ):
        role = "warn" if label == "malformed lines" and value else "text" if value else "faint"
        made.append(line((f"{value:>9,}  ", role), (label, "muted")))
    if report.lessons:
        made += [Line(), line(("4", "accent"), (" reviews what was learnt", "muted"))]
    calls = [f"{count:,} {name.replace('_', ' ')}" for name, count in report.calls if count]
    if calls:
        made += [Line(), line(("Tool calls  ", "title"), (", ".join(calls), "text"))]
    made += [Line(), *_skipped(report.skipped)]
    return made


def _skipped(skipped: Sequence[tuple[str, str]]) -> list[Line]:
    if not skipped:
        return [line(("Nothing was left out.", "muted"))]
    made = [line((f"Left out: {counted(len(skipped), 'file')}", "title"))]
    for path, reason in skipped[:_MAX_SKIPPED]:
        told = line((f"  {one_line(short_path(path))}", "text"), (f"  {one_line(reason)}", "warn"))
        told.hang = 4
        made.append(told)
    if len(skipped) > _MAX_SKIPPED:
        made.append(line((f"  and {len(skipped) - _MAX_SKIPPED:,} more", "faint")))
    return made
