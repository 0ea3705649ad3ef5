"""``org check``: what is wrong with the organisation's rules, and which of them sessions broke."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Block,
    Line,
    Note,
    Parts,
    View,
    local_time,
)
from synthorg_tui.cli.records import fields, shaped
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.organisation.findings import OrgFinding

_STYLES = {"error": "red", "warning": "yellow"}


@Command(
    "check",
    "find rules that contradict each other, repeat, lead nowhere, have no room, or are broken",
    more="A\nrule such as `Never push to main.` is compared with what sessions ran; what isn't"
    " sure is\nnot reported. The exit code is 1 when something was found.",
    examples=("org check", "org check --json"),
).asks
async def check(context: Context, engine: AnyEngine) -> Answer:
    """Check policies and conventions; the exit code is 1 with findings."""
    with context.working() as job:
        findings = await engine.organisation.check(
            lambda done, total: job.show(f"Session {done} of {total}"), job.requested
        )
    stopped = job.requested.is_set()
    names = "severity kind id=entry_id text why remedy others times=count sessions"
    found = [
        {
            **fields(one, f"{names} before_written=earlier"),
            "evidence": shaped(one.evidence, "session=execution_id line did ended at"),
        }
        for one in findings
    ]
    return Answer(
        {"findings": found, "cancelled": stopped},
        [map(_finding_view, findings), _sum(findings, stopped=stopped)],
        CANCELLED if stopped else int(bool(findings)),
    )


def _finding_view(finding: "OrgFinding") -> View:
    """A finding: the rule, why, the lines that show it, and what to do."""
    title, more = finding.text.strip().partition("\n")[0], finding.count - len(finding.evidence)
    head = [(finding.severity.value, _STYLES[finding.severity.value]), (finding.kind.value,)]
    return (
        Parts([*head, (title, "bold")]),
        Block(f"{finding.why[0].upper()}{finding.why[1:]}.", indent=2),
        [
            (
                Parts(
                    [
                        ("   ",),
                        (f"{one.execution_id}#L{one.line}", "cyan"),
                        (local_time(one.at), "dim"),
                    ]
                ),
                Block(f"{one.did}  ({one.ended})", indent=6),
            )
            for one in finding.evidence
        ],
        more > 0 and Line(f"    and {more} more", "dim"),
        Block(finding.remedy, indent=2),
        Line(f"  {finding.entry_id}", "dim"),
        BLANK,
    )


def _sum(findings: "tuple[OrgFinding, ...]", *, stopped: bool) -> View:
    errors = sum(one.severity.value == "error" for one in findings)
    others = counted(len(findings) - errors, "warning")
    return (
        f"{counted(errors, 'error')}, {others}." if findings else "Nothing to complain of.",
        any(one.evidence for one in findings)
        and Note("`synthorg-tui sessions show ID#LLINE` shows a line with what is around it."),
        stopped and Note("Stopped: not all sessions were looked at."),
    )
