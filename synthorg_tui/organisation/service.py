"""What a person does with what the organisation knows: list, write, retract, take back, erase.

Every write passes the rules on who may write what, names the version it was made for, and is told
to the screens. What agents propose, and what files say, comes here as ``OrgChange`` once a person
has decided. The texts of lessons and memories are changed in their own places.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.events import Events
from synthorg_tui.memory.listing import MemoryUse
from synthorg_tui.memory.org.access_control import require_write_access
from synthorg_tui.memory.org.acts import UndoableAct, last_act
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind, OrgEffect
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, OrgMemoryWriteError
from synthorg_tui.memory.org.factory import create_org_backend
from synthorg_tui.memory.org.hybrid_backend import HybridPromptRetrievalBackend
from synthorg_tui.memory.org.log import (
    ERASED,
    FactRow,
    lines_of,
    moments,
    rows_of_ids,
    tag_rows,
    tags_of,
)
from synthorg_tui.memory.org.models import (
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from synthorg_tui.memory.org.policies import policies_of_settings
from synthorg_tui.memory.org.search import FoundFact
from synthorg_tui.memory.org.standing import is_for
from synthorg_tui.memory.org.store import OrgAct, OrgStore, unknown_fact
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.strategies.organisation import OrgBriefing
from synthorg_tui.organisation.entries import (
    author_words,
    fact_entry,
    from_elsewhere,
    list_entries,
    of_settings,
    uses_of,
    written_policies,
)
from synthorg_tui.organisation.findings import CheckSink, OrgFinding
from synthorg_tui.organisation.listing import MAX_PAGE, entry_page
from synthorg_tui.organisation.models import (
    EntryCriteria,
    EntryPage,
    OrgEntry,
    OrgOrigin,
    OrgVersion,
)
from synthorg_tui.organisation.publications import Publication, PublicationStore
from synthorg_tui.persistence.port import Connection

if TYPE_CHECKING:
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.organisation.proposals import OrgReads

ORGANISATION: Final = "organisation"
"""Topic of the event that something of it was written; its data says what, in words."""
_PERSON: Final = OrgFactAuthor(is_human=True)
_ELSEWHERE: Final = {
    OrgOrigin.SETTINGS: "a core policy of the settings: change org_memory.core_policies there",
    OrgOrigin.SKILL: "an approved lesson: change or retire it among the skills",
    OrgOrigin.SHARED: "a published memory: edit or retract it among the memories",
}


class OrganisationService:
    """Everything a person does with the organisation's knowledge.

    Args:
        core: The open store that holds facts and memories.
        backend: The connected backend that agents are served from.
        config: The settings' policies, and who may write what.
        emit: Told of every write, with the topic ``ORGANISATION`` and what was done.
        erasure: Makes the service that takes words out of every table.
    """

    def __init__(
        self,
        core: Core,
        backend: HybridPromptRetrievalBackend,
        config: OrgMemoryConfig,
        emit: Callable[[str, str], None],
        erasure: "Callable[[], Erasure]",
    ) -> None:
        self._core = core
        self.backend = backend
        self._config = config
        self._emit = emit
        self._erasure = erasure
        self.store = OrgStore(core)
        self.publications = PublicationStore(core.database, core.clock)

    async def entries(
        self,
        *,
        at: datetime | None = None,
        categories: Sequence[OrgFactCategory] | frozenset[OrgFactCategory] | None = None,
        project: str | None = None,
        retracted: bool = False,
    ) -> tuple[OrgEntry, ...]:
        """Return the one list, as it is or was at a time: settings' policies first, then facts.

        ``project`` leaves out what is about another project, ``retracted`` adds retracted facts.
        """
        policies, now = self._config.core_policies, self._core.clock.now()
        listed = await self._core.read(lambda db: list_entries(db, policies, at, now))
        return tuple(
            entry
            for entry in listed
            if (categories is None or entry.category in categories)
            and is_for(entry.traits.project, project or None)
            and (retracted or entry.retracted_at is None)
        )

    async def page(
        self, what: EntryCriteria, *, at: datetime | None = None, offset: int = 0, limit: int = 300
    ) -> EntryPage:
        """Return a part of the list by category, as it is or was at a time; ``MAX_PAGE`` at most.

        Far quicker than ``entries`` where there are thousands.
        """
        policies, now = self._config.core_policies, self._core.clock.now()
        start = max(offset, 0)
        wanted = range(start, start + min(max(limit, 0), MAX_PAGE))

        def read(db: Connection) -> EntryPage:
            others = [*of_settings(policies, now), *from_elsewhere(db, at or now)]
            return entry_page(db, what, at, others, wanted)

        return await self._core.read(read)

    async def entry(self, id_or_start: str) -> OrgEntry:
        """Return the entry with this id, or whose id alone starts so, retracted ones included.

        Raises ``OrgMemoryQueryError`` where none or several do.
        """
        known = await self.entries(retracted=True)
        exact = [entry for entry in known if entry.id == id_or_start]
        found = exact or [e for e in known if id_or_start and e.id.startswith(id_or_start)]
        if len(found) > 1 and not exact:
            raise OrgMemoryQueryError(
                f"{len(found)} entries start with {id_or_start}", remedy="Give more of the id."
            )
        if not found:
            raise unknown_fact(id_or_start)
        return found[0]

    async def find(
        self, query: OrgMemoryQuery, *, project: str | None = None
    ) -> tuple[FoundFact, ...]:
        """Return the facts that answer a question, explained, as the configured backend has them.

        ``project`` is as in ``OrgSearch.find``. Raises ``OrgMemoryQueryError``.
        """
        return await self.backend.find(query, project=project)

    @property
    def reads(self) -> "OrgReads":
        """The reads of what agents are served from, for those who mustn't write."""
        from synthorg_tui.organisation.proposals import OrgReads

        backend, store = self.backend, self.store
        return OrgReads(
            find=lambda query, project: self.find(query, project=project),
            policies=lambda limit, offset: backend.list_policies(limit=limit, offset=offset),
            count_policies=backend.count_policies,
            log=store.log,
            holding=lambda text, category: store.matching(text, categories=(category,)),
            clock=self._core.clock,
        )

    async def policies(self, *, at: datetime | None = None) -> tuple[OrgFact, ...]:
        """Return the core policies in the order in which agents are told them, or were at a time.

        Settings have no history: theirs stand in the past, too.
        """
        if at is None:
            return await self.backend.list_policies()
        written = await self._core.read(lambda db: written_policies(db, at))
        return (*policies_of_settings(self._config.core_policies, self._core.clock.now()), *written)

    async def tags(self) -> tuple[tuple[str, ...], ...]:
        """Return the tags of each active fact, the newest one first."""
        return tuple(tags_of(tags) for _, _, tags in await self._core.read(tag_rows))

    async def uses(self, id_or_start: str, *, limit: int = 20) -> tuple[MemoryUse, ...]:
        """Return the digests, and other calls of agents, that carried an entry, newest first.

        Raises ``OrgMemoryQueryError`` for what is no entry.
        """
        entry = await self.entry(id_or_start)
        return await self._core.read(lambda db: uses_of(db, entry, limit=limit))

    async def history(self, fact_id: str) -> tuple[OrgVersion, ...]:
        """Return every version of a fact, the first one first; none of what is no fact."""
        rows = await self._core.read(lambda db: lines_of(db, fact_id))
        if not rows:
            await self.entry(fact_id)  # raises for what is unknown
        return tuple(
            OrgVersion(
                version=line.version,
                at=line.made_at.replace(tzinfo=UTC),
                author=(
                    actor_words(line.actor) if line.author_is_human else author_words(line[6:10])
                ),
                content=line.content,
                category=OrgFactCategory(line.category),
                tags=tags_of(line.tags),
            )
            for line in rows
        )

    async def moments(self) -> tuple[datetime, ...]:
        """Return when facts changed, ascending, each time once."""
        return await self._core.read(moments)

    async def add(self, request: OrgFactWriteRequest, *, actor: str) -> OrgEntry:
        """Write a new fact and return it."""
        return await self._one(_published(None, request), "added", actor=actor)

    async def edit(
        self,
        fact_id: str,
        *,
        content: str | None = None,
        category: OrgFactCategory | None = None,
        tags: Sequence[str] | None = None,
        actor: str,
    ) -> OrgEntry:
        """Write a new version of an active fact; ``None`` leaves a field as it is.

        Nothing is written where nothing would change.
        """
        row = await self._fact(fact_id)
        if not row.is_active:
            raise OrgMemoryWriteError(
                f"fact {row.fact_id} is retracted", remedy="Revive it before you edit it."
            )
        before = row.fact()
        request = OrgFactWriteRequest(
            content=before.content if content is None else content,
            category=category or before.category,
            tags=before.tags if tags is None else tuple(sorted(set(tags))),
        )
        if request == OrgFactWriteRequest(
            content=before.content, category=before.category, tags=before.tags
        ):
            return fact_entry(row)
        return await self._one(_published(row, request), "edited", actor=actor)

    async def retract(self, fact_id: str, *, actor: str) -> OrgEntry:
        """Take a fact out of use and return it; its text stays in the log."""
        row = await self._fact(fact_id)
        gone = OrgChange(
            kind=OrgChangeKind.RETRACT,
            author=_PERSON,
            fact_id=row.fact_id,
            expected_version=row.version,
        )
        return await self._one(gone, "retracted", actor=actor)

    async def revive(self, fact_id: str, *, actor: str) -> OrgEntry:
        """Bring a retracted fact back with its last text."""
        row = await self._fact(fact_id)
        if row.is_active:
            raise OrgMemoryWriteError(f"fact {row.fact_id} is not retracted")
        if row.content == ERASED:
            raise OrgMemoryWriteError(f"the text of fact {row.fact_id} was erased for good")
        fact = row.fact()
        request = OrgFactWriteRequest(content=fact.content, category=fact.category, tags=fact.tags)
        return await self._one(_published(row, request), "brought back", actor=actor)

    async def erase(self, fact_id: str, *, actor: str) -> OrgEntry:
        """Erase the texts of a fact for good, with what repeats them, and return what is left.

        The lines of its history stay, without words; the file is written anew. Who may write such
        a fact may erase it. This can't be undone.
        """
        row = await self._fact(fact_id)
        gone = OrgChange(kind=OrgChangeKind.RETRACT, author=_PERSON, fact_id=row.fact_id)
        self._may(gone, OrgFactCategory(row.category))
        await self.publications.forget(row.fact_id)
        await self._erasure().purge_with((row.fact_id,), actor=actor)
        self._emit(ORGANISATION, "erased a fact")
        return fact_entry(await self._fact(row.fact_id))

    async def undo(self, *, actor: str) -> tuple[str, OrgEntry]:
        """Take back the newest act of a person on facts; asked again, the one before it.

        Returns what was done in words, and the fact as it is then. The inverse is appended. Raises
        ``OrgMemoryQueryError`` when there is nothing to take back.
        """
        act = await self._core.read(last_act)
        if act is None:
            raise OrgMemoryQueryError(
                "there is nothing of facts to undo",
                remedy="What was decided in Approvals is undone there.",
            )
        undone = OrgAct(actor, undoes=act.number)
        applied = await self.store.change(act.inverse, undone, may=self._may)
        row = await self._fact(applied[-1].fact_id)
        told = _undone_words(act, row)
        self._emit(ORGANISATION, told)
        return told, fact_entry(row)

    async def apply(self, changes: Sequence[OrgChange], *, actor: str) -> tuple[OrgEffect, ...]:
        """Carry out changes in one transaction, each by the right of its author.

        Raises ``OrgMemoryAccessDeniedError`` and what ``OrgStore.change`` does; nothing has changed
        then.
        """
        applied = await self.store.change(changes, OrgAct(actor), may=self._may)
        if applied:
            self._emit(ORGANISATION, f"{len(applied)} changed")
        return applied

    async def published(self) -> tuple[Publication, ...]:
        """Return what stands in which file of a project by the record of what was published."""
        return await self.publications.standing()

    async def last_published(self) -> tuple[Publication, ...]:
        """Return the files of the last publishing that wasn't taken back; empty for none."""
        return await self.publications.last_act()

    async def check(
        self, progress: CheckSink | None = None, cancel: threading.Event | None = None
    ) -> tuple[OrgFinding, ...]:
        """Return what is wrong with policies and conventions, and which of them sessions broke.

        Setting ``cancel`` stops between two sessions and returns what was found until then.
        """
        from synthorg_tui.executions.store import ExecutionStore
        from synthorg_tui.organisation.lint import check_rules

        sessions = ExecutionStore(self._core.database)
        budget = self._config.policy_tokens
        return await check_rules(await self.entries(), sessions, budget, progress, cancel)

    async def _one(self, change: OrgChange, deed: str, *, actor: str) -> OrgEntry:
        (applied,) = await self.store.change([change], OrgAct(actor), may=self._may)
        row = await self._fact(applied.fact_id)
        self._emit(ORGANISATION, f"{deed}: {_title(row.content)}")
        return fact_entry(row)

    async def _fact(self, fact_id: str) -> FactRow:
        """The row of a fact; raises ``OrgMemoryQueryError`` for everything else."""
        for row in (await self._core.read(lambda db: rows_of_ids(db, [fact_id]))).values():
            return row
        entry = await self.entry(fact_id)
        if entry.origin is not OrgOrigin.FACT:
            raise OrgMemoryQueryError(f"{entry.id} is {_ELSEWHERE[entry.origin]}")
        return await self._fact(entry.id)

    def _may(self, change: OrgChange, category: OrgFactCategory | None) -> None:
        """Who changes what a fact is must be allowed to write both."""
        kinds = {category, change.request.category if change.request else category} - {None}
        for kind in sorted(kind for kind in kinds if kind is not None):
            require_write_access(self._config.write_access, kind, change.author)


