"""A stand-in for the memory store, with its contract: keys skip, update and add."""

from collections.abc import Collection, Sequence

from synthorg_tui.memory.extensions import BatchOutcome, MemoryDraft
from synthorg_tui.memory.models import AGENT_IS_FULL


class FakeBackend:
    """Keeps drafts by agent and key, at most ``room`` of them."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
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
            if before is None and len(self.drafts) >= self.room:
                skipped.append((draft.key, AGENT_IS_FULL))
                continue
            if before is None:
                added.append(draft.key)
            elif before.request.content != draft.request.content:
                updated.append(draft.key)
            else:
                skipped.append((draft.key, "unchanged"))
                continue
            self.drafts[agent_id, draft.key] = draft
        return BatchOutcome(tuple(added), tuple(updated), tuple(skipped))

    def drop(self, sessions: Collection[str]) -> None:
        """Drop what was drawn from these sessions, except what people said."""
        for key, draft in list(self.drafts.items()):
            session, _, _ = (draft.request.metadata.source or "").partition("#")
            if session in sessions and "|said:" not in key[1]:
                del self.drafts[key]

    @property
    def contents(self) -> list[str]:
        return [draft.request.content for draft in self.drafts.values()]
