"""Memory configuration: defaults, ranges on both sides, and what is refused or warned about."""

import logging
from contextlib import nullcontext
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from synthorg_tui.core.enums import ConsolidationInterval, MemoryCategory, MemoryLevel
from synthorg_tui.core.types import INVALID, LOGGER_NAME, SUSPECT
from synthorg_tui.memory.config import (
    CompanyMemoryConfig,
    CompositeBackendConfig,
    EmbedderOverrideConfig,
    MemoryOptionsConfig,
    MemoryStorageConfig,
    QdrantServerConfig,
    default_data_dir,
)
from synthorg_tui.memory.consolidation.config import (
    ArchivalConfig,
    ConsolidationConfig,
    DualModeConfig,
    RetentionConfig,
)
from synthorg_tui.memory.consolidation.models import RetentionRule
from synthorg_tui.memory.org.config import ExtendedStoreConfig, OrgMemoryConfig
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from tests.tables import rows

LINEAR_FREE = {"fusion_strategy": "rrf"}
INSIDE: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (MemoryOptionsConfig, {"retention_days": 1}),
    (MemoryOptionsConfig, {"retention_days": None}),
    (MemoryOptionsConfig, {"max_memories_per_agent": 1}),
    (EmbedderOverrideConfig, {"model": "m", "dims": 1}),
    (RetentionConfig, {"default_retention_days": 1}),
    (DualModeConfig, {"dense_threshold": 0.0}),
    (DualModeConfig, {"dense_threshold": 1.0}),
    (DualModeConfig, {"max_summary_tokens": 50}),
    (DualModeConfig, {"max_summary_tokens": 1000}),
    (DualModeConfig, {"max_facts": 1}),
    (DualModeConfig, {"max_facts": 100}),
    (DualModeConfig, {"anchor_length": 50}),
    (DualModeConfig, {"anchor_length": 500}),
    (ArchivalConfig, {"age_threshold_days": 1}),
    (ConsolidationConfig, {"max_memories_per_agent": 1}),
    (ExtendedStoreConfig, {"max_retrieved_per_query": 1}),
    (ExtendedStoreConfig, {"max_retrieved_per_query": 50}),
]
OUTSIDE: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (MemoryOptionsConfig, {"retention_days": 0}),
    (MemoryOptionsConfig, {"max_memories_per_agent": 0}),
    (EmbedderOverrideConfig, {"model": "m", "dims": 0}),
    (RetentionRule, {"category": "episodic", "retention_days": 0}),
    (RetentionConfig, {"default_retention_days": 0}),
    (DualModeConfig, {"dense_threshold": -0.01}),
    (DualModeConfig, {"dense_threshold": 1.01}),
    (DualModeConfig, {"max_summary_tokens": 49}),
    (DualModeConfig, {"max_summary_tokens": 1001}),
    (DualModeConfig, {"max_facts": 0}),
    (DualModeConfig, {"max_facts": 101}),
    (DualModeConfig, {"anchor_length": 49}),
    (DualModeConfig, {"anchor_length": 501}),
    (ArchivalConfig, {"age_threshold_days": 0}),
    (ConsolidationConfig, {"max_memories_per_agent": 0}),
    (ExtendedStoreConfig, {"max_retrieved_per_query": 0}),
    (ExtendedStoreConfig, {"max_retrieved_per_query": 51}),
    (ExtendedStoreConfig, {"backend": "mongo"}),
    (OrgMemoryConfig, {"backend": "mongo"}),
    (MemoryStorageConfig, {"data_dir": "  "}),
]
RETRIEVAL_RANGES: dict[str, tuple[float, float | None]] = {
    "relevance_weight": (0.0, 1.0),
    "recency_weight": (0.0, 1.0),
    "recency_decay_rate": (0.0, None),
    "personal_boost": (0.0, 1.0),
    "min_relevance": (0.0, 1.0),
    "max_memories": (1, 100),
    "default_relevance": (0.0, 1.0),
    "rrf_k": (1, 1000),
    "diversity_lambda": (0.0, 1.0),
    "candidate_pool_multiplier": (1, 10),
    "max_reformulation_rounds": (1, 5),
    "max_workers_per_query": (1, 4),
    "max_retry_count": (0, 5),
    "rerank_cache_ttl_seconds": (60, 86400),
}


def events(caplog: pytest.LogCaptureFixture, event: str) -> list[tuple[str, object]]:
    return [
        (vars(record)["field"], vars(record)["value"])
        for record in caplog.records
        if record.name == LOGGER_NAME and vars(record)["event"] == event
    ]


