"""What a run hands to its callers: consistent, complete, and nothing unknown in it."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.models import (
    ArchivalEntry,
    ArchivalMode,
    CompressedExperience,
    ConsolidationResult,
    DetailedExperience,
)
from synthorg_tui.memory.models import MemoryMetadata
from tests.memory.consolidation.consolidation_kit import AGENT, TODAY
from tests.tables import rows


def assigned(*ids: str) -> list[dict[str, str]]:
    return [{"original_id": one, "mode": "extractive"} for one in ids]


def indexed(*ids: str) -> list[dict[str, str]]:
    return [{"original_id": i, "archival_id": f"x-{i}", "mode": "extractive"} for i in ids]


class TestResult:
    def test_the_count_is_of_what_was_removed_and_the_summary_the_last_one(self) -> None:
        result = ConsolidationResult(removed_ids=("a", "b"), summary_ids=("s", "t"))
        assert (result.consolidated_count, result.summary_id) == (2, "t")
        assert ConsolidationResult().summary_id is None

    def test_the_count_is_dumped_and_the_last_summary_is_not(self) -> None:
        dumped = ConsolidationResult(removed_ids=("a",), summary_ids=("s",)).model_dump()
        assert dumped["consolidated_count"] == 1
        assert "summary_id" not in dumped
        assert ConsolidationResult.model_validate(dumped).summary_id == "s"

    def test_what_it_does_not_know_is_ignored(self) -> None:
        assert ConsolidationResult.model_validate({"summary_id": "s"}) == ConsolidationResult()

    @rows(
        "fields",
        [
            {"removed_ids": ["a", "a"]},
            {"summary_ids": ["s", "s"]},
            {"removed_ids": ["a"], "archived_count": 2},
            {"removed_ids": ["a", "b"], "archived_count": 1, "archival_index": indexed("a", "b")},
            {"removed_ids": ["a"], "mode_assignments": assigned("b")},
            {"removed_ids": ["a"], "mode_assignments": assigned("a", "a")},
            {"removed_ids": ["a"], "archived_count": 1, "archival_index": indexed("b")},
            {"removed_ids": ["a", "b"], "archived_count": 2, "archival_index": indexed("a", "a")},
        ],
    )
    def test_what_contradicts_itself_is_refused(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            ConsolidationResult.model_validate(fields)

    def test_as_many_archived_as_removed_are_fine(self) -> None:
        fields = {"removed_ids": ["a"], "archived_count": 1, "archival_index": indexed("a")}
        result = ConsolidationResult.model_validate(fields | {"mode_assignments": assigned("a")})
        assert result.archival_index[0].archival_id == "x-a"


ARCHIVED: dict[str, Any] = {
    "original_id": "a",
    "agent_id": AGENT,
    "content": "text",
    "category": MemoryCategory.EPISODIC,
    "created_at": TODAY,
    "archived_at": TODAY,
    "archival_mode": ArchivalMode.EXTRACTIVE,
}


class TestArchivalEntry:
    def test_a_memory_may_be_archived_at_once_but_not_before_it_is_made(self) -> None:
        assert ArchivalEntry(**ARCHIVED).archived_at == TODAY
        with pytest.raises(ValidationError, match="must be >= created_at"):
            ArchivalEntry(**ARCHIVED | {"archived_at": TODAY - timedelta(microseconds=1)})

    def test_how_it_was_archived_has_to_be_said(self) -> None:
        with pytest.raises(ValidationError):
            ArchivalEntry(**{k: v for k, v in ARCHIVED.items() if k != "archival_mode"})


class TestTiers:
    def test_a_raw_record_has_its_tag(self) -> None:
        fields: dict[str, Any] = {
            "id": "d",
            "agent_id": AGENT,
            "prompt": "do it",
            "output": "done",
            "created_at": TODAY,
        }
        tagged = MemoryMetadata(tags=("detailed_experience",))
        assert DetailedExperience(**fields, metadata=tagged).reasoning_trace == ()
        with pytest.raises(ValidationError, match="detailed_experience"):
            DetailedExperience(**fields, metadata=MemoryMetadata())

    @rows(
        ("change", "is_fine"),
        [
            ({}, True),
            ({"compression_ratio": 1.0}, True),
            ({"compression_ratio": 0.0}, False),
            ({"compression_ratio": 1.01}, False),
            ({"strategic_decisions": ()}, False),
            ({"source_artifact_ids": ()}, False),
            ({"metadata": MemoryMetadata()}, False),
        ],
    )
    def test_what_was_learnt_says_something_and_of_what(
        self, change: dict[str, Any], is_fine: bool
    ) -> None:
        fields: dict[str, Any] = {
            "id": "c",
            "agent_id": AGENT,
            "strategic_decisions": ("test first",),
            "source_artifact_ids": ("d",),
            "compression_ratio": 0.5,
            "compressor_version": "v",
            "metadata": MemoryMetadata(tags=("compressed_experience",)),
            "created_at": TODAY,
        } | change
        if is_fine:
            assert CompressedExperience(**fields).applicable_contexts == ()
        else:
            with pytest.raises(ValidationError):
                CompressedExperience(**fields)
