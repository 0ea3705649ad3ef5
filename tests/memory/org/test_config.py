"""Settings of organisation memory, and the backend that they make."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.org.config import MAX_RETENTION_DAYS, OrgMemoryConfig
from synthorg_tui.memory.org.errors import OrgMemoryConfigError
from synthorg_tui.memory.org.factory import create_org_backend
from synthorg_tui.memory.org.store import OrgStore
from synthorg_tui.memory.store.core import Core
from synthorg_tui.persistence.database import Database
from tests.memory.store.hash_embedder import HashEmbedder
from tests.tables import rows

NAMES = ("graph_rag", "hybrid_prompt_retrieval", "temporal_kg")


def config(**fields: object) -> OrgMemoryConfig:
    return OrgMemoryConfig.model_validate(fields)


@pytest.fixture
def store(tmp_path: Path) -> OrgStore:
    database, index = Database.in_dir(tmp_path), EdgeIndex(tmp_path / "index")
    return OrgStore(Core(database=database, index=index, embedder=HashEmbedder()))


@pytest.mark.parametrize("name", NAMES)
def test_each_documented_name_makes_its_backend(store: OrgStore, name: str) -> None:
    made = create_org_backend(config(backend=name), store)
    assert made.backend_name == name
    assert not made.is_connected


def test_another_backend_is_refused_with_the_names_that_there_are(store: OrgStore) -> None:
    with pytest.raises(ValidationError, match="'temporal_kg' or 'graph_rag'"):
        config(backend="redis")
    other = config().model_copy(update={"backend": "redis"})
    with pytest.raises(OrgMemoryConfigError, match=re.escape(f"Valid backends: {list(NAMES)}")):
        create_org_backend(other, store)


@rows("name", ["sqlite", "duckdb"])
def test_the_embedded_store_has_two_names(name: str) -> None:
    assert config(extended_store={"backend": name}).extended_store.backend == name
    assert config(graph={"store": name}).graph.store == name


@rows("fields", [{"extended_store": {"backend": "postgresql"}}, {"graph": {"store": "neo4j"}}])
def test_another_store_is_refused_with_what_there_is(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as refused:
        config(**fields)
    assert "facts are kept in the database of this program" in str(refused.value)
    assert "['sqlite', 'duckdb']" in str(refused.value)


def test_entities_are_extracted_by_code_alone() -> None:
    assert config(graph={"entity_extraction": "auto"}).graph.entity_extraction == "auto"
    with pytest.raises(ValidationError):
        config(graph={"entity_extraction": "llm"})


def test_the_past_is_told_for_ever_by_default() -> None:
    assert config().temporal.track_changes
    assert config().temporal.history_retention_days is None


@rows("days", [0, MAX_RETENTION_DAYS + 1, "some"])
def test_a_retention_out_of_bounds_is_refused(days: object) -> None:
    with pytest.raises(ValidationError):
        config(temporal={"history_retention_days": days})


@rows("days", [1, MAX_RETENTION_DAYS])
def test_a_retention_at_its_bounds_is_taken(days: int) -> None:
    assert config(temporal={"history_retention_days": days})
