"""Plans of consolidation: what would leave, what stands for it, and why; plain data.

A plan is made of what the store holds (``planner``), shown, and carried out group by group
(``applying``). Nothing here reads or writes a store, and no group says what a memory says: a reason
is words of the program, so that a stored plan repeats no text but the one it would add.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted
from synthorg_tui.memory.enums import ArchiveReason


class GroupKind(StrEnum):
    """Why the memories of a group leave.

    They are copies of one that stays (``DUPLICATE``), older values of a fact (``SUPERSEDED``), past
    their time (``EXPIRED``), more than the agent may have (``ROOM``), or a new text says what they
    said (``MERGED``).
    """

    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    ROOM = "room"
    MERGED = "merged"


class GroupState(StrEnum):
    """What became of a group.

    ``DUE`` was adopted and isn't carried out yet, ``WAITING`` waits in Approvals, ``LEFT`` couldn't
    be carried out, because something changed meanwhile.
    """

    PROPOSED = "proposed"
    DUE = "due"
    WAITING = "waiting"
    APPLIED = "applied"
    LEFT = "left"
    DROPPED = "dropped"
    UNDONE = "undone"


class MemberRole(StrEnum):
    """What becomes of a memory: it stays, it is archived, or only its text is drawn from."""

    KEPT = "kept"
    ARCHIVED = "archived"
    SOURCE = "source"


ARCHIVED_WHY: Final = {
    GroupKind.DUPLICATE: ArchiveReason.DUPLICATE,
    GroupKind.SUPERSEDED: ArchiveReason.SUPERSEDED,
    GroupKind.EXPIRED: ArchiveReason.EXPIRED,
    GroupKind.ROOM: ArchiveReason.ROOM,
    GroupKind.MERGED: ArchiveReason.CONSOLIDATED,
}


class TextAuthor(StrEnum):
    """Who wrote the text of a proposal; a model's text waits for a person."""

    CODE = "code"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A memory of a group; ``mark`` is a hash of all that the plan depends on of it."""

    id: str
    role: MemberRole
    mark: str


@dataclass(frozen=True, slots=True)
class MergedText:
    """The text that would stand for the memories of a group, and what it inherits from them.

    ``mode`` is an ``ArchivalMode``. ``note`` tells why a model's text was not used.
    """

    content: str
    category: str
    namespace: str
    tags: tuple[str, ...]
    source: str
    confidence: float
    level: str = MemoryLevel.PERSISTENT.value
    project: str | None = None
    session_id: str | None = None
    shared: bool = False
    expires_at: datetime | None = None
    mode: str = ""
    written_by: TextAuthor = TextAuthor.CODE
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Memories of one agent that leave together, in one transaction, or not at all.

    ``is_exact`` says of duplicates that they are the same to the letter. ``texts`` is how many
    texts agents would no longer be given, which is what the cap of a run counts. Tokens are of what
    agents can be given, before and after. ``added`` is the memory that was made of ``text``;
    ``item_id`` the item of Approvals that it waits in. ``note`` tells why it was left.
    """

    number: int
    kind: GroupKind
    agent_id: str
    members: tuple[GroupMember, ...]
    reason: str
    texts: int
    tokens_before: int
    tokens_after: int
    is_exact: bool = False
    text: MergedText | None = None
    state: GroupState = GroupState.PROPOSED
    added: str | None = None
    item_id: str | None = None
    note: str = ""
    decided_by: str = ""

    def ids(self, *roles: MemberRole) -> tuple[str, ...]:
        """Return the ids of the memories with one of these roles, of all without any."""
        return tuple(one.id for one in self.members if not roles or one.role in roles)

    @property
    def archived(self) -> tuple[str, ...]:
        """Ids of the memories that leave."""
        return self.ids(MemberRole.ARCHIVED)

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of the memories that stay and stand for those that leave."""
        return self.ids(MemberRole.KEPT)

    @property
    def is_lossless(self) -> bool:
        """Whether it may be carried out unasked: no text becomes another or leaves by judgement."""
        return self.kind in (GroupKind.EXPIRED, GroupKind.ROOM) or self.is_exact

    @property
    def is_by_model(self) -> bool:
        """Whether a model wrote its text: then it is decided in Approvals and nowhere else."""
        return self.text is not None and self.text.written_by is TextAuthor.MODEL


@dataclass(frozen=True, slots=True)
class ConsolidationPlan:
    """What consolidating the memories of an agent, or of all (``None``), would do.

    ``memories_before`` and ``tokens_before`` are counted in the store. ``held_back`` is how many
    more texts could leave and don't, for more than the cap of a run would. Its number is 0 until it
    is stored; one that was ``cancelled`` has no groups and isn't stored.
    """

    agent_id: str | None
    made_at: datetime
    made_by: str
    memories_before: int
    tokens_before: int
    groups: tuple[PlannedGroup, ...] = ()
    held_back: int = 0
    number: int = 0
    cancelled: bool = False

    @property
    def memories_after(self) -> int:
        """How many memories are live once all open groups are carried out."""
        leaving = sum(
            len(group.archived)
            for group in self.groups
            if group.state in OPEN and group.kind is not GroupKind.EXPIRED
        )
        added = sum(group.text is not None for group in self.groups if group.state in OPEN)
        return self.memories_before - leaving + added

    @property
    def tokens_after(self) -> int:
        """How many tokens these have, estimated from their lengths."""
        saved = (g.tokens_before - g.tokens_after for g in self.groups if g.state in OPEN)
        return self.tokens_before - sum(saved)

    def in_state(self, *states: GroupState) -> tuple[PlannedGroup, ...]:
        """Return the groups in one of these states."""
        return tuple(group for group in self.groups if group.state in states)

    def chosen(self, numbers: Collection[int] | None) -> tuple[PlannedGroup, ...]:
        """Return the groups with these numbers, all of them for none; a plan must have each.

        Raises ``DomainError``.
        """
        if unknown := sorted(set(numbers or ()) - {group.number for group in self.groups}):
            raise DomainError(f"plan {self.number} has no group {unknown[0]}")
        return tuple(group for group in self.groups if not numbers or group.number in numbers)


OPEN: Final = frozenset({GroupState.PROPOSED, GroupState.DUE, GroupState.WAITING})
"""States of groups that can still be carried out."""


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What applying or undoing a plan did, as counted in the store before and after.

    ``done`` are the numbers of the groups that were carried out or taken back, ``left`` pairs the
    number of another with the reason. ``memories`` is how many were archived, or restored.
    ``untouched`` pairs ids of memories that stay as they are with the reason: a person has changed
    them since. ``waiting`` are the items of Approvals that groups wait in.
    """

    number: int
    done: tuple[int, ...] = ()
    left: tuple[tuple[int, str], ...] = ()
    memories: int = 0
    live_before: int = 0
    live_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    untouched: tuple[tuple[str, str], ...] = ()
    waiting: tuple[str, ...] = ()
    cancelled: bool = False


def allowance(share: float, memories: int) -> int:
    """Return how many texts of an agent with so many memories may leave in one run; at least 1."""
    return max(1, int(share * memories + 1e-9))


def plan_words(groups: Iterable[PlannedGroup]) -> str:
    """Say in a line how many memories leave and why; empty for no groups."""
    counts: dict[str, int] = {}
    for group in groups:
        counts[group.kind] = counts.get(group.kind, 0) + len(group.archived)
    words = {
        GroupKind.DUPLICATE: ("copy", "copies"),
        GroupKind.SUPERSEDED: ("replaced fact", "replaced facts"),
        GroupKind.EXPIRED: ("expired memory", "expired memories"),
        GroupKind.ROOM: ("memory to make room", "memories to make room"),
        GroupKind.MERGED: ("memory merged", "memories merged"),
    }
    return ", ".join(counted(counts[kind], *words[kind]) for kind in GroupKind if kind in counts)
