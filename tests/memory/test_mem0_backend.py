"""The backend on the real package mem0ai, beyond what every backend does."""

import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.backends.mem0.backend import Mem0Backend
from synthorg_tui.memory.backends.mem0.mapping import memory_of, revision_of, score_of, user_of
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.errors import MemoryCapabilityError, MemoryConfigError, MemoryStoreError
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.listing import SHARED_OWNER, ChangeKind
from synthorg_tui.memory.mem0_config import (
    EmbeddingCostConfig,
    Mem0BackendConfig,
    Mem0EmbedderConfig,
)
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.retrieval.hits import CandidateSource, SparseSearch
from synthorg_tui.memory.shared import SharedKnowledgeStore
from synthorg_tui.memory.store.policy import StorePolicy
from synthorg_tui.providers.completion.usage import UsageRecord
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder
from tests.memory.mem0_kit import require_mem0
from tests.patience import PATIENCE
from tests.tables import rows

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OFFLINE = Path(__file__).with_name("mem0_offline.py")


class StillClock:
    def now(self) -> datetime:
        return NOW


@pytest.fixture(scope="module", autouse=True)
def package() -> None:
    require_mem0()


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return create_embedder(MiniLMConfig())


@pytest.fixture
async def mem0(embedder: Embedder, tmp_path: Path) -> AsyncIterator[Mem0Backend]:
    config = Mem0BackendConfig(sparse_search_enabled=True)
    made = Mem0Backend(embedder, tmp_path / "mem0", config=config, clock=StillClock())
    await made.connect()
    yield made
    await made.disconnect()


def note(text: str, *tags: str) -> MemoryStoreRequest:
    about = MemoryMetadata(tags=tags)
    return MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=text, metadata=about)


# -- without a network


