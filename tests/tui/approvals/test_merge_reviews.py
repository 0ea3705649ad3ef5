"""Reviews of a model's text for several memories, and of two memories that disagree."""

import pytest

from synthorg_tui.approvals.models import ApprovalItem, RiskLevel
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.curation.models import PrunePayload
from synthorg_tui.curation.review import (
    CONFLICT_ACTION,
    DELETE_ACTION,
    MERGE_ACTION,
    MergePayload,
    Review,
    entry_of,
)
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.tui.approvals.lines import row_line
from synthorg_tui.tui.approvals.review_lines import head_lines, kept_lines
from synthorg_tui.tui.approvals.state import RowMarks
from synthorg_tui.tui.base.lines import plain
from tests.tui.tui_fakes import NOW, rows

TEXT = "The checkout test was flaky, as the clock was advanced too early.\nThe timer is first."
OLDER, NEWER = rows(2)


def item(action: str, payload: str) -> ApprovalItem:
    return ApprovalItem(
        id="item-1",
        action_type=action,
        title="Two memories",
        description="A model wrote it. 817 tokens become 162.",
        requested_by="consolidation",
        risk_level=RiskLevel.MEDIUM,
        created_at=NOW,
        metadata={"agent": "claude-code"},
        payload=payload,
    )


def merge_review() -> Review:
    request = MemoryStoreRequest(
        category=MemoryCategory.EPISODIC, content=TEXT, metadata=MemoryMetadata()
    )
    payload = MergePayload(
        agent_id="claude-code",
        draft=MemoryDraft(request=request),
        archived=(OLDER.id, NEWER.id),
        marks={OLDER.id: "a", NEWER.id: "b"},
    )
    entry = entry_of(item(MERGE_ACTION, payload.model_dump_json()))
    return Review(entry, "hash", text=TEXT, replaces=(OLDER, NEWER), diff=("-old", "+new"))


def removal(action: str) -> Review:
    reasons = {OLDER.id: "It says one thing, the newer memory says another."}
    payload = PrunePayload(agent_id="claude-code", memory_ids=(OLDER.id,), reasons=reasons)
    entry = entry_of(item(action, payload.model_dump_json()))
    return Review(entry, "hash", replaces=(OLDER,), diff=("-old",))


def test_a_model_s_text_is_shown_whole_before_what_it_archives() -> None:
    shown = plain(kept_lines(merge_review(), None))
    order = ["A model wrote it", "New text by a model", *TEXT.split("\n"), "Archives 2 memories"]
    assert [shown.index(each) for each in order] == sorted(map(shown.index, order))
    assert "In full" in shown


def test_a_merge_has_a_word_of_its_own() -> None:
    review = merge_review()
    assert "⇉ merge" in head_lines(review.entry)[0].plain
    marks = RowMarks(marked=False, reviewed=False, flags=0)
    assert row_line(review.entry, 80, marks, now=NOW).plain.strip().startswith("⇉")


@pytest.mark.parametrize(
    ("action", "word"), [(CONFLICT_ACTION, "≉ disagree"), (DELETE_ACTION, "- delete")]
)
def test_memories_that_disagree_are_called_so_and_a_deletion_is_not(action: str, word: str) -> None:
    assert word in head_lines(removal(action).entry)[0].plain


def test_what_both_sides_say_is_said_once() -> None:
    shown = plain(kept_lines(removal(CONFLICT_ACTION), None))
    assert "It says one thing" not in shown
    assert "Removes 1 memory" in shown
