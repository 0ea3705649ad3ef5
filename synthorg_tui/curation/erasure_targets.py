"""Which skills a memory came from, from what the ledger and the journal tell of the past."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from synthorg_tui.approvals.models import ApprovalItem
from synthorg_tui.curation.inbox import item_id
from synthorg_tui.curation.journal import Operation
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus
from synthorg_tui.curation.review import DELETE_ACTION, WRITE_ACTION


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """A skill whose words go with some memories.

    ``is_whole`` is off when a later text of it counts: then only its past goes. ``memory_ids``
    are all that ever said what goes, ``items`` the ids of what was decided about it.
    """

    path: str
    is_whole: bool
    memory_ids: frozenset[str]
    items: frozenset[str]


@dataclass(slots=True)
class SkillHistory:
    """All that is known of a skill's file: the memories of each text, and what was decided."""

    texts: list[frozenset[str]] = field(default_factory=list)
    items: set[str] = field(default_factory=set)

    def take(self, record: RegisteredSkill) -> None:
        """Learn from a state of the skill."""
        self.texts.append(frozenset(record.memory_ids))
        if record.lesson_key is not None:
            self.items.add(item_id(record.lesson_key))

    def touched_by(self, memory_ids: Collection[str]) -> list[frozenset[str]]:
        """The memories of the texts that one of these stood for."""
        return [each for each in self.texts if not each.isdisjoint(memory_ids)]


def adopted_by(operation: Operation) -> str | None:
    """The file of the skill that a decision let count, ``None`` when it did no such thing."""
    if not operation.effects.added:
        return None
    before = operation.effects.records_before
    fresh = [path for path, record in before.items() if record is None]
    return next(iter(fresh or before), None)


def histories_by_path(
    records: Iterable[RegisteredSkill], operations: Iterable[Operation]
) -> dict[str, SkillHistory]:
    """What is known of every skill there is or was, by the path of its file."""
    found: dict[str, SkillHistory] = {}
    for operation in operations:
        path = adopted_by(operation)
        if path is not None:
            past = found.setdefault(path, SkillHistory())
            past.texts.append(frozenset(operation.effects.added))
            if operation.item_id is not None:
                past.items.add(operation.item_id)
        for path, record in operation.effects.records_before.items():
            if record is not None:
                found.setdefault(path, SkillHistory()).take(record)
    for record in records:
        found.setdefault(record.path, SkillHistory()).take(record)
    return found


def requests_naming(
    items: Iterable[ApprovalItem], operations: Iterable[Operation], memory_ids: Collection[str]
) -> frozenset[str]:
    """The items by which agents asked to keep or delete one of these memories."""
    gone = frozenset(memory_ids)
    decided = {
        operation.item_id
        for operation in operations
        if not gone.isdisjoint((*operation.effects.added, *operation.effects.removed))
    }
    return frozenset(
        item.id
        for item in items
        if (item.action_type in (WRITE_ACTION, DELETE_ACTION) and item.id in decided)
        or (item.action_type == DELETE_ACTION and any(each in item.payload for each in gone))
    )


def targets_for(
    known: Mapping[str, SkillHistory],
    records: Sequence[RegisteredSkill],
    memory_ids: Collection[str],
    existing: Collection[str],
) -> tuple[list[ErasureTarget], list[str]]:
    """The skills that go with these memories, and the files of those that copies keep.

    ``existing`` are the memories there are. A text goes once none is left that says it.
    """
    gone = frozenset(memory_ids)
    left = frozenset(existing) - gone
    counting = {record.path: record for record in records if record.status is SkillStatus.ACTIVE}
    found, kept = [], []
    for path, past in known.items():
        texts = past.touched_by(gone)
        if any(left.isdisjoint(each) for each in texts):
            record = counting.get(path)
            is_whole = record is None or left.isdisjoint(record.memory_ids)
            ids = frozenset().union(*(past.texts if is_whole else texts))
            found.append(ErasureTarget(path, is_whole, ids, frozenset(past.items)))
        elif texts:
            kept.append(path)
    return found, kept
