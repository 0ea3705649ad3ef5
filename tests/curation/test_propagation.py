"""Who gets a copy of an approved lesson, and what the copy looks like."""

from dataclasses import dataclass
from datetime import UTC, datetime

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.curation.models import ProceduralMemoryScope
from synthorg_tui.curation.propagation import (
    DepartmentScopedPropagation,
    NoPropagation,
    RoleScopedPropagation,
    copy_for_others,
    propagation_for,
)
from synthorg_tui.memory.config import PropagationConfig
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from tests.tables import rows


@dataclass(frozen=True)
class Agent:
    id: str
    role: str | None = None
    department: str | None = None


AGENTS = (
    Agent("eve", "tester", "product"),
    Agent("ada", "developer", "platform"),
    Agent("bob", "developer", "product"),
    Agent("cyd", "developer", "platform"),
    Agent("dan", None, "platform"),
    Agent("una"),
    Agent("uno"),
)


def test_without_propagation_nobody_gets_a_copy() -> None:
    assert NoPropagation().targets("ada", AGENTS) == ()


def test_a_role_gets_it_in_the_order_of_the_agents_without_its_source() -> None:
    assert RoleScopedPropagation(10).targets("cyd", AGENTS) == ("ada", "bob")


def test_a_department_gets_it() -> None:
    assert DepartmentScopedPropagation(10).targets("ada", AGENTS) == ("cyd", "dan")


def test_places_are_compared_as_they_are_written() -> None:
    agents = (*AGENTS, Agent("zoe", "Developer", "Platform"))
    assert "zoe" not in RoleScopedPropagation(10).targets("ada", agents)


@rows("source", ["nobody", "una"])
def test_an_unknown_agent_or_place_reaches_nobody(source: str) -> None:
    assert RoleScopedPropagation(10).targets(source, AGENTS) == ()
    assert DepartmentScopedPropagation(10).targets(source, AGENTS) == ()


@rows(("bound", "count"), [(2, 2), (1, 1), (0, 1), (-5, 1)])
def test_only_so_many_get_it_and_at_least_one(bound: int, count: int) -> None:
    assert len(RoleScopedPropagation(bound).targets("ada", AGENTS)) == count
    assert len(DepartmentScopedPropagation(bound).targets("ada", AGENTS)) == count


@rows(
    ("configured", "scope", "targets"),
    [
        ("none", "agent", ()),
        ("role_scoped", "agent", ("bob", "cyd")),
        ("department_scoped", "agent", ("cyd", "dan")),
        ("none", "role", ("bob", "cyd")),
        ("role_scoped", "department", ("cyd", "dan")),
        ("role_scoped", "org", ()),
    ],
)
def test_the_approved_scope_decides_and_else_the_configuration(
    configured: str, scope: str, targets: tuple[str, ...]
) -> None:
    config = PropagationConfig.model_validate({"type": configured})
    strategy = propagation_for(config, ProceduralMemoryScope(scope))
    assert strategy.targets("ada", AGENTS) == targets


@rows(("type", "scope"), [("role_scoped", "agent"), ("none", "department")])
def test_the_configured_bound_holds(type: str, scope: str) -> None:
    config = PropagationConfig.model_validate({"type": type, "max_propagation_targets": 1})
    strategy = propagation_for(config, ProceduralMemoryScope(scope))
    assert len(strategy.targets("ada", AGENTS)) == 1


def test_a_copy_keeps_everything_and_names_where_it_is_from() -> None:
    request = MemoryStoreRequest(
        category=MemoryCategory.PROCEDURAL,
        namespace="lessons",
        content="Push with -u.",
        metadata=MemoryMetadata(source="failure:t", confidence=0.7, tags=("non-inferable",)),
        expires_at=datetime(2027, 1, 1, tzinfo=UTC),
    )
    copied = copy_for_others(request, "ada")
    assert copied.metadata.tags == ("non-inferable", "propagated:ada")
    metadata = copied.metadata.model_copy(update={"tags": request.metadata.tags})
    assert copied.model_copy(update={"metadata": metadata}) == request
