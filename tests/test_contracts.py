"""The contracts every backend and caller relies on."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.memory.models import (
    MemoryEntry,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def entry(**fields: object) -> MemoryEntry:
    given = {"id": "1", "agent_id": "a", "category": "semantic", "content": "x", "created_at": NOW}
    return MemoryEntry.model_validate(given | fields)


def test_tags_keep_their_first_occurrence() -> None:
    assert MemoryMetadata(tags=("b", "a", "b")).tags == ("b", "a")
    assert MemoryQuery(tags=("b", "a", "b")).tags == ("b", "a")


@pytest.mark.parametrize("content", ["", " ", "\n\t"])
def test_content_must_not_be_blank(content: str) -> None:
    with pytest.raises(ValidationError):
        MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=content)


def test_surrounding_whitespace_of_content_is_kept() -> None:
    request = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="  x ")
    assert request.content == "  x "


@pytest.mark.parametrize("field", ["updated_at", "expires_at"])
def test_a_memory_may_not_change_or_expire_before_it_was_made(field: str) -> None:
    assert getattr(entry(**{field: NOW}), field) == NOW
    with pytest.raises(ValidationError, match="must be >= created_at"):
        entry(**{field: NOW - timedelta(microseconds=1)})


def test_times_must_be_timezone_aware() -> None:
    with pytest.raises(ValidationError):
        entry(created_at=datetime(2026, 1, 1))


@pytest.mark.parametrize(("limit", "valid"), [(0, False), (1, True), (1000, True), (1001, False)])
def test_a_query_asks_for_1_to_1000_memories(limit: int, valid: bool) -> None:
    if valid:
        assert MemoryQuery(limit=limit).limit == limit
    else:
        with pytest.raises(ValidationError):
            MemoryQuery(limit=limit)


def test_since_must_be_strictly_before_until() -> None:
    assert MemoryQuery(since=NOW, until=NOW + timedelta(microseconds=1)).since == NOW
    with pytest.raises(ValidationError, match="since must be before until"):
        MemoryQuery(since=NOW, until=NOW)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        MemoryMetadata.model_validate({"sauce": "x"})


def test_a_source_reference_reads_back_as_written() -> None:
    ref = SourceRef(execution_id="claude-code:ab/agent-1", first_line=12, last_line=30)
    assert SourceRef.parse(str(ref)) == ref


@pytest.mark.parametrize("text", ["", "note", "a:b#L0-L1", "a:b#L3-L2", "a b#L1-L2"])
def test_other_text_is_no_source_reference(text: str) -> None:
    assert SourceRef.parse(text) is None


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("a" * 8, 2)])
def test_four_characters_count_as_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
