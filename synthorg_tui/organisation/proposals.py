"""What agents and files may do with organisation memory: read it, and propose what to write.

An agent's write and a rule file that changed take the same way: data in, an item in the queue out,
where a person decides. Nothing here writes a fact; approving is for ``curation``. So no writer and
no person may be imported here.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalItem,
    ApprovalStatus,
    QueueFullError,
    RiskLevel,
)
from synthorg_tui.approvals.proposals import ProposalBox, ask_once
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.review import ORG_ACTION, OrgPayload
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.org.changes import OrgChange
from synthorg_tui.memory.org.models import OperationLogEntry, OrgFact, OrgMemoryQuery

if TYPE_CHECKING:
    from synthorg_tui.memory.org.search import FoundFact

_MAX_TITLE: Final = 120
_MAX_WHY: Final = 1_000


class OrgReads(NamedTuple):
    """The reads of organisation memory: what agents get instead of anything that could write.

    ``find`` is given a question and the project that it is asked in, ``policies`` a limit and an
    offset, ``log`` the id of a fact, and ``holding`` a text and a category.
    """

    find: "Callable[[OrgMemoryQuery, str], Awaitable[Sequence[FoundFact]]]"
    policies: Callable[[int, int], Awaitable[Sequence[OrgFact]]]
    count_policies: Callable[[], Awaitable[int]]
    log: Callable[[str], Awaitable[Sequence[OperationLogEntry]]]
    holding: Callable[[str, OrgFactCategory], Awaitable[Sequence[OrgFact]]]
    clock: Clock


async def propose(
    queue: ProposalBox,
    payload: OrgPayload,
    *,
    title: str,
    requested_by: str,
    clock: Clock,
    project: str = "",
) -> str:
    """Propose writes to organisation memory; return the id of the new or already waiting item.

    Secrets are redacted. The same words are asked for once: an item that waits with another
    ``expected_version`` or reason is brought up to date. ``requested_by`` is an agent's
    (``asked_by``) or the name of a part of the program; ``project`` is where it comes from, a
    folder. Raises ``WriteRefusedError`` when a person rejected the same before, or too much of the
    agent waits.
    """
    clean = _redacted(payload)
    author = clean.changes[0].author
    item = ApprovalItem(
        id="org",
        action_type=ORG_ACTION,
        title=one_line(title, _MAX_TITLE) or "(nothing that can be shown)",
        description=clean.why,
        requested_by=requested_by,
        risk_level=_risk(clean),
        created_at=clock.now(),
        source=clean.source or None,
        metadata={"kind": "org", "agent": author.agent_id or "", "project": project},
        payload=clean.model_dump_json(),
    )
    try:
        known = await ask_once(queue, item, [requested_by, *map(_wording, clean.changes)])
    except (ApprovalConflictError, QueueFullError) as error:
        raise WriteRefusedError(error.message, remedy=error.remedy) from error
    if known.status is ApprovalStatus.PENDING and known.payload != item.payload:
        await queue.revise(
            known.id, actor=requested_by, payload=item.payload, description=item.description
        )
    return known.id


def _redacted(payload: OrgPayload) -> OrgPayload:
    tally = RedactionTally()

    def clean(change: OrgChange) -> OrgChange:
        if change.request is None:
            return change
        said = {
            "content": redact_text(change.request.content, tally),
            "tags": tuple(redact_text(tag, tally) for tag in change.request.tags),
        }
        return change.model_copy(update={"request": change.request.model_copy(update=said)})

    return payload.model_copy(
        update={
            "changes": tuple(map(clean, payload.changes)),
            "why": one_line(redact_text(payload.why, tally), _MAX_WHY),
            "source": one_line(redact_text(payload.source, tally), _MAX_WHY),
        }
    )


def _wording(change: OrgChange) -> str:
    """What a change says, whatever version of the fact its author saw."""
    said = change.request
    words = (said.category, said.content, sorted(said.tags)) if said else ()
    return json.dumps([change.kind, change.fact_id, *words])


def _risk(payload: OrgPayload) -> RiskLevel:
    """Policies go into every prompt of every agent."""
    written = {change.request.category for change in payload.changes if change.request}
    return RiskLevel.HIGH if OrgFactCategory.CORE_POLICY in written else RiskLevel.MEDIUM
