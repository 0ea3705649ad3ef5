"""The check of the organisation's rules: by themselves, against their budget, and against sessions.

``org check`` and the screens ask for it. A finding is for a person to decide about; nothing is
changed here. Which calls break a rule is decided in ``prohibitions``.
"""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.projects import repository_of
from synthorg_tui.core.text import counted
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.org.models import OrgFact, OrgFactAuthor
from synthorg_tui.memory.org.policies import policy_block, policy_line
from synthorg_tui.organisation.entry_checks import (
    RULES,
    check_places,
    check_texts,
    is_written,
    over_budget,
)
from synthorg_tui.organisation.findings import Breach, CheckSink, FindingKind, OrgFinding
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.organisation.prohibitions import Ban, bans_of, breaches_of
from synthorg_tui.skills.document import Severity

MAX_EVIDENCE: Final = 5
"""Calls that are shown for a rule that was broken, the latest ones."""
_LONG: Final = 0.5
"""Share of the policies' budget from which on one policy takes too much of it."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


async def check_rules(
    entries: Sequence[OrgEntry],
    executions: ExecutionStore,
    budget: int,
    progress: CheckSink | None = None,
    cancel: threading.Event | None = None,
) -> tuple[OrgFinding, ...]:
    """Return all findings, errors first, each kind in the order of the entries.

    ``executions`` are the imported sessions, ``budget`` the tokens of the policies in what agents
    are handed. Setting ``cancel`` stops between two sessions; what was found until then is
    returned.
    """
    found = await asyncio.to_thread(
        lambda: [*check_texts(entries), *check_places(entries), *_check_budget(entries, budget)]
    )
    found += await _broken(entries, executions, progress, cancel or threading.Event())
    kinds = list(FindingKind)
    return tuple(sorted(found, key=lambda one: (one.severity != "error", kinds.index(one.kind))))


def _check_budget(entries: Sequence[OrgEntry], budget: int) -> Iterator[OrgFinding]:
    """Policies that agents aren't told for want of room, and those that take too much of it.

    Tokens of the model at hand may be counted a little differently.
    """
    estimator = DefaultTokenEstimator()
    policies = [
        entry
        for entry in entries
        if entry.category is OrgFactCategory.CORE_POLICY and is_written(entry)
    ]
    omitted: dict[str, str] = {}
    for project in sorted({entry.traits.project for entry in policies} | {""}):
        own = [entry for entry in policies if entry.traits.project in ("", project)]
        block = policy_block([_fact_of(entry) for entry in own], budget, estimator)
        for key in block.omitted:
            omitted.setdefault(key, project)
    for entry in policies:
        size = estimator.estimate_tokens(policy_line(entry.content))
        if size > budget * _LONG:
            yield _too_long(entry, size, budget, is_told=entry.id not in omitted)
        elif entry.id in omitted:
            yield _left_out(entry, omitted[entry.id], budget)


def _fact_of(entry: OrgEntry) -> OrgFact:
    """An entry as the fact of a person, as the block of policies takes it."""
    return OrgFact(
        id=entry.id,
        content=entry.content,
        category=entry.category,
        author=OrgFactAuthor(is_human=True),
        created_at=entry.created_at,
    )


def _too_long(entry: OrgEntry, size: int, budget: int, *, is_told: bool) -> OrgFinding:
    none = "" if is_told else ", so agents aren't told it"
    return OrgFinding(
        FindingKind.TOO_LONG,
        Severity.WARNING if is_told else Severity.ERROR,
        entry.id,
        entry.content,
        f"it takes {over_budget(size, budget)} (org_memory.policy_tokens){none}",
        "Shorten it, or raise org_memory.policy_tokens.",
    )


def _left_out(entry: OrgEntry, project: str, budget: int) -> OrgFinding:
    where = f" in {project}" if project and not entry.traits.project else ""
    return OrgFinding(
        FindingKind.OVER_BUDGET,
        Severity.ERROR,
        entry.id,
        entry.content,
        f"agents aren't told it{where}: the policies before it take all of the "
        f"{budget:,} tokens of org_memory.policy_tokens",
        "Shorten or retract others, or raise org_memory.policy_tokens.",
    )


async def _broken(
    entries: Sequence[OrgEntry],
    executions: ExecutionStore,
    progress: CheckSink | None,
    cancel: threading.Event,
) -> list[OrgFinding]:
    """Rules that forbid something plainly, with the calls of sessions that did it."""
    bans: dict[str, tuple[OrgEntry, tuple[Ban, ...]]] = {}
    for entry in entries:
        if entry.category in RULES and is_written(entry) and (what := bans_of(entry.content)):
            bans[entry.id] = (entry, what)
    if not bans:
        return []
    found: dict[str, list[Breach]] = {key: [] for key in bans}
    ids = await executions.ids()
    for number, execution_id in enumerate(ids, 1):
        if cancel.is_set():
            break
        execution = await executions.get(execution_id)
        if execution is not None:
            for key, (entry, what) in bans.items():
                if _concerns(entry, execution.project):
                    found[key] += await asyncio.to_thread(breaches_of, what, execution)
        if progress is not None:
            progress(number, len(ids))
    return [_finding(bans[key][0], breaches) for key, breaches in found.items() if breaches]


def _concerns(entry: OrgEntry, project: str | None) -> bool:
    """Whether a rule holds in a session's project; worktrees of a repository are one project."""
    about = entry.traits.project
    return not about or (bool(project) and repository_of(about) == repository_of(project or ""))


def _finding(entry: OrgEntry, breaches: Sequence[Breach]) -> OrgFinding:
    written = None if entry.origin is OrgOrigin.SETTINGS else entry.changed_at
    earlier = [one for one in breaches if written and one.at and one.at < written]
    since = len(breaches) - len(earlier)
    sessions = len({one.execution_id for one in breaches})
    latest = sorted(breaches, key=lambda one: one.at or _LONG_AGO, reverse=True)[:MAX_EVIDENCE]
    times, runs = counted(len(breaches), "time"), counted(sessions, "session")
    before = f", {'all' if not since else len(earlier):} before it was last written"
    return OrgFinding(
        FindingKind.BROKEN,
        Severity.ERROR if since else Severity.WARNING,
        entry.id,
        entry.content,
        f"{runs} did what it forbids, {times}{before if earlier else ''}",
        "Read the lines: make the rule plainer, enforce it where it is broken (a hook, a protected "
        "branch), or retract it.",
        evidence=tuple(latest),
        count=len(breaches),
        sessions=sessions,
        earlier=len(earlier),
    )
