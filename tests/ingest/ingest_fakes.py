"""In-memory stands-ins for the stores, with their contracts: keys skip, update and add."""

from collections.abc import Sequence

from synthorg_tui.executions.models import Execution, SourceRef
from synthorg_tui.executions.store import Excerpt, FileMark
from synthorg_tui.memory.extensions import BatchOutcome, MemoryDraft


class FakeBackend:
    """Keeps drafts by agent and key."""

    def __init__(self) -> None:
        self.drafts: dict[tuple[str, str], MemoryDraft] = {}
        self.batches: list[int] = []

    async def store_many(
        self, agent_id: str, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        added: list[str] = []
        updated: list[str] = []
        skipped: list[tuple[str | None, str]] = []
        self.batches.append(len(drafts))
        for draft in drafts:
            assert draft.key is not None
            before = self.drafts.get((agent_id, draft.key))
            if before is None:
                added.append(draft.key)
            elif before.request.content != draft.request.content:
                updated.append(draft.key)
            else:
                skipped.append((draft.key, "unchanged"))
                continue
            self.drafts[agent_id, draft.key] = draft
        return BatchOutcome(tuple(added), tuple(updated), tuple(skipped))

    @property
    def contents(self) -> list[str]:
        return [draft.request.content for draft in self.drafts.values()]


class FakeExecutions:
    """Keeps executions with their lines, and the marks of files."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Execution, tuple[str, ...]]] = {}
        self.seen: dict[str, FileMark] = {}

    async def save(self, execution: Execution, lines: Sequence[str], mark: FileMark) -> None:
        self.kept[execution.id] = (execution, tuple(lines))
        self.seen[mark.path] = mark

    async def get(self, execution_id: str) -> Execution | None:
        found = self.kept.get(execution_id)
        return found[0] if found else None

    async def excerpt(self, ref: SourceRef, *, context: int = 0) -> Excerpt | None:
        found = self.kept.get(ref.execution_id)
        if found is None or ref.last_line > len(found[1]):
            return None
        numbered = tuple(enumerate(found[1], 1))[ref.first_line - 1 : ref.last_line]
        return Excerpt(ref, found[0].source_path, numbered)

    async def marks(self) -> dict[str, FileMark]:
        return dict(self.seen)

    async def count(self) -> int:
        return len(self.kept)

    async def ids(self) -> tuple[str, ...]:
        return tuple(sorted(self.kept))

    async def projects(self) -> tuple[str, ...]:
        return tuple(sorted({e.project for e, _ in self.kept.values() if e.project}))
