"""Settings from file and environment, and what a person is told when they are wrong."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.yaml import MAX_NESTING
from synthorg_tui.memory.consolidation.config import ONE_SETTING
from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.providers.embedding.config import GgufConfig, MiniLMConfig, OpenAIConfig
from synthorg_tui.providers.reranking.config import NO_RERANKER, OnnxRerankerConfig
from synthorg_tui.settings import document
from synthorg_tui.settings import environment as paths
from synthorg_tui.settings.loader import load_settings, shipped_settings
from synthorg_tui.settings.root import AgentConfig, RootConfig
from tests import REPO
from tests.tables import rows

SHIPPED_FILE = REPO / "config" / "company.yaml"
PACKAGE = REPO / "synthorg_tui"

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "company.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(autouse=True)
def no_user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    usual = tmp_path / "user" / "company.yaml"
    monkeypatch.setattr(paths, "default_config_file", lambda: usual)
    return usual


def load(path: Path | None = None, **environ: str) -> RootConfig:
    return load_settings(path, environ=environ)


def problems(path: Path | None = None, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(path, **environ)
    return [line.replace(f"{path}", "FILE") for line in caught.value.message.splitlines()]


class TestDefaults:
    @rows("settings", [RootConfig(), shipped_settings()])
    def test_they_pass_the_validation_that_they_are_made_without(
        self, settings: RootConfig
    ) -> None:
        assert RootConfig.model_validate(settings.model_dump()) == settings
        assert RootConfig.model_validate_json(settings.model_dump_json()) == settings

    def test_they_say_of_no_setting_that_somebody_set_it(self) -> None:
        sections = dict(RootConfig().memory)
        given = {n: s.model_fields_set for n, s in sections.items() if isinstance(s, BaseModel)}
        assert given.pop("v1") == {"enabled"}
        assert not any(given.values())


class TestWhereSettingsComeFrom:
    def test_without_a_file_the_shipped_defaults_hold(self) -> None:
        assert load() == shipped_settings()

    def test_the_named_file_wins_over_the_variable_and_the_users_file(
        self, tmp_path: Path, no_user_file: Path
    ) -> None:
        named, variable = tmp_path / "named.yaml", tmp_path / "variable.yaml"
        no_user_file.parent.mkdir()
        for path, level in ((named, "none"), (variable, "session"), (no_user_file, "persistent")):
            path.write_text(f"memory: {{level: {level}}}")
        assert load(named, SYNTHORG_CONFIG=str(variable)).memory.level is MemoryLevel.NONE
        assert load(SYNTHORG_CONFIG=str(variable)).memory.level is MemoryLevel.SESSION
        assert load().memory.level is MemoryLevel.PERSISTENT

    def test_a_named_file_must_exist(self, tmp_path: Path) -> None:
        missing = tmp_path / "missing.yaml"
        assert problems(missing) == ["FILE: no such file (named by --config)"]
        told = problems(None, SYNTHORG_CONFIG=str(missing))
        assert told == [f"{missing}: no such file (named by SYNTHORG_CONFIG)"]

    def test_what_a_file_leaves_out_keeps_the_shipped_default(self, write: Write) -> None:
        settings = load(write("memory:\n  retrieval:\n    max_memories: 5\n"))
        assert settings.memory.retrieval.max_memories == 5
        assert settings.memory.level is MemoryLevel.PROJECT

    @rows("text", ["", "# nothing\n", "memory:\n", "memory:\n  storage:\n"])
    def test_an_empty_file_or_section_means_the_defaults(self, write: Write, text: str) -> None:
        assert load(write(text)) == shipped_settings()


class TestEnvironment:
    def test_a_variable_overrides_the_file(self, write: Write) -> None:
        path = write("memory: {retrieval: {max_memories: 5, rrf_k: 7}}")
        retrieval = load(path, SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES="30").memory.retrieval
        assert (retrieval.max_memories, retrieval.rrf_k) == (30, 7)

    def test_the_switch_of_consolidation_holds_over_its_section(self, write: Write) -> None:
        path = write("memory: {consolidation: {enabled: true, interval: weekly}}")
        off = load(path, SYNTHORG__MEMORY__CONSOLIDATION_ENABLED="false").memory.consolidation
        assert (off.enabled, off.interval.value) == (False, "weekly")
        (told,) = problems(path, SYNTHORG__MEMORY__CONSOLIDATION_ENABLED="perhaps")
        assert "memory.consolidation.enabled" in told or "consolidation_enabled" in told

    def test_one_bound_with_two_values_names_both(self, write: Write) -> None:
        path = write("memory: {consolidation: {max_memories_per_agent: 6}}")
        assert load(path).memory.options.max_memories_per_agent == 6
        (told,) = problems(path, SYNTHORG__MEMORY__OPTIONS__MAX_MEMORIES_PER_AGENT="5")
        assert "memory.options.max_memories_per_agent (5)" in told
        assert "memory.consolidation.max_memories_per_agent (6)" in told

    def test_values_are_typed_as_in_yaml(self) -> None:
        settings = load(
            SYNTHORG__MEMORY__OPTIONS__RETENTION_DAYS="null",
            SYNTHORG__MEMORY__OPTIONS__SHARED_KNOWLEDGE_BASE="false",
            SYNTHORG__MEMORY__RETRIEVAL__MIN_RELEVANCE="0.5",
            SYNTHORG__ORG_MEMORY__CORE_POLICIES="[Review everything., Test it.]",
            SYNTHORG__AGENTS="[{id: a, level: none}]",
        )
        assert settings.memory.options.retention_days is None
        assert settings.memory.options.shared_knowledge_base is False
        assert settings.memory.retrieval.min_relevance == 0.5
        assert settings.org_memory.core_policies == ("Review everything.", "Test it.")
        assert settings.level("a") is MemoryLevel.NONE

    def test_an_empty_value_counts_as_not_set(self) -> None:
        assert load(SYNTHORG__MEMORY__LEVEL=" ") == shipped_settings()

    def test_other_variables_are_left_alone(self) -> None:
        assert load(SYNTHORG_DEBUG="1", HOME="/x") == shipped_settings()

    def test_a_wrong_value_is_blamed_on_its_variable(self, write: Write) -> None:
        name = "SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES"
        assert problems(write("memory:\n"), **{name: "300"}) == [
            f"{name}: memory.retrieval.max_memories: "
            "300 is not allowed; allowed: whole number from 1 to 100"
        ]

    def test_an_unknown_setting_is_blamed_on_its_variable(self) -> None:
        (told,) = problems(SYNTHORG__MEMRY__LEVEL="none")
        assert told.startswith("SYNTHORG__MEMRY__LEVEL: memry: unknown setting (did you mean 'mem")

    @rows(
        ("name", "value", "told"),
        [
            ("SYNTHORG__", "1", "not a setting"),
            ("SYNTHORG__MEMORY____LEVEL", "none", "not a setting"),
            ("SYNTHORG__AGENTS__ID", "x", "agents is a list, set it whole"),
            ("SYNTHORG__MEMORY__BACKEND__X", "x", "backend is not a section"),
            ("SYNTHORG__MEMORY__LEVEL", "[", "expected the node content"),
        ],
    )
    def test_a_variable_that_can_not_be_applied_is_named(
        self, write: Write, name: str, value: str, told: str
    ) -> None:
        path = write("memory: {backend: local}\nagents: [{id: a}]\n")
        (line,) = problems(path, **{name: value})
        assert line.startswith(name)
        assert told in line


class TestErrors:
    def test_every_problem_is_listed_with_its_line_value_and_what_is_allowed(
        self, write: Write
    ) -> None:
        text = (
            "memory:\n"
            "  levl: project\n"
            "  retrieval:\n"
            "    max_memories: 300\n"
            "    strategy: magic\n"
            "  options:\n"
            "    retention_days: soon\n"
        )
        told = problems(write(text))
        assert re.fullmatch(
            r"FILE:2: memory\.levl: unknown setting \(did you mean 'level'\?\); "
            r"allowed: backend, .*, level, .*",
            told[0],
        )
        assert told[1:] == [
            "FILE:4: memory.retrieval.max_memories: "
            "300 is not allowed; allowed: whole number from 1 to 100",
            "FILE:5: memory.retrieval.strategy: "
            '"magic" is not allowed; allowed: one of context, tool_based, self_editing',
            "FILE:7: memory.options.retention_days: "
            '"soon" is not allowed; allowed: whole number of at least 1 or null',
        ]

    def test_items_of_a_list_are_counted(self, write: Write) -> None:
        told = problems(write("agents:\n  - id: a\n  - role: b\n  - id: ' '\n"))
        assert told == [
            "FILE:3: agents[1].id: is required; allowed: text",
            'FILE:4: agents[2].id: " ": must not be blank',
        ]

    def test_settings_that_do_not_fit_each_other(self, write: Write) -> None:
        text = "memory:\n  retrieval:\n    fusion_strategy: linear\n    recency_weight: 0.5\n"
        assert problems(write(text)) == [
            "FILE:2: memory.retrieval: relevance_weight + recency_weight must equal 1.0, not 1.48"
        ]

    def test_a_misfit_between_file_and_variable_names_both(self, write: Write) -> None:
        name = "SYNTHORG__MEMORY__RETRIEVAL__FUSION_STRATEGY"
        path = write("memory:\n  retrieval: {recency_weight: 0.5}\n")
        (told,) = problems(path, **{name: "linear"})
        assert told.startswith(f"FILE:2 with {name}: memory.retrieval: ")

    def test_a_kind_of_embedding_that_does_not_exist(self, write: Write) -> None:
        assert problems(write("providers:\n  embedding:\n    type: magic\n")) == [
            "FILE:3: providers.embedding.type: "
            '"magic" is not allowed; allowed: one of minilm, gguf, onnx, static, fastembed, openai'
        ]

    def test_a_field_of_one_kind_of_embedding(self, write: Write) -> None:
        assert problems(write("providers:\n  embedding:\n    max_tokens: 8\n")) == [
            "FILE:3: providers.embedding.max_tokens: "
            "8 is not allowed; allowed: whole number from 16 to 512"
        ]

    def test_a_reranker_is_told_what_is_allowed(self, write: Write) -> None:
        assert problems(write("providers:\n  reranking: {type: gguf, path: a}\n")) == [
            'FILE:2: providers.reranking.type: "gguf" is not allowed; allowed: one of none, onnx'
        ]
        assert problems(
            write("providers:\n  reranking: {type: onnx, path: a, max_tokens: 8}\n")
        ) == [
            "FILE:2: providers.reranking.max_tokens: "
            "8 is not allowed; allowed: whole number from 32 to 32768"
        ]

    def test_a_reranker_is_in_force_once_reordering_is_on(self, write: Write) -> None:
        named = "providers: {reranking: {type: onnx, path: /m/a.onnx}}\n"
        assert load_settings(write(named), environ={}).reranking() == NO_RERANKER
        on = "memory: {retrieval: {query_specific_rerank_enabled: true}}\n"
        assert load_settings(write(named + on), environ={}).reranking() == OnnxRerankerConfig(
            type="onnx", path=Path("/m/a.onnx")
        )

    def test_a_secret_is_not_repeated(self, write: Write) -> None:
        text = "memory:\n  storage:\n    server:\n      url: http://x\n      api_key: [s3cret]\n"
        (told,) = problems(write(text))
        assert "s3cret" not in told
        assert "(hidden)" in told

    def test_a_number_where_text_belongs(self, write: Write) -> None:
        assert problems(write("agents:\n  - id: 12\n")) == [
            "FILE:2: agents[0].id: 12 is not text; put it in quotes"
        ]

    def test_a_long_value_is_cut_and_control_bytes_are_escaped(self, write: Write) -> None:
        (told,) = problems(write('memory: {level: "\\e[31m' + "x" * 500 + '"}'))
        assert len(told) < 250
        assert "\x1b" not in told


class TestYaml:
    @rows(
        ("text", "told"),
        [
            ("memory:\n  level: none\n  level: none\n", "FILE:3: 'level' is set twice"),
            ("memory: &m {level: none}\nagents: *m\n", "FILE:2: aliases are not supported"),
            ("- memory\n", "FILE:1: settings must be a mapping like 'memory: ...'"),
            ("? [memory]\n: 1\n", "FILE:1: a key must be a plain word"),
            ("memory: {level: 2026-02-30}\n", "FILE:1: '2026-02-30' is not a valid timestamp"),
            (f"memory: {'[' * 100_000}", "FILE:1: brackets are nested too deeply"),
            (f"memory: {{a: {'[' * 16}", "FILE:1: brackets are nested too deeply"),
            ("memory:\n" + "- " * 17 + "b\n", "FILE:2: nested too deeply"),
            ("".join(f"{' ' * n}a:\n" for n in range(300)), "FILE:17: nested too deeply"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_line(self, write: Write, text: str, told: str) -> None:
        assert problems(write(text)) == [told]

    def test_nesting_is_fine_up_to_its_bound(self) -> None:
        value = document.parse_value("[" * MAX_NESTING + "]" * MAX_NESTING, "here")
        for _ in range(MAX_NESTING - 1):
            assert isinstance(value, list)
            (value,) = value
        assert value == []

    @rows("text", ["memory: !!python/object:os.system {}\n", "memory: !!python/name:os.system\n"])
    def test_nothing_in_a_file_is_run(self, write: Write, text: str) -> None:
        (told,) = problems(write(text))
        assert told.startswith("FILE:1: could not determine a constructor")

    @rows("text", ["memory: [", 'memory: "x', "memory: {a: b: c}", "\tmemory:"])
    def test_broken_yaml_names_the_file(self, write: Write, text: str) -> None:
        (told,) = problems(write(text))
        assert told.startswith("FILE:1")

    @given(st.text() | st.text(alphabet="abm:-[]{}#&*!|>'\"\n \t,?%@"))
    @example("memory: {level: !!timestamp x}")
    @example("memory: {level: !!int x}")
    @example("memory: {level: 0o}")
    @example("memory: {level: 1:99:99}")
    @example("? !!set {a}\n: 1")
    @example("<<: [1]")
    @example("memory: !!map [a]")
    def test_whatever_a_file_holds_it_loads_or_is_explained(self, text: str) -> None:
        told = "FILE"
        try:
            document.parse_document(text, "FILE")
        except ConfigError as error:
            told = error.message
        assert told.startswith("FILE")

    def test_a_file_of_exactly_the_largest_size_is_read(self, write: Write) -> None:
        assert load(write("#" * document.MAX_BYTES)) == shipped_settings()

    def test_a_larger_file_is_not_read(self, write: Write) -> None:
        (told,) = problems(write("#" * (document.MAX_BYTES + 1)))
        assert told == "FILE: larger than 256 KiB; not read"

    def test_a_file_that_is_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "company.yaml"
        path.write_bytes(b"memory: \xff\xfe")
        assert problems(path) == ["FILE: not UTF-8 text (byte 8)"]

    def test_a_byte_order_mark_is_fine(self, write: Write) -> None:
        assert load(write("\ufeffmemory: {level: none}")).memory.level is MemoryLevel.NONE


class TestAgents:
    def test_ids_are_unique(self) -> None:
        with pytest.raises(ValidationError, match=r"Duplicate agent ids: \['a'\]"):
            RootConfig(agents=(AgentConfig(id="a"), AgentConfig(id="b"), AgentConfig(id="a")))

    def test_the_owner_of_shared_memories_is_no_agent(self) -> None:
        with pytest.raises(ValidationError, match="reserved"):
            AgentConfig(id="__synthorg_shared__")

    @rows(
        "retention",
        [
            {"retention_days": 1},
            {"retention_overrides": [{"category": "working", "retention_days": 1}]},
        ],
    )
    def test_an_agent_without_memories_has_nothing_to_retain(
        self, retention: dict[str, Any]
    ) -> None:
        with pytest.raises(ValidationError, match="nothing to retain"):
            AgentConfig.model_validate({"id": "a", "level": "none", **retention})
        AgentConfig.model_validate({"id": "a", "level": "session", **retention})

    def test_retention_days_are_at_least_one(self) -> None:
        with pytest.raises(ValidationError):
            AgentConfig(id="a", retention_days=0)
        assert AgentConfig(id="a", retention_days=1).retention_days == 1

    def test_an_agents_level_comes_before_the_companys(self) -> None:
        settings = RootConfig(agents=(AgentConfig(id="a", level=MemoryLevel.PERSISTENT),))
        assert settings.level("a") is MemoryLevel.PERSISTENT
        assert settings.level("b") is MemoryLevel.SESSION

    def test_the_most_specific_retention_wins(self, write: Write) -> None:
        settings = load(
            write(
                "memory:\n"
                "  options: {retention_days: 500}\n"
                "  consolidation:\n"
                "    retention:\n"
                "      rules: [{category: episodic, retention_days: 90}]\n"
                "agents:\n"
                "  - id: own\n"
                "    retention_days: 30\n"
                "    retention_overrides: [{category: working, retention_days: 7}]\n"
            )
        )
        found = {
            (agent, category.value): settings.retention_days(agent, category)
            for agent in ("own", "other")
            for category in (
                MemoryCategory.WORKING,
                MemoryCategory.EPISODIC,
                MemoryCategory.SEMANTIC,
            )
        }
        assert found == {
            ("own", "working"): 7,
            ("own", "episodic"): 90,
            ("own", "semantic"): 30,
            ("other", "working"): 500,
            ("other", "episodic"): 90,
            ("other", "semantic"): 500,
        }

    def test_memories_are_kept_for_good_by_default(self) -> None:
        assert RootConfig().retention_days("a", MemoryCategory.EPISODIC) is None


class TestEmbedding:
    def test_the_bundled_model_is_the_default(self) -> None:
        assert load().embedding() == MiniLMConfig()

    def test_an_override_replaces_model_and_dimensions(self, write: Write) -> None:
        text = (
            "memory: {embedder: {model: new, dims: 3}}\n"
            "providers: {embedding: {type: openai, base_url: 'http://h/v1', model: a, dims: 4}}\n"
        )
        expected = OpenAIConfig(type="openai", base_url="http://h/v1", model="new", dims=3)
        assert load(write(text)).embedding() == expected

    def test_an_override_may_name_a_model_file(self, write: Write) -> None:
        text = "memory: {embedder: {provider: gguf, model: /m.gguf, dims: 3}}"
        assert load(write(text)).embedding() == GgufConfig(type="gguf", path=Path("/m.gguf"))

    @rows("override", ["{model: m, dims: 3}", "{provider: magic}", "{provider: openai}"])
    def test_an_override_that_does_not_fit_is_refused(self, write: Write, override: str) -> None:
        (told,) = problems(write(f"memory:\n  embedder: {override}\n"))
        assert "memory.embedder doesn't fit providers.embedding" in told


class TestShippedFile:
    def test_it_equals_the_shipped_defaults(self) -> None:
        assert load(SHIPPED_FILE) == shipped_settings()

    def test_only_the_deliberate_settings_differ_from_the_models(self) -> None:
        plain = dict(leaves(RootConfig()))
        differing = {path for path, value in leaves(shipped_settings()) if plain[path] != value}
        assert differing == {
            "memory.level",
            "memory.retrieval.fusion_strategy",
            "memory.retrieval.relevance_weight",
            "memory.retrieval.recency_weight",
            "memory.retrieval.recency_decay_rate",
        }
        assert shipped_settings().memory.retrieval.fusion_strategy is FusionStrategy.SCORE

    def test_it_lists_exactly_the_settings_there_are(self) -> None:
        listed = yaml.safe_load(SHIPPED_FILE.read_text(encoding="utf-8"))
        assert set(keys(listed)) == {path for path, _ in leaves(RootConfig())}

    def test_every_setting_is_commented(self) -> None:
        lines = SHIPPED_FILE.read_text(encoding="utf-8").splitlines()
        bare = [
            line
            for before, line in itertools.pairwise(lines)
            if re.match(r"\s*[a-z_]+: \S", line) and "#" not in line and "#" not in before
        ]
        allowed = {
            "recency_weight",
            "diversity_lambda",
            "max_workers_per_query",
            "adr",
            "procedure",
        }
        assert {line.split(":")[0].strip() for line in bare} <= allowed | {"convention"}

    def test_every_setting_is_read_somewhere_or_marked_as_only_checked(self) -> None:
        """A setting that does nothing must say so.

        One whose name stands in two sections must be read with its section before it. Of two that
        are one setting it is enough that one is read: they always agree.
        """
        text = SHIPPED_FILE.read_text(encoding="utf-8")
        code = "\n".join(
            path.read_text(encoding="utf-8")
            for path in PACKAGE.rglob("*.py")
            if path.name not in ("config.py", "retrieval_config.py")
        ) + (PACKAGE / "settings" / "root.py").read_text(encoding="utf-8")
        paths_of_settings = [path for path, _ in leaves(RootConfig())]
        paths_of_settings += [f"agents.{name}" for name in AgentConfig.model_fields]
        bounds = [path for path in paths_of_settings if path.endswith(".max_memories_per_agent")]
        silent = [
            path
            for path in paths_of_settings
            if not re.search(rf"\.{reading(path, named_alike=path in bounds)}\b", code)
            and not is_marked(text, path)
        ]
        alike = {
            f"memory.options.{name}": f"memory.consolidation.{mirror}"
            for name, mirror in ONE_SETTING.items()
        }
        alike |= {mirror: name for name, mirror in alike.items()}
        assert len(bounds) == 2
        assert [path for path in silent if alike.get(path, path) in silent] == []


def reading(path: str, *, named_alike: bool) -> str:
    """The expression by which code reads a setting, without what stands before it."""
    return re.escape(".".join(path.split(".")[-2 if named_alike else -1 :]))


def is_marked(text: str, path: str) -> bool:
    """Whether the setting's line, or the comment right above it, says that it is only checked."""
    if path.startswith("agents."):  # an example in comments
        return (
            re.search(rf"^# +{path.removeprefix('agents.')}: .*\[checked only\]", text, re.M)
            is not None
        )
    section: dict[int, str] = {}
    comment: list[str] = []
    for line in text.splitlines():
        match = re.match(r"( *)(\w+):", line)
        if match is None:
            comment = [*comment, line] if line.lstrip().startswith("#") else []
            continue
        depth = len(match[1])
        section = {d: name for d, name in section.items() if d < depth} | {depth: match[2]}
        if ".".join(section.values()) == path:
            return any("[checked only]" in part for part in (*comment, line))
        comment = []
    return False


def leaves(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def keys(data: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in data.items():
        if isinstance(value, dict) and value and name != "rules":
            yield from keys(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
