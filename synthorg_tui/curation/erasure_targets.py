"""Works out what a purge of memories has to erase besides them, from what is stored.

The same words are in more places than a memory: in the registry, in every earlier text of a
skill's file, in proposals, in requests of agents and in what an undo would need. ``collect`` in
``erasure`` reads all that into ``StoredWords``; here it is decided, without any access to stores,
which of it is about the purged memories. ``docs/decisions/0019-erasure.md`` has it as a table.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus
from synthorg_tui.curation.inbox import item_id
from synthorg_tui.curation.journal import Operation
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.registry import RegisteredSkill, SkillStatus
from synthorg_tui.curation.review import (
    ADMIN_ACTION,
    CONFLICT_ACTION,
    DELETE_ACTION,
    FILE_CHANGE_ACTION,
    MERGE_ACTION,
    ORG_ACTION,
    RUN_ACTION,
    WRITE_ACTION,
    entry_of,
)


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """A skill whose texts are erased together with some memories.

    ``is_whole`` is false when a later text of it is active: then only the texts before that one are
    erased. ``memory_ids`` are all memories of the erased texts, ``items`` the ids of the proposals
    that were decided about the skill.
    """

    path: str
    is_whole: bool
    memory_ids: frozenset[str]
    items: frozenset[str]


@dataclass(slots=True)
class SkillHistory:
    """The past of one skill's file.

    ``texts`` holds, for each text it had, the ids of that text's memories; ``items`` are the ids of
    the proposals decided about it.
    """

    texts: list[frozenset[str]] = field(default_factory=list)
    items: set[str] = field(default_factory=set)

    def add(self, record: RegisteredSkill) -> None:
        """Add a past or present state of the skill."""
        self.texts.append(frozenset(record.memory_ids))
        if record.lesson_key is not None:
            self.items.add(item_id(record.lesson_key))

    def texts_of(self, memory_ids: Collection[str]) -> list[frozenset[str]]:
        """Return the texts, as sets of memory ids, that have at least one of these memories."""
        return [text for text in self.texts if not text.isdisjoint(memory_ids)]


@dataclass(frozen=True, slots=True)
class StoredWords:
    """Everything stored that may repeat what memories say: all skills, decisions and items."""

    records: tuple[RegisteredSkill, ...]
    operations: tuple[Operation, ...]
    items: tuple[ApprovalItem, ...]

    def histories(self) -> dict[str, SkillHistory]:
        """Return the history of every present or former skill by the path of its file."""
        histories: dict[str, SkillHistory] = {}
        for operation in self.operations:
            path = adopted_by(operation)
            if path is not None:
                history = histories.setdefault(path, SkillHistory())
                history.texts.append(frozenset(operation.effects.added))
                if operation.item_id is not None:
                    history.items.add(operation.item_id)
            for path, record in operation.effects.records_before.items():
                if record is not None:
                    histories.setdefault(path, SkillHistory()).add(record)
        for record in self.records:
            histories.setdefault(record.path, SkillHistory()).add(record)
        return histories


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """The skills and proposals that are erased with some memories; files are not considered here.

    ``copied`` are paths of skills that stay because other agents have copies. ``items`` are ids of
    proposals that are erased; ``prunes`` pairs a proposal to remove memories with its payload
    afterwards.
    """

    targets: tuple[ErasureTarget, ...] = ()
    copied: tuple[str, ...] = ()
    items: frozenset[str] = frozenset()
    prunes: tuple[tuple[ApprovalItem, PrunePayload], ...] = ()

    @property
    def is_empty(self) -> bool:
        """True when nothing but the memories themselves has to be changed."""
        return not (self.targets or self.copied or self.items)


def related_memories(stored: StoredWords, memory_ids: Collection[str]) -> frozenset[str]:
    """Return the ids of all memories that the skills made of ``memory_ids`` ever had.

    They include memories that are purged already.
    """
    histories = stored.histories().values()
    concerned = (history for history in histories if history.texts_of(memory_ids))
    return frozenset[str]().union(*(text for history in concerned for text in history.texts))


def scope_of(
    stored: StoredWords, memory_ids: Collection[str], existing: Collection[str]
) -> ErasureScope:
    """Return what a purge of ``memory_ids`` erases.

    ``existing`` are those of the ``related_memories`` that are still stored, deleted ones included.
    """
    requests = _requests_naming(stored, memory_ids)
    targets, copied = _targets(stored, memory_ids, existing)
    items, prunes = _items_about(stored.items, targets)
    return ErasureScope(tuple(targets), tuple(copied), items | requests, tuple(prunes))


def adopted_by(operation: Operation) -> str | None:
    """Return the path of the skill that a decision made active, or ``None`` when it made none."""
    if not operation.effects.added:
        return None
    before = operation.effects.records_before
    fresh = [path for path, record in before.items() if record is None]
    return next(iter(fresh or before), None)


_NAMING = (DELETE_ACTION, CONFLICT_ACTION, MERGE_ACTION, ORG_ACTION, RUN_ACTION, ADMIN_ACTION)
"""Requests whose payload holds ids of stored memories or facts, whatever becomes of these."""
_ASKING = (WRITE_ACTION, *_NAMING)


def without_memories(payload: PrunePayload, memory_ids: Collection[str]) -> PrunePayload | None:
    """Return a proposal to remove memories, less these ones; ``None`` when none are left."""
    left = tuple(memory for memory in payload.memory_ids if memory not in memory_ids)
    if not left:
        return None
    reasons = {memory: reason for memory, reason in payload.reasons.items() if memory in left}
    return payload.model_copy(update={"memory_ids": left, "reasons": reasons})


def _requests_naming(stored: StoredWords, memory_ids: Collection[str]) -> frozenset[str]:
    """The items by which one of these memories or facts was to be stored, changed or deleted."""
    purged = frozenset(memory_ids)
    decided = {
        operation.item_id
        for operation in stored.operations
        if not purged.isdisjoint(operation.effects.touched)
    }
    return frozenset(
        item.id
        for item in stored.items
        if (item.action_type in _ASKING and item.id in decided)
        or (item.action_type in _NAMING and any(memory in item.payload for memory in purged))
    )


def _targets(
    stored: StoredWords, memory_ids: Collection[str], existing: Collection[str]
) -> tuple[list[ErasureTarget], list[str]]:
    """The skills to erase, and the files of those that copies keep.

    A text of a skill is erased once no memory of it is left.
    """
    left = frozenset(existing) - frozenset(memory_ids)
    active: Mapping[str, RegisteredSkill] = {
        record.path: record for record in stored.records if record.status is SkillStatus.ACTIVE
    }
    targets, copied = [], []
    for path, history in stored.histories().items():
        texts = history.texts_of(memory_ids)
        if any(left.isdisjoint(text) for text in texts):
            record = active.get(path)
            is_whole = record is None or left.isdisjoint(record.memory_ids)
            memories = frozenset[str]().union(*(history.texts if is_whole else texts))
            targets.append(ErasureTarget(path, is_whole, memories, frozenset(history.items)))
        elif texts:
            copied.append(path)
    return targets, copied


def _items_about(
    items: Iterable[ApprovalItem], targets: Sequence[ErasureTarget]
) -> tuple[frozenset[str], list[tuple[ApprovalItem, PrunePayload]]]:
    """The items that are erased with skills, and proposals to prune with what is left of them."""
    by_path = {target.path: target for target in targets}
    decided = {item for target in targets for item in target.items}
    memories = {memory for target in targets for memory in target.memory_ids}
    erased, prunes = set(), []
    for item in items:
        payload = entry_of(item).subject
        if item.id in decided or _is_file_change_of(item, by_path):
            erased.add(item.id)
        elif isinstance(payload, PrunePayload) and memories.intersection(payload.memory_ids):
            left = without_memories(payload, memories)
            if left is None:
                erased.add(item.id)
            else:
                prunes.append((item, left))
    return frozenset(erased), prunes


def _is_file_change_of(item: ApprovalItem, by_path: Mapping[str, ErasureTarget]) -> bool:
    """Whether the item shows a text that is erased.

    A pending change of a skill that stays active shows the text to come.
    """
    target = by_path.get(item.metadata.get("path", ""))
    if target is None or item.action_type != FILE_CHANGE_ACTION:
        return False
    return target.is_whole or item.status is not ApprovalStatus.PENDING