@pytest.fixture
def suspects(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, logger=LOGGER_NAME)
    return caplog


@rows(("model", "fields"), INSIDE)
def test_the_edge_of_a_range_is_accepted(model: type[BaseModel], fields: dict[str, Any]) -> None:
    made = model.model_validate(fields)
    assert {name: getattr(made, name) for name in fields} == fields


@rows(("model", "fields"), OUTSIDE)
def test_just_outside_a_range_is_refused(model: type[BaseModel], fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(fields)


@rows("field", RETRIEVAL_RANGES)
def test_retrieval_ranges_hold_on_both_sides(field: str) -> None:
    low, high = RETRIEVAL_RANGES[field]
    step = 1 if isinstance(low, int) else 0.001
    for value in (low, high):
        if value is not None:
            MemoryRetrievalConfig.model_validate({**LINEAR_FREE, field: value})
    for value in (low - step, None if high is None else high + step):
        if value is not None:
            with pytest.raises(ValidationError):
                MemoryRetrievalConfig.model_validate({**LINEAR_FREE, field: value})


@rows("value", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    with pytest.raises(ValidationError):
        MemoryRetrievalConfig(recency_decay_rate=value)


def test_documented_defaults() -> None:
    config = CompanyMemoryConfig()
    assert config.backend == "local"
    assert config.level is MemoryLevel.SESSION
    assert config.storage.vector_store == "qdrant"
    assert config.storage.history_store == "sqlite"
    assert config.storage.data_dir == default_data_dir()
    assert config.options == MemoryOptionsConfig(
        retention_days=None,
        max_memories_per_agent=10_000,
        consolidation_interval=ConsolidationInterval.DAILY,
        shared_knowledge_base=True,
    )
    assert config.consolidation.enabled
    assert config.consolidation.archival.age_threshold_days == 90
    assert config.embedder is None
    assert config.composite is None
    retrieval = config.retrieval.model_dump(mode="json")
    assert (retrieval["strategy"], retrieval["fusion_strategy"]) == ("context", "linear")
    assert (retrieval["relevance_weight"], retrieval["recency_weight"]) == (0.7, 0.3)
    assert (retrieval["max_memories"], retrieval["rrf_k"]) == (20, 60)


def test_configuration_is_frozen_and_refuses_unknown_fields() -> None:
    config = CompanyMemoryConfig()
    with pytest.raises(ValidationError):
        config.backend = "mem0"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        CompanyMemoryConfig.model_validate({"bakend": "local"})


class TestStorage:
    @rows("path", ["../x", "/a/../b", "a/..", "..\\x", "C:\\a\\..\\b"])
    def test_a_parent_segment_is_refused(self, path: str) -> None:
        with pytest.raises(ValidationError, match=r"must not contain '\.\.'"):
            MemoryStorageConfig(data_dir=path)

    @rows("path", ["/data/..hidden/", "/data/memory", "a..b/c", "..."])
    def test_dots_inside_a_name_are_fine(self, path: str) -> None:
        assert MemoryStorageConfig(data_dir=path).data_dir == path

    def test_null_is_the_platforms_directory(self) -> None:
        storage = MemoryStorageConfig.model_validate({"data_dir": None})
        assert storage.data_dir == default_data_dir()

    def test_tilde_is_the_home_directory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/someone")
        assert MemoryStorageConfig(data_dir="~/desk").data_dir == "/home/someone/desk"

    def test_a_home_that_does_not_exist_is_left_as_it_is(self) -> None:
        assert MemoryStorageConfig(data_dir="~no-such-user/x").data_dir == "~no-such-user/x"

    def test_a_null_byte_is_refused(self) -> None:
        with pytest.raises(ValidationError, match="null byte"):
            MemoryStorageConfig(data_dir="a\0b")

    def test_an_unknown_vector_store_is_told_the_valid_ones_sorted(self) -> None:
        expected = r"Unknown vector_store 'x'\. Valid stores: \['qdrant', 'qdrant-external'\]"
        with pytest.raises(ValidationError, match=expected):
            MemoryStorageConfig(vector_store="x")

    def test_an_unknown_history_store_is_told_the_valid_ones_sorted(self) -> None:
        expected = r"Unknown history_store 'x'\. Valid stores: \['postgresql', 'sqlite'\]"
        with pytest.raises(ValidationError, match=expected):
            MemoryStorageConfig(history_store="x")

    def test_an_external_qdrant_needs_a_server(self) -> None:
        with pytest.raises(ValidationError, match=r"server\.url is required"):
            MemoryStorageConfig(vector_store="qdrant-external")
        server = QdrantServerConfig(url="https://host:6333")
        assert MemoryStorageConfig(vector_store="qdrant-external", server=server).server == server

    def test_a_server_without_use_is_warned_about(self, suspects: pytest.LogCaptureFixture) -> None:
        MemoryStorageConfig(server=QdrantServerConfig(url="http://localhost:6333"))
        assert events(suspects, SUSPECT) == [("server", "http://localhost:6333")]

    @rows("url", ["localhost:6333", "ftp://host", "http://", "https:///"])
    def test_a_server_url_must_be_http(self, url: str) -> None:
        with pytest.raises(ValidationError, match="must be like"):
            QdrantServerConfig(url=url)

    @rows("name", ["write_consistency_factor", "read_consistency"])
    def test_no_more_copies_are_asked_than_there_are(self, name: str) -> None:
        fields = {"url": "http://host", "replication_factor": 2}
        QdrantServerConfig.model_validate({**fields, name: 2})
        with pytest.raises(ValidationError, match="more than the 2 of replication_factor"):
            QdrantServerConfig.model_validate({**fields, name: 3})

    def test_copies_may_be_asked_for_by_a_word(self) -> None:
        fields = {"url": "http://host", "read_consistency": "majority"}
        assert QdrantServerConfig.model_validate(fields).read_consistency == "majority"
        with pytest.raises(ValidationError):
            QdrantServerConfig.model_validate({**fields, "read_consistency": "most"})

    @rows(("shards", "fits"), [(0, False), (1, True), (1000, True)])
    def test_a_collection_has_at_least_one_shard(self, shards: int, fits: bool) -> None:
        with nullcontext() if fits else pytest.raises(ValidationError):
            QdrantServerConfig(url="http://host", shards=shards)

    def test_the_api_key_is_not_shown(self) -> None:
        server = QdrantServerConfig.model_validate({"url": "http://host", "api_key": "s3cret"})
        assert "s3cret" not in f"{server!r} {server.model_dump_json()}"

    def test_a_history_store_that_the_backend_ignores_is_warned_about(
        self, suspects: pytest.LogCaptureFixture
    ) -> None:
        for backend in ("local", "mem0"):
            suspects.clear()
            storage = MemoryStorageConfig(history_store="postgresql")
            CompanyMemoryConfig(backend=backend, storage=storage)
            assert events(suspects, SUSPECT) == [("storage.history_store", "postgresql")]


class TestBackend:
    @rows("name", ["local", "mem0", "inmemory"])
    def test_known_backends_are_accepted(self, name: str) -> None:
        assert CompanyMemoryConfig(backend=name).backend == name

    def test_an_unknown_backend_is_told_the_valid_ones_sorted(self) -> None:
        expected = r"Valid backends: \['composite', 'inmemory', 'local', 'mem0'\]"
        with pytest.raises(ValidationError, match=expected):
            CompanyMemoryConfig(backend="cognee")

    def test_composite_needs_its_routes(self) -> None:
        with pytest.raises(ValidationError, match="composite is required"):
            CompanyMemoryConfig(backend="composite")
        config = CompanyMemoryConfig(backend="composite", composite=CompositeBackendConfig())
        assert config.composite == CompositeBackendConfig(routes={}, default="inmemory")

    def test_routes_without_composite_are_refused(self) -> None:
        with pytest.raises(ValidationError, match="only allowed when backend is 'composite'"):
            CompanyMemoryConfig(composite=CompositeBackendConfig())


class TestEmbedderOverride:
    def test_a_model_needs_its_dimensions(self) -> None:
        with pytest.raises(ValidationError, match="dims is required when model is set"):
            EmbedderOverrideConfig(model="m")

    def test_dimensions_need_their_model(self) -> None:
        with pytest.raises(ValidationError, match="model is required when dims is set"):
            EmbedderOverrideConfig(dims=3)

    def test_a_provider_alone_is_fine(self) -> None:
        assert EmbedderOverrideConfig(provider="openai").model is None


class TestRetrieval:
    @rows("recency", [0.3 + 9e-7, 0.3 - 9e-7])
    def test_weights_within_the_tolerance_add_up(self, recency: float) -> None:
        MemoryRetrievalConfig(relevance_weight=0.7, recency_weight=recency)

    @rows("recency", [0.3 + 2e-6, 0.3 - 2e-6, 0.0, 1.0])
    def test_weights_must_add_up_under_linear_fusion(self, recency: float) -> None:
        with pytest.raises(ValidationError, match=r"must equal 1\.0"):
            MemoryRetrievalConfig(relevance_weight=0.7, recency_weight=recency)

    @rows("fusion", ["rrf", "score"])
    def test_weights_are_free_under_other_fusion(self, fusion: str) -> None:
        MemoryRetrievalConfig.model_validate({"recency_weight": 1.0, "fusion_strategy": fusion})

    @rows("strategy", ["context", "self_editing"])
    def test_reformulation_needs_the_tool_based_strategy(self, strategy: str) -> None:
        fields = {"query_reformulation_enabled": True, "strategy": strategy}
        with pytest.raises(ValidationError, match="needs strategy 'tool_based'"):
            MemoryRetrievalConfig.model_validate(fields)
        MemoryRetrievalConfig.model_validate({**fields, "strategy": "tool_based"})

    @rows("strategy", ["tool_based", "self_editing"])
    def test_hierarchical_needs_the_context_strategy(self, strategy: str) -> None:
        fields = {"retriever": "hierarchical", "strategy": strategy}
        with pytest.raises(ValidationError, match="needs strategy 'context'"):
            MemoryRetrievalConfig.model_validate(fields)
        MemoryRetrievalConfig.model_validate({**fields, "strategy": "context"})

    @pytest.mark.parametrize(
        ("fields", "warned"),
        [
            ({"rrf_k": 61}, "rrf_k"),
            ({"rrf_k": 61, "fusion_strategy": "score"}, "rrf_k"),
            ({"diversity_lambda": 0.6}, "diversity_lambda"),
            ({"candidate_pool_multiplier": 4}, "candidate_pool_multiplier"),
            (
                {"diversity_penalty_enabled": True, "strategy": "tool_based"},
                "diversity_penalty_enabled",
            ),
            ({"personal_boost": 0.1, "fusion_strategy": "rrf"}, "personal_boost"),
            ({"max_workers_per_query": 3}, "max_workers_per_query"),
            ({"reflective_retry_enabled": False}, "reflective_retry_enabled"),
            ({"max_retry_count": 1}, "max_retry_count"),
            ({"rerank_cache_ttl_seconds": 60}, "rerank_cache_ttl_seconds"),
        ],
    )
    def test_a_setting_without_effect_is_warned_about(
        self, fields: dict[str, Any], warned: str, suspects: pytest.LogCaptureFixture
    ) -> None:
        MemoryRetrievalConfig.model_validate(fields)
        assert events(suspects, SUSPECT) == [(warned, fields[warned])]

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"rrf_k": 60},
            {"rrf_k": 61, "fusion_strategy": "rrf"},
            {"diversity_lambda": 0.7},
            {"diversity_lambda": 0.6, "diversity_penalty_enabled": True},
            {"personal_boost": 0.0, "fusion_strategy": "rrf"},
            {"fusion_strategy": "rrf"},
            {"max_retry_count": 1, "retriever": "hierarchical"},
            {"rerank_cache_ttl_seconds": 60, "query_specific_rerank_enabled": True},
        ],
    )
    def test_a_setting_with_effect_is_not_warned_about(
        self, fields: dict[str, Any], suspects: pytest.LogCaptureFixture
    ) -> None:
        MemoryRetrievalConfig.model_validate(fields)
        assert events(suspects, SUSPECT) == []


class TestConsolidation:
    def test_a_category_has_one_rule(self) -> None:
        rules = [
            RetentionRule(category=category, retention_days=1)
            for category in (MemoryCategory.WORKING, MemoryCategory.EPISODIC) * 2
        ]
        with pytest.raises(ValidationError, match=r"\['episodic', 'working'\]"):
            RetentionConfig(rules=tuple(rules))
        assert len(RetentionConfig(rules=tuple(rules[:2])).rules) == 2

    def test_dual_mode_needs_a_model_only_when_enabled(self) -> None:
        with pytest.raises(ValidationError, match="summarization_model is required"):
            DualModeConfig(enabled=True)
        assert DualModeConfig(enabled=True, summarization_model="m").enabled
        assert not DualModeConfig().enabled


def test_a_refusal_is_logged_with_field_value_and_reason(
    suspects: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(ValidationError):
        CompanyMemoryConfig(backend="cognee")
    assert events(suspects, INVALID) == [("backend", "cognee")]
    assert "Valid backends" in vars(suspects.records[-1])["reason"]
