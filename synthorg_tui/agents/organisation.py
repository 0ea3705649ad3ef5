"""What the whole organisation knows, for one agent: finding it, its policies, and proposing more.

An agent writes nothing here. What it wants written must pass the rules on who may write which
category, by the seniority that the settings give the agent: no argument of a call can name one.
Then it waits until a person decides. What is refused leaves no trace but the record of the call,
which ``agents.session`` keeps.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final

from pydantic import ValidationError

from synthorg_tui.agents import tools
from synthorg_tui.agents.guarded import WriteAllowance
from synthorg_tui.agents.models import AgentIdentity, CallReply
from synthorg_tui.agents.tools import FactProposal, FactQuestion, PolicyPage, RefusalCode
from synthorg_tui.approvals.proposals import ProposalBox, asked_by
from synthorg_tui.core.enums import OrgFactCategory, SeniorityLevel
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.curation.review import OrgPayload
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.injection import DefaultTokenEstimator
from synthorg_tui.memory.org.access_control import require_write_access
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryAccessDeniedError
from synthorg_tui.memory.org.models import (
    OperationLogEntry,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.memory.strategies import replies
from synthorg_tui.memory.strategies.schemas import problems
from synthorg_tui.organisation.proposals import OrgReads, propose

_MAX_TITLE: Final = 90
_NOTHING: Final = "Nothing of the organisation's fits."


@dataclass(frozen=True, slots=True)
class OrgServices:
    """What the tools of all agents stand on; ``seniority`` is that of an agent by the settings."""

    reads: OrgReads
    queue: ProposalBox
    config: OrgMemoryConfig
    seniority: Callable[[str], SeniorityLevel]


class OrgTools:
    """The organisation's tools of one agent; rights and pauses are checked before."""

    def __init__(
        self, identity: AgentIdentity, services: OrgServices, allowance: WriteAllowance
    ) -> None:
        self._identity = identity
        self._services = services
        self._allowance = allowance
        self._handlers: Mapping[str, Callable[[Any], Awaitable[CallReply]]] = {
            tools.ORG_SEARCH: self._search,
            tools.ORG_POLICIES: self._policies,
            tools.ORG_PROPOSE: self._propose,
        }

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call one of the three tools and return its reply."""
        try:
            return await self._handlers[name](tools.parse(name, arguments))
        except ValidationError as error:
            return tools.error("InvalidArgument", problems(error), RefusalCode.INVALID_ARGUMENT)
        except OrgMemoryAccessDeniedError as error:
            return tools.error("AccessDenied", error.message, RefusalCode.GUARDRAIL_VIOLATED)
        except WriteRefusedError as error:
            return tools.error("WriteRefused", error.with_remedy, RefusalCode.CONFLICT)

    async def _search(self, asked: FactQuestion) -> CallReply:
        categories = frozenset(asked.categories) if asked.categories else None
        limit = self._services.config.extended_store.max_retrieved_per_query
        query = OrgMemoryQuery(context=asked.query, categories=categories, limit=limit)
        found = await self._services.reads.find(query, self._identity.project or "")
        return _quoted([(hit.fact, hit.why) for hit in found[:limit]])

    async def _policies(self, page: PolicyPage) -> CallReply:
        total = await self._services.reads.count_policies()
        listed = await self._services.reads.policies(page.limit, page.offset)
        if not listed:
            return CallReply(f"There are {total or 'no'} policies.")
        fitting = _quoted([(fact, "") for fact in listed]).memory_ids
        fits = list(takewhile(lambda fact: fact.id in fitting, listed))  # a page has no gaps
        reply = _quoted([(fact, "") for fact in fits])
        end = page.offset + len(fits)
        more = f" For more: offset {end}." if end < total else ""
        told = f"Policies {page.offset + 1} to {end} of {total}.{more}"
        return replace(reply, content=f"{reply.content}\n{told}")

    async def _propose(self, asked: FactProposal) -> CallReply:
        self._allowance.take()
        author = OrgFactAuthor(
            agent_id=self._identity.agent_id,
            seniority=self._services.seniority(self._identity.agent_id),
        )
        if asked.fact_id is None:
            return await self._propose_new(asked, author)
        log = await self._services.reads.log(asked.fact_id)
        if not log:
            problem = "there is no fact with this id; policies of the settings are changed there"
            return tools.error("FactNotFound", problem, RefusalCode.NOT_FOUND)
        return await self._propose_change(asked, author, log)

    async def _propose_new(self, asked: FactProposal, author: OrgFactAuthor) -> CallReply:
        assert asked.content is not None
        assert asked.category is not None
        self._require(author, asked.category)
        request = OrgFactWriteRequest(
            content=redact_text(asked.content, RedactionTally()),
            category=asked.category,
            tags=self._tags(asked),
        )
        known = await self._known(request)
        if known is not None:
            return tools.ok({"known": known, "note": "this is written already"})
        new = OrgChange(kind=OrgChangeKind.PUBLISH, author=author, request=request)
        return await self._ask(new, asked.why, request.content)

    async def _propose_change(
        self, asked: FactProposal, author: OrgFactAuthor, log: Sequence[OperationLogEntry]
    ) -> CallReply:
        """Another text or category for a fact, or its retraction; its tags stay as they are."""
        last = log[-1]
        present = last.category or OrgFactCategory.CORE_POLICY
        self._require(author, present, asked.category or present)
        if asked.content is None:
            if last.content is None:
                return tools.error("WriteRefused", "it is retracted already", RefusalCode.CONFLICT)
            gone = OrgChange(
                kind=OrgChangeKind.RETRACT,
                author=author,
                fact_id=last.fact_id,
                expected_version=last.version,
            )
            return await self._ask(gone, asked.why, f"Retract: {last.content}")
        request = OrgFactWriteRequest(
            content=asked.content, category=asked.category or present, tags=last.tags
        )
        changed = OrgChange(
            kind=OrgChangeKind.PUBLISH,
            author=author,
            fact_id=last.fact_id,
            request=request,
            expected_version=last.version,
        )
        return await self._ask(changed, asked.why, f"Change: {request.content}")

    def _require(self, author: OrgFactAuthor, *categories: OrgFactCategory) -> None:
        for category in categories:
            require_write_access(self._services.config.write_access, category, author)

    def _tags(self, asked: FactProposal) -> tuple[str, ...]:
        """Return no tags for a policy or a fact for all projects, else the tag of the project."""
        if asked.everywhere or asked.category is OrgFactCategory.CORE_POLICY:
            return ()
        return OrgTraits(project=self._identity.project or "").tags

    async def _known(self, request: OrgFactWriteRequest) -> str | None:
        """The id of the fact that says exactly this already."""
        same = await self._services.reads.holding(request.content, request.category)
        wanted = (request.content, sorted(request.tags))
        return next((fact.id for fact in same if (fact.content, sorted(fact.tags)) == wanted), None)

    async def _ask(self, change: OrgChange, why: str, title: str) -> CallReply:
        clean = redact_text(title, RedactionTally())
        item_id = await propose(
            self._services.queue,
            OrgPayload(changes=(change,), why=why, source=self._identity.client),
            title=one_line(clean, _MAX_TITLE),
            requested_by=asked_by(self._identity.agent_id),
            clock=self._services.reads.clock,
            project=self._identity.project or "",
        )
        return tools.waits(item_id)


def _quoted(found: Iterable[tuple[OrgFact, str]]) -> CallReply:
    """A reply with one fact on each line, fenced as data."""
    lines = [(fact.id, _line(fact, why)) for fact, why in found]
    if not lines:
        return CallReply(_NOTHING)
    reply = replies.fitted(lines, DefaultTokenEstimator())
    return CallReply(reply.fenced, memory_ids=reply.ids)


def _line(fact: OrgFact, why: str) -> str:
    """The fact on a line; its own words stand last, so that they can pretend nothing of ours."""
    traits = OrgTraits.of(fact.tags)
    known = {"status": traits.status, "dated": traits.date, "from": traits.source}
    said = [
        f"id={fact.id}",
        f"written {fact.created_at.date().isoformat()}",
        *(f"{name} {value}" for name, value in known.items() if value),
        *([f"because {why}"] if why else []),
    ]
    return f"[{fact.category}] ({', '.join(map(safe_text, said))}) {safe_text(fact.content)}"
