"""The digest of a real store, looked up and given to an agent."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.untrusted import untrusted_content_directive
from synthorg_tui.engine import Engine
from synthorg_tui.memory.digest.builder import MemoryDigest
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.digest.models import NOTHING_FOUND, UNAVAILABLE, DigestResult
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.retrieval.explanation import Verdict
from synthorg_tui.memory.retrieval_config import MemoryRetrievalConfig
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.strategies.service import InjectionRequest, InjectionService
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.hostile import HOSTILE
from tests.memory.retriever_kit import Backend
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import AGENT, opened, request

EPISODIC, PROCEDURAL = MemoryCategory.EPISODIC, MemoryCategory.PROCEDURAL
SEMANTIC_ON: dict[str, Any] = {"semantic": {"enabled": True}, "keyword": {"enabled": False}}


@pytest.fixture
async def store(tmp_path: Path, clock: FixedClock) -> AsyncIterator[LocalMemoryBackend]:
    async with opened(tmp_path, clock=clock) as backend:
        yield backend


async def keep(
    store: LocalMemoryBackend, content: str, *tags: str, agent: str = AGENT, **fields: Any
) -> str:
    return await store.store(agent, request(content, tags=tags, **fields))


async def digest(
    store: LocalMemoryBackend, query: str, visibility: Visibility | None = None, **fields: Any
) -> DigestResult:
    view = store if visibility is None else store.scoped(visibility)
    config = MemoryV1Config.model_validate(fields)
    return await MemoryDigest(view.digest_items(), config).build(AGENT, query)


class TestStructured:
    async def test_the_newest_fact_of_each_key_in_the_order_of_the_keys(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        await keep(store, "emacs", "fact:editor")
        shell = await keep(store, "zsh", "fact:shell")
        clock.advance(seconds=1)
        editor = await keep(store, "vim", "fact:editor")
        await keep(store, "unused", "fact:other")
        result = await digest(store, "", structured={"fact_keys": ["shell", "none", "editor"]})
        assert result.included_ids == (shell, editor)
        assert 'key=editor value="vim"' in result.text

    async def test_only_facts_answer_for_a_key(self, store: LocalMemoryBackend) -> None:
        await keep(store, "it broke", "fact:editor", category=EPISODIC)
        result = await digest(store, "", structured={"fact_keys": ["editor"]})
        assert result.text == NOTHING_FOUND

    async def test_any_of_the_tags_newest_first(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        old = await keep(store, "a", "git")
        clock.advance(seconds=1)
        new = await keep(store, "b", "ssh", "x")
        await keep(store, "c", "gitlab")
        result = await digest(store, "", structured={"tags": ["git", "ssh"]})
        assert result.included_ids == (new, old)


class TestKeywords:
    async def test_titles_count_3_keys_and_episodes_2_other_text_1(
        self, store: LocalMemoryBackend
    ) -> None:
        body = await keep(store, "all about badgers")
        episode = await keep(store, "a badger bit", category=EPISODIC)
        key = await keep(store, "brock", "fact:badger-name")
        titled = await keep(store, "# Badgers\n\nmore", category=PROCEDURAL)
        both = await keep(store, "# Badger\nbadgers dig")
        await keep(store, "a weasel")
        result = await digest(store, "badger")
        scores = {c.entry.id: c.reason for c in result.candidates}
        assert scores == {
            both: "keyword score 4",
            titled: "keyword score 3",
            episode: "keyword score 2",
            key: "keyword score 2",
            body: "keyword score 1",
        }
        assert result.included_ids[:2] == (both, titled)
        assert set(result.included_ids[2:4]) == {episode, key}

    async def test_terms_are_alternatives_and_add_up(self, store: LocalMemoryBackend) -> None:
        one = await keep(store, "Red only")
        two = await keep(store, "red and BLUE")
        result = await digest(store, "Blue, red!")
        assert result.included_ids == (two, one)

    async def test_ties_come_newest_first_then_by_id(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        old = sorted([await keep(store, "fox 1"), await keep(store, "fox 2")])
        clock.advance(seconds=1)
        new = await keep(store, "fox 3")
        assert (await digest(store, "fox")).included_ids == (new, *old)

    async def test_words_are_no_patterns(self, store: LocalMemoryBackend) -> None:
        await keep(store, "plain text")
        underscore = await keep(store, "snake_case")
        assert (await digest(store, "e_c")).included_ids == (underscore,)

    async def test_a_star_finds_everything_newest_first(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        first = await keep(store, "a")
        clock.advance(seconds=1)
        second = await keep(store, "b", category=EPISODIC)
        result = await digest(store, "*")
        assert result.included_ids == (second, first)
        assert result.keyword_hits == 2

    async def test_hits_are_limited(self, store: LocalMemoryBackend) -> None:
        for number in range(4):
            await keep(store, f"fox {number}")
        assert (await digest(store, "fox", keyword={"limit": 3})).keyword_hits == 3


class TestMeaning:
    async def test_what_is_like_the_task_is_found(self, store: LocalMemoryBackend) -> None:
        like = await keep(store, "the staging database listens on port 6543")
        await keep(store, "badgers dig tunnels at night")
        result = await digest(store, "staging database port", **SEMANTIC_ON)
        assert result.included_ids == (like,)
        assert result.semantic_hits == 1

    async def test_without_vectors_it_does_nothing_and_says_so(self, tmp_path: Path) -> None:
        embedder = HashEmbedder()
        async with opened(tmp_path, embedder=embedder) as store:
            await keep(store, "staging database port")
            embedder.broken = True
            result = await digest(store, "staging database port", **SEMANTIC_ON)
        assert (result.text, result.semantic_hits) == (NOTHING_FOUND, 0)
        assert "the model is missing" in result.degraded


class TestScope:
    async def test_other_agents_memories_stay_theirs(self, store: LocalMemoryBackend) -> None:
        await keep(store, "fox", agent="eve")
        await store.publish("eve", request("shared fox"))
        own = await store.publish(AGENT, request("published fox"))
        assert (await digest(store, "fox", semantic={"enabled": True})).included_ids == (own,)

    async def test_deleted_and_expired_memories_are_gone(
        self, store: LocalMemoryBackend, clock: FixedClock
    ) -> None:
        deleted = await keep(store, "fox", "t", "fact:k")
        clock.advance(hours=1)
        await keep(store, "fox too", "t", "fact:k", expires_at=clock.now())
        await store.admin.remove([deleted], actor="me")
        given: dict[str, Any] = {"structured": {"fact_keys": ["k"], "tags": ["t"]}}
        assert (await digest(store, "fox", **given)).candidates == ()

    async def test_a_session_sees_what_reaches_it(self, store: LocalMemoryBackend) -> None:
        def draft(content: str, **fields: Any) -> MemoryDraft:
            return MemoryDraft(request=request(content, tags=("t", "fact:k")), **fields)

        drafts = [
            draft("fox here", level=MemoryLevel.SESSION, session_id="s1"),
            draft("fox elsewhere", level=MemoryLevel.SESSION, session_id="s2"),
            draft("fox everywhere", level=MemoryLevel.PERSISTENT),
        ]
        here, elsewhere, everywhere = (await store.store_many(AGENT, drafts, actor="me")).added
        inside = await digest(store, "fox", Visibility(session_id="s1", project=None))
        assert set(inside.included_ids) == {here, everywhere}
        assert "prov=import session=s1" in inside.text
        assert set((await digest(store, "fox")).included_ids) == {here, elsewhere, everywhere}

    async def test_pinned_memories_are_looked_up(self, store: LocalMemoryBackend) -> None:
        pinned, foreign = await keep(store, "a"), await keep(store, "b", agent="eve")
        made = MemoryDigest(store.digest_items(), MemoryV1Config())
        result = await made.build(AGENT, "zzz", pinned=(foreign, "no id", pinned))
        assert result.included_ids == (pinned,)


def with_digest(**fields: Any) -> RootConfig:
    shipped = shipped_settings().model_dump()
    shipped["memory"]["v1"] = {"enabled": True, **fields}
    return RootConfig.model_validate(shipped)


async def fill(engine: Engine, contents: Sequence[str]) -> None:
    for content in contents:
        await engine.memory.store("ada", request(content))


ASKED = InjectionRequest("ada", "which port does the staging database use?", 600)


class TestInjection:
    async def test_the_digest_is_all_an_agent_gets_of_its_memories(self, tmp_path: Path) -> None:
        async with Engine.open(with_digest(), data_dir=tmp_path) as engine:
            await fill(engine, ["The staging database listens on port 6543."])
            given = await engine.injection.prepare(ASKED)
            plain = await engine.injection.prepare(
                InjectionRequest("ada", ASKED.query, 600, digest_v1=False)
            )
        directive, part = given.messages
        assert directive.role is MessageRole.SYSTEM
        assert directive.content == untrusted_content_directive(("data",))
        assert part.content.startswith('Memory digest:\n<data source="memory">\n- [note] ')
        assert given.text == given.explanation.text
        assert "<memory-entry>" not in given.text
        assert given.explanation.strategy == "memory_digest"
        assert [c.entry.content for c in given.explanation.included] == [
            "The staging database listens on port 6543."
        ]
        assert plain.explanation.strategy == "context_injection"

    async def test_switched_off_nothing_else_changes(self, tmp_path: Path) -> None:
        """Byte for byte what the strategy gives, whatever the digest would look up."""
        texts = []
        for number, settings in enumerate(
            (
                shipped_settings(),
                with_digest(enabled=False, keyword={"limit": 1}, structured={"tags": ["t"]}),
            )
        ):
            async with Engine.open(settings, data_dir=tmp_path) as engine:
                if not number:
                    await fill(engine, ["The staging database listens on port 6543."])
                asked = InjectionRequest("ada", ASKED.query, 600, digest_v1=None)
                texts.append((await engine.injection.prepare(asked)).messages)
        assert texts[0] == texts[1] != ()

    async def test_a_request_may_ask_for_it(self, tmp_path: Path) -> None:
        async with Engine.open(shipped_settings(), data_dir=tmp_path) as engine:
            asked = InjectionRequest("ada", "x", 600, digest_v1=True)
            given = await engine.injection.prepare(asked)
        assert given.messages[1].content == (
            'Memory digest:\n<data source="memory">\nNo matching durable memory found.\n</data>'
        )

    async def test_a_request_may_say_how(self, tmp_path: Path) -> None:
        secret = request("a secret fox", tags=("sensitivity:sensitive",))
        open_to_all = MemoryV1Config.model_validate(
            {"enabled": False, "allow_sensitivities": ["public", "private", "sensitive"]}
        )
        async with Engine.open(shipped_settings(), data_dir=tmp_path) as engine:
            await engine.memory.store("ada", secret)
            usual = await engine.injection.prepare(
                InjectionRequest("ada", "fox", 600, digest_v1=True)
            )
            wide = await engine.injection.prepare(
                InjectionRequest("ada", "fox", 600, digest_v1=True, digest=open_to_all)
            )
            other = await engine.injection.prepare(
                InjectionRequest("ada", "a secret fox", 600, digest=open_to_all)
            )
        assert [c.verdict for c in usual.explanation.candidates] == [Verdict.SENSITIVE]
        assert "a secret fox" not in usual.text
        assert "a secret fox" in wide.text
        assert "<memory-entry>" in other.text
        assert "a secret fox" in other.text

    async def test_without_a_budget_there_is_nothing(self, tmp_path: Path) -> None:
        async with Engine.open(with_digest(), data_dir=tmp_path) as engine:
            given = await engine.injection.prepare(InjectionRequest("ada", "x", 0))
        assert (given.messages, given.text) == ((), "")

    async def test_a_backend_without_items_has_no_digest(self) -> None:
        backend = Backend()
        service = InjectionService(backend, MemoryRetrievalConfig(), digest=MemoryV1Config())
        given = await service.prepare(InjectionRequest("ada", "x", 100))
        assert UNAVAILABLE in given.text
        assert "inmemory" in given.explanation.degraded

    async def test_hostile_memories_stay_inside_the_fence(self, store: LocalMemoryBackend) -> None:
        drafts = [
            MemoryDraft(request=request(text, tags=("t", f"fact:{number} {text[:200]}")))
            for number, text in enumerate(HOSTILE)
        ] + [
            MemoryDraft(request=request(f"x {text}", tags=("t",), category=category))
            for text, category in zip(HOSTILE, (EPISODIC, PROCEDURAL) * 99, strict=False)
        ]
        outcome = await store.store_many(AGENT, drafts, actor="me")
        wide = {"max_items": 1000, "max_chars": 200_000}
        bounds = {
            "max_total_items": 1000,
            "max_total_chars": 200_000,
            "per_kind": dict.fromkeys(("fact", "note", "procedure", "episode"), wide),
        }
        result = await digest(store, "", structured={"tags": ["t"]}, budgets=bounds)
        assert len(result.included_ids) == len(outcome.added) >= 120
        lines = result.part.split("\n")
        assert lines[1] == '<data source="memory">'
        assert [number for number, line in enumerate(lines) if "</data" in line.lower()] == [
            len(lines) - 1
        ]
        assert all(line.startswith("- [") for line in lines[2:-1])
        assert len(lines) - 3 == len(result.included_ids)
