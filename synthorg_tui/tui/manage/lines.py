"""Lines of the screens about the whole: reports, backups and planned changes."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.base.formatting import counted, moment, size
from synthorg_tui.tui.base.lines import Line, line, one_line

if TYPE_CHECKING:
    from synthorg_tui.connect.joining import LinkedSkills
    from synthorg_tui.memory.store.doctor import DoctorReport
    from synthorg_tui.persistence.backups import Backup
    from synthorg_tui.tui.manage.adapter import ClientState, PlannedConnection, ProcessFacts

_NAME_CELLS: Final = 13
_VALUE_CELLS: Final = 22


def facts_lines(facts: "ProcessFacts") -> list[Line]:
    """What the process takes and where its models are."""
    memory = line(
        ("  memory       ", "muted"),
        (size(facts.memory), "text"),
        (f" resident, {size(facts.most)} at most so far", "muted"),
    )
    models = line(
        ("  models       ", "muted"),
        (f"embedding {facts.embedding}", "text"),
        (" (loaded)" if facts.is_loaded else " (not loaded now)", "muted"),
    )
    if facts.reranking:
        models.add(f" · re-ranker {facts.reranking}", "text")
    models.add(f" · language model {facts.completion}", "text")
    if facts.remote:
        network = line(
            ("  network      ", "muted"),
            ("sends texts to ", "warn"),
            (", ".join(facts.remote), "warn"),
        )
    else:
        network = line(
            ("  network      ", "muted"),
            ("offline", "good"),
            (": nothing leaves this machine", "text"),
        )
    return [line(("This process", "title")), memory, models, network, Line()]


def report_lines(report: "DoctorReport", *, was_fixed: bool) -> list[Line]:
    """The checks of a store, as the command ``doctor`` prints them."""
    verdict = ("Everything is in order", "good") if report.ok else ("Something is wrong", "bad")
    marks = {True: ("  ✓ ", "good"), False: ("  ✗ ", "bad")}
    repairs = [Line(), line(("R", "accent"), (" repairs what can be repaired", "muted"))]
    return [
        line(("The store  ", "title"), verdict),
        *(
            line(
                marks[check.ok],
                (f"{check.name:<{_NAME_CELLS - 2}} ", "strong"),
                (check.detail, "text"),
                hang=_NAME_CELLS + 3,
            )
            for check in report.checks
        ),
        *([] if report.ok or was_fixed else repairs),
    ]


def failure_lines(error: DomainError) -> list[Line]:
    """An error and its remedy; an error of several lines has a line for each."""
    remedy = [Line(), line(("→ ", "accent"), (error.remedy, "text"))]
    return [
        *(
            line(("✗ " if at == 0 else "  ", "bad"), (text, "text"), hang=2)
            for at, text in enumerate(error.message.split("\n"))
        ),
        *(remedy if error.remedy else []),
    ]


def backup_line(backup: "Backup", now: datetime) -> Line:
    """A backup: when, how large, by whom."""
    return line(
        (f"{moment(backup.made_at, now):<32}", "text"),
        (f"{size(backup.size):>10}  ", "strong"),
        (f"{'daily' if backup.is_daily else 'by hand':<8}", "muted"),
        (one_line(backup.path.name), "faint"),
    )


def client_line(state: "ClientState") -> Line:
    """A coding agent and where it is connected."""
    connected = " and ".join(f"in this {s}" if s == "project" else "for you" for s in state.scopes)
    mark = ("● ", "good") if state.scopes else ("○ ", "faint")
    text = f"connected {connected}" if state.scopes else "not connected"
    return line(mark, (f"{state.client.title:<14}", "strong"), (text, "muted"))


def plan_lines(plan: "PlannedConnection") -> list[Line]:
    """The exact changes, as the command shows them before it asks."""
    if not plan.is_needed:
        whole = "is connected: every file is as it should be"
        what = "isn't connected here" if plan.removes else whole
        return [line((f"{plan.client.title} {what}.", "text"))]
    act = "Disconnecting" if plan.removes else "Connecting"
    diffs = [[*change.diff()] if change.is_needed else [] for change in plan.changes]
    keys = (("a", "accent"), (" writes this", "text"))
    return [
        line((f"{act} {plan.client.title} would change:", "title")),
        Line(),
        *(
            row
            for diff in diffs
            for row in (*(line((text, _diff_role(text))) for text in diff), Line())
        ),
        line(*keys, (" · any other choice writes nothing", "muted")),
    ]


def _diff_role(text: str) -> str:
    if text.startswith(("---", "+++", "@@")):
        return "muted"
    return {"+": "good", "-": "bad"}.get(text[:1], "text")


def connected_lines(plan: "PlannedConnection", linked: "LinkedSkills") -> list[Line]:
    """What connecting did."""
    where, names = short_path(str(linked.root)), ", ".join(linked.placed.linked)
    skills = f"No approved skills yet; those to come are linked in {where}."
    note = plan.client.notes.get(plan.scope, "") if plan.scope else ""
    others = (*linked.placed.changed, *linked.placed.left_alone)
    isnt = "isn't linked: it isn't the approved one"
    return [
        line(("✓ ", "good"), (f"{plan.client.title} is connected.", "strong")),
        line((f"Skills linked in {where}: {names}" if names else skills, "text")),
        *(line(("! ", "warn"), (f"{one_line(name)} {isnt}", "text")) for name in others),
        *([line((note, "muted"))] if note else []),
        line((f"Start {plan.client.title} again to use it.", "text")),
    ]


def disconnected_lines(plan: "PlannedConnection", links: int) -> list[Line]:
    """What disconnecting did."""
    states = {True: "is as it was", False: "was changed since; only ours was taken out"}
    removed = line((f"{counted(links, 'link')} to skills removed.", "text"))
    return [
        line(("✓ ", "good"), (f"{plan.client.title} is disconnected.", "strong")),
        *(
            line((f"{short_path(str(change.path))} {states[change.is_whole]}.", "text"))
            for change in plan.changes
        ),
        *([removed] if links else []),
    ]