def build_organisation(
    local: LocalMemoryBackend,
    config: OrgMemoryConfig,
    events: Events,
    erasure: "Callable[[], Erasure]",
) -> OrganisationService:
    """Build the service on a store; its backend is connected by whoever opens that."""
    backend = create_org_backend(config, OrgStore(local.core))
    return OrganisationService(local.core, backend, config, events.emit, erasure)


def build_briefing(
    config: OrgMemoryConfig,
    memory: MemoryBackend,
    organisation: Callable[[], OrganisationService],
) -> OrgBriefing:
    """Build what agents are told before their memories: without a store, what settings say."""
    has_store = isinstance(memory, LocalMemoryBackend)

    async def policies(at: datetime | None) -> tuple[OrgFact, ...]:
        if not has_store:
            return policies_of_settings(config.core_policies, datetime.now(UTC))
        return await organisation().policies(at=at)

    async def facts(query: OrgMemoryQuery, project: str | None) -> Sequence[FoundFact]:
        return await organisation().find(query, project=project) if has_store else ()

    most = config.extended_store.max_retrieved_per_query
    return OrgBriefing(policies, config.policy_tokens, facts, most)


def _published(row: FactRow | None, request: OrgFactWriteRequest) -> OrgChange:
    return OrgChange(
        kind=OrgChangeKind.PUBLISH,
        author=_PERSON,
        fact_id=row.fact_id if row else None,
        request=request,
        expected_version=row.version if row else None,
    )


def _title(content: str) -> str:
    return content.strip().partition("\n")[0][:80]


def _undone_words(act: UndoableAct, row: FactRow) -> str:
    others = len(act.inverse) - 1
    more = f" and {others} more" if others else ""
    when = act.at.replace(tzinfo=UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"undid {act.deed} of {when}: {_title(row.content)}{more}"
