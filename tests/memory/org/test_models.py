"""The documented data of organisation memory, and what tags say of a fact."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synthorg_tui.core.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.models import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from synthorg_tui.memory.org.tags import OrgTraits
from tests.tables import rows

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PERSON = OrgFactAuthor(is_human=True)


@rows(
    "fields",
    [
        {"agent_id": "coder"},
        {"seniority": SeniorityLevel.LEAD},
        {"autonomy_level": AutonomyLevel.FULL},
    ],
)
def test_a_person_has_nothing_that_only_agents_have(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=r"Human authors must not have an? "):
        OrgFactAuthor.model_validate({"is_human": True, **fields})


@rows("fields", [{"agent_id": "coder"}, {"seniority": "lead"}, {}])
def test_an_agent_has_a_name_and_a_seniority(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=r"Non-human authors must have an? "):
        OrgFactAuthor.model_validate(fields)


@rows("limit", [1, 100])
def test_a_query_takes_limits_up_to_a_hundred(limit: int) -> None:
    assert OrgMemoryQuery(limit=limit).limit == limit


@rows("limit", [0, 101])
def test_a_query_takes_no_other_limits(limit: int) -> None:
    with pytest.raises(ValidationError):
        OrgMemoryQuery(limit=limit)


@rows(("operation", "content"), [("PUBLISH", None), ("RETRACT", "text")])
def test_a_line_of_the_log_has_a_text_exactly_if_it_publishes(
    operation: str, content: str | None
) -> None:
    fields = {"operation_id": "o", "fact_id": "f", "timestamp": NOW, "version": 1}
    with pytest.raises(ValidationError, match="content"):
        OperationLogEntry.model_validate(
            {**fields, "operation_type": operation, "content": content}
        )


def test_a_fact_is_not_retracted_before_it_is_created() -> None:
    fields = {
        "fact_id": "f",
        "content": "text",
        "category": OrgFactCategory.ADR,
        "created_at": NOW,
        "version": 1,
    }
    OperationLogSnapshot.model_validate({**fields, "retracted_at": NOW})
    with pytest.raises(ValidationError, match="must be >= created_at"):
        OperationLogSnapshot.model_validate({**fields, "retracted_at": NOW - timedelta(seconds=1)})


def test_a_change_says_what_it_publishes_and_which_fact_it_retracts() -> None:
    request = OrgFactWriteRequest(content="Squash commits", category=OrgFactCategory.CONVENTION)
    OrgChange(kind=OrgChangeKind.PUBLISH, author=PERSON, request=request)
    OrgChange(kind=OrgChangeKind.RETRACT, author=PERSON, fact_id="f")
    for wrong in ({"kind": "publish"}, {"kind": "retract"}):
        with pytest.raises(ValidationError, match="change"):
            OrgChange.model_validate({"author": PERSON, **wrong})


_TEXT = st.text(min_size=1, max_size=20)


@given(
    project=st.text(max_size=20),
    status=st.text(max_size=20),
    supersedes=st.lists(_TEXT, max_size=3).map(tuple),
)
def test_traits_survive_being_tags(project: str, status: str, supersedes: tuple[str, ...]) -> None:
    traits = OrgTraits(
        project=project, status=status, supersedes=supersedes, others=("urgent", "area:db")
    )
    assert OrgTraits.of(traits.tags) == traits