def test_it_calls_nobody_whatever_else_is_installed(tmp_path: Path) -> None:
    """In a process of its own: even the import of the package calls out if it is let."""
    environ = {**os.environ, "HOME": str(tmp_path / "home"), "MEM0_TELEMETRY": "True"}
    environ.pop("MEM0_DIR", None)
    done = subprocess.run(
        [sys.executable, str(OFFLINE), str(tmp_path / "data")],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["1 found, nobody called"], done.stderr[-2000:]
    assert not (tmp_path / "home" / ".mem0").exists()
    assert not done.stderr


# -- what it keeps


async def test_memories_outlive_the_connection(mem0: Mem0Backend) -> None:
    memory_id = await mem0.store("ada", note("the port is 8080"))
    await mem0.disconnect()
    await mem0.connect()
    assert await mem0.get("ada", memory_id) is not None
    (found,) = await mem0.retrieve("ada", MemoryQuery(text="which port?"))
    assert found.id == memory_id


async def test_an_agent_may_be_called_what_mem0_refuses(mem0: Mem0Backend) -> None:
    await mem0.store("Ada  Lovelace\t100%", note("the port is 8080"))
    (found,) = await mem0.retrieve("Ada  Lovelace\t100%", MemoryQuery())
    assert found.agent_id == "Ada  Lovelace\t100%"
    assert await mem0.count("Ada") == 0


async def test_secrets_are_redacted(mem0: Mem0Backend) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
    await mem0.store("ada", note(f"the token is {token}"))
    (found,) = await mem0.retrieve("ada", MemoryQuery())
    assert token not in found.content


async def test_filters_reach_beyond_the_first_hits(mem0: Mem0Backend) -> None:
    """Only the last of many equally good matches passes the filter."""
    for number in range(120):
        await mem0.store("ada", note(f"deploy key {number}", "wanted" if number == 119 else "x"))
    found = await mem0.retrieve("ada", MemoryQuery(text="deploy key", tags=("wanted",)))
    assert [entry.content for entry in found] == ["deploy key 119"]


async def test_keywords_alone_find_what_has_them(mem0: Mem0Backend) -> None:
    await mem0.store("ada", note("error XK-4417 comes from the proxy"))
    await mem0.store("ada", note("bananas ripen faster next to apples"))
    assert isinstance(mem0, SparseSearch)
    found = await mem0.retrieve_sparse("ada", MemoryQuery(text="XK-4417"))
    assert [entry.content for entry in found] == ["error XK-4417 comes from the proxy"]
    assert await mem0.retrieve_sparse("bob", MemoryQuery(text="XK-4417")) == ()


async def test_without_the_setting_searching_by_keywords_says_what_to_set(
    embedder: Embedder, tmp_path: Path
) -> None:
    mem0 = Mem0Backend(embedder, tmp_path, config=Mem0BackendConfig())
    with pytest.raises(MemoryCapabilityError) as refused:
        await mem0.retrieve_sparse("ada", MemoryQuery(text="x"))
    assert "sparse_search_enabled" in refused.value.remedy


async def test_candidates_have_raw_scores_of_both_rankings(mem0: Mem0Backend) -> None:
    await mem0.store("ada", note("git push of a branch without upstream fails"))
    await mem0.publish("bob", note("git push is refused on Fridays"))
    assert isinstance(mem0, CandidateSource)
    query = MemoryQuery(text="git push fails")
    own = await mem0.candidates("ada", query, include_shared=False)
    both = await mem0.candidates("ada", query, include_shared=True)
    assert [hit.is_shared for hit in own.hits] == [False]
    assert sorted(hit.is_shared for hit in both.hits) == [False, True]
    assert all(hit.dense and hit.sparse for hit in both.hits)


async def test_memories_are_given_where_their_level_says(
    embedder: Embedder, tmp_path: Path
) -> None:
    policy = StorePolicy(level=lambda _: MemoryLevel.PROJECT)
    mem0 = Mem0Backend(embedder, tmp_path, config=Mem0BackendConfig(), policy=policy)
    await mem0.connect()
    here, there = (mem0.scoped(Visibility("s", project)) for project in ("/here", "/there"))
    memory_id = await here.store("ada", note("the port is 8080"))
    assert await here.count("ada") == 1
    assert await there.count("ada") == 0
    assert await there.get("ada", memory_id) is None
    assert not await there.delete("ada", memory_id)
    await mem0.disconnect()


async def test_the_history_of_a_memory_is_mem0s_own(mem0: Mem0Backend) -> None:
    memory_id = await mem0.store("ada", note("the port is 8080"))
    await mem0.delete("ada", memory_id)
    deleted, added = await mem0.admin.history(memory_id)
    assert (added.kind, added.after) == (ChangeKind.ADDED, {"content": "the port is 8080"})
    assert (deleted.kind, deleted.before) == (ChangeKind.DELETED, {"content": "the port is 8080"})


# -- what agents share


async def test_what_is_published_is_found_by_others_with_its_publisher(mem0: Mem0Backend) -> None:
    assert isinstance(mem0, SharedKnowledgeStore)
    memory_id = await mem0.publish("ada", note("the port is 8080"))
    (found,) = await mem0.search_shared(MemoryQuery(text="which port?"))
    assert (found.id, found.agent_id) == (memory_id, "ada")
    assert await mem0.search_shared(MemoryQuery(), exclude_agent="ada") == ()
    assert await mem0.get("ada", memory_id) is None
    assert await mem0.count("ada") == 0


async def test_only_the_publisher_withdraws(mem0: Mem0Backend) -> None:
    shared = await mem0.publish("ada", note("the port is 8080"))
    private = await mem0.store("ada", note("the host is here"))
    with pytest.raises(MemoryStoreError, match="another agent"):
        await mem0.retract("bob", shared)
    with pytest.raises(MemoryStoreError, match="private"):
        await mem0.retract("ada", private)
    with pytest.raises(MemoryStoreError, match="retract it instead"):
        await mem0.delete("ada", shared)
    assert not await mem0.retract("ada", str(uuid.uuid4()))
    assert await mem0.retract("ada", shared)
    assert await mem0.search_shared(MemoryQuery()) == ()


def test_capabilities(embedder: Embedder, tmp_path: Path) -> None:
    mem0 = Mem0Backend(embedder, tmp_path, config=Mem0BackendConfig())
    assert isinstance(mem0, MemoryCapabilities)
    assert not mem0.supports_graph
    assert mem0.supports_temporal
    assert mem0.supports_vector_search
    assert mem0.supports_shared_access


# -- what it refuses to open


async def test_memories_of_another_embedding_model_are_not_opened(
    mem0: Mem0Backend, embedder: Embedder, tmp_path: Path
) -> None:
    await mem0.disconnect()
    other = create_embedder(MiniLMConfig(max_tokens=64))
    with pytest.raises(MemoryConfigError, match="another embedding model"):
        await Mem0Backend(other, tmp_path / "mem0", config=Mem0BackendConfig()).connect()


async def test_memories_of_another_program_are_not_opened_but_can_be_imported(
    mem0: Mem0Backend, embedder: Embedder, tmp_path: Path
) -> None:
    await mem0.store("ada", note("the port is 8080"))
    await mem0.disconnect()
    (tmp_path / "mem0" / "embedder.json").unlink()
    with pytest.raises(MemoryConfigError, match="another program") as refused:
        await mem0.connect()
    assert "import mem0" in refused.value.remedy
    assert not mem0.is_connected


# -- costs


async def test_embeddings_are_recorded_as_costs_by_estimated_tokens(
    embedder: Embedder, tmp_path: Path
) -> None:
    spent: list[UsageRecord] = []

    async def record(usage: UsageRecord) -> None:
        spent.append(usage)

    model = embedder.fingerprint.split(":")[0]
    prices = EmbeddingCostConfig(
        enabled=True, model_pricing={model: 0.5}, default_chars_per_token=5
    )
    config = Mem0BackendConfig(embedding_cost=prices)
    mem0 = Mem0Backend(embedder, tmp_path, config=config, record=record)
    await mem0.connect()
    await mem0.store("ada", note("eleven char"))
    await mem0.retrieve("ada", MemoryQuery(text="ten chars."))
    await mem0.disconnect()
    assert [(u.model, u.prompt_tokens, u.cost, u.agent_id) for u in spent] == [
        (model, 3, 0.0015, "ada"),
        (model, 2, 0.001, "ada"),
    ]


# -- settings


def test_the_documented_defaults() -> None:
    config, embedder = Mem0BackendConfig(), Mem0EmbedderConfig(provider="openai", model="m")
    assert (config.collection, config.sparse_search_enabled) == ("synthorg_memories", False)
    cost = config.embedding_cost
    assert (cost.enabled, cost.model_pricing, cost.default_chars_per_token) == (False, {}, 4)
    assert (embedder.dims, embedder.fine_tune) == (1536, None)


@rows(
    "wrong",
    [
        {"data_dir": "/data/../etc"},
        {"data_dir": "C:/data"},
        {"data_dir": "data\\memory"},
        {"embedding_cost": {"default_chars_per_token": 0}},
        {"embedding_cost": {"default_chars_per_token": 21}},
        {"embedding_cost": {"model_pricing": {"m": -0.1}}},
        {"collection": " "},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Mem0BackendConfig.model_validate(wrong)


@rows(("exists", "model"), [(True, "checkpoint"), (False, "base")])
def test_a_tuned_model_is_used_if_it_is_there(exists: bool, model: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    if exists:
        checkpoint.mkdir()
    tuned = {"enabled": True, "checkpoint_path": str(checkpoint), "base_model": "base"}
    config = Mem0EmbedderConfig.model_validate(
        {"provider": "openai", "model": "m", "fine_tune": tuned}
    )
    assert Path(config.effective_model).name == model


# -- the mapping


def item(metadata: dict[str, object] | None = None, **fields: object) -> dict[str, object]:
    return {"id": "1", "memory": "x", "user_id": "ada", "metadata": metadata or {}} | fields


@rows(
    ("written", "read"),
    [(None, 1.0), ("high", 0.5), (float("nan"), 0.5), (7, 1.0), (-1, 0.0), ("0.25", 0.25)],
)
def test_confidence_is_read_as_well_as_it_can_be(written: object, read: float) -> None:
    kept = memory_of(item({"_synthorg_confidence": written}), NOW)
    assert kept is not None
    assert kept.entry.metadata.confidence == read


@rows("category", [None, "trivia", 7])
def test_an_unknown_category_is_working(category: object) -> None:
    kept = memory_of(item({"_synthorg_category": category}), NOW)
    assert kept is not None
    assert kept.entry.category is MemoryCategory.WORKING


def test_a_time_without_a_zone_is_in_utc() -> None:
    kept = memory_of(item(created_at="2026-01-01T12:00:00"), NOW)
    assert kept is not None
    assert kept.entry.created_at == NOW


@rows(
    ("updated", "expires", "created"),
    [(None, None, 0), (1, None, 1), (None, 2, 2), (3, 2, 2), ("soon", None, 0)],
)
def test_a_missing_creation_is_as_early_as_it_must_be(
    updated: int | str | None, expires: int | None, created: int
) -> None:
    def day(number: int | str | None) -> str | None:
        at = NOW + timedelta(days=number) if isinstance(number, int) else number
        return at.isoformat() if isinstance(at, datetime) else at

    kept = memory_of(item({"_synthorg_expires_at": day(expires)}, updated_at=day(updated)), NOW)
    assert kept is not None
    assert kept.entry.created_at == NOW + timedelta(days=created)


def test_a_shared_memory_without_a_publisher_is_the_reserved_owners() -> None:
    kept = memory_of(item(user_id=SHARED_OWNER), NOW)
    assert kept is not None
    assert (kept.shared, kept.entry.agent_id) == (True, SHARED_OWNER)


@rows("nothing", [{"memory": " "}, {"memory": None}, {"user_id": None}])
def test_what_has_no_text_or_owner_is_no_memory(nothing: dict[str, object]) -> None:
    assert memory_of(item() | nothing, NOW) is None


@rows(("written", "read"), [(None, None), ("0.5", None), (True, None), (1.2, 1.0), (-0.1, 0.0)])
def test_a_bad_score_is_none_and_others_are_bounded(written: object, read: float | None) -> None:
    assert score_of(written) == read


def test_users_are_told_apart_after_their_ids_were_made_fit() -> None:
    assert len({user_of(name) for name in ("a b", "a%20b", "a\tb", "ab")}) == 4
    assert user_of("ada") == "ada"


def test_a_line_of_history_without_times_is_of_now() -> None:
    line = revision_of({"event": "MERGE", "memory_id": "1", "new_memory": "x"}, 3, NOW)
    assert (line.kind, line.at, line.revision) == (ChangeKind.EDITED, NOW, 3)
