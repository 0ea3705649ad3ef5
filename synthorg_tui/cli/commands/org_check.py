"""``org check``: what is wrong with the organisation's rules, and which of them sessions broke."""

from typing import TYPE_CHECKING

from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import CANCELLED
from synthorg_tui.cli.output import Answer, Console, local_time
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

    def show(console: Console) -> None:
        for one in findings:
            _show(console, one)
        _show_sum(console, findings, stopped=stopped)

    found = [
        {
            "severity": one.severity.value,
            "kind": one.kind.value,
            "id": one.entry_id,
            "text": one.text,
            "why": one.why,
            "remedy": one.remedy,
            "others": list(one.others),
            "times": one.count,
            "sessions": one.sessions,
            "before_written": one.earlier,
            "evidence": [
                {
                    "session": one.execution_id,
                    "line": one.line,
                    "did": one.did,
                    "ended": one.ended,
                    "at": one.at.isoformat() if one.at else None,
                }
                for one in one.evidence
            ],
        }
        for one in findings
    ]
    return Answer(
        {"findings": found, "cancelled": stopped},
        show,
        CANCELLED if stopped else int(bool(findings)),
    )


def _show(console: Console, finding: "OrgFinding") -> None:
    """Print a finding: the rule, why, the lines that show it, and what to do."""
    title = finding.text.strip().partition("\n")[0]
    head = [(finding.severity.value, _STYLES[finding.severity.value]), (finding.kind.value,)]
    console.parts([*head, (title, "bold")])
    console.block(f"{finding.why[0].upper()}{finding.why[1:]}.", indent=2)
    for one in finding.evidence:
        when = local_time(one.at)
        console.parts([("   ",), (f"{one.execution_id}#L{one.line}", "cyan"), (when, "dim")])
        console.block(f"{one.did}  ({one.ended})", indent=6)
    if len(finding.evidence) < finding.count:
        console.line(f"    and {finding.count - len(finding.evidence)} more", "dim")
    console.block(finding.remedy, indent=2)
    console.line(f"  {finding.entry_id}", "dim")
    console.line()


def _show_sum(console: Console, findings: "tuple[OrgFinding, ...]", *, stopped: bool) -> None:
    errors = sum(one.severity.value == "error" for one in findings)
    others = counted(len(findings) - errors, "warning")
    if findings:
        console.line(f"{counted(errors, 'error')}, {others}.")
    else:
        console.line("Nothing to complain of.")
    if any(one.evidence for one in findings):
        console.note("`synthorg-tui sessions show ID#LLINE` shows a line with what is around it.")
    if stopped:
        console.note("Stopped: not all sessions were looked at.")
