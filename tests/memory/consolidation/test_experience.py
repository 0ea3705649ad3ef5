"""Raw records stay as they are; what they teach is stored beside them and names them."""

import json
from pathlib import Path

import pytest

from synthorg_tui.memory.consolidation.config import (
    ConsolidationConfig,
    ExperienceCompressorConfig,
)
from synthorg_tui.memory.consolidation.experience import (
    ExperienceCompressor,
    TwoTierStrategy,
    detailed_of,
    detailed_request,
)
from synthorg_tui.memory.consolidation.factory import create_consolidation_strategy
from synthorg_tui.memory.consolidation.models import DetailedExperience
from synthorg_tui.memory.models import MemoryMetadata
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from tests.hostile import HOSTILE
from tests.memory.consolidation.consolidation_kit import AGENT, TODAY, Agent, agent_of, entry
from tests.scripted import BUSY, REFUSED, ScriptedProvider
from tests.tables import rows

RAW = DetailedExperience(
    id="d1",
    agent_id=AGENT,
    prompt="Build the release",
    output="It failed at first: the tag was missing. Then it was made and the build passed.",
    reasoning_trace=("look at the error", "make the tag"),
    metadata=MemoryMetadata(tags=("detailed_experience",)),
    created_at=TODAY,
)
LEARNT = {"strategic_decisions": ["make the tag first"], "applicable_contexts": ["releases"]}


def compressor(*answers: str | Exception, **fields: object) -> ExperienceCompressor:
    config = ExperienceCompressorConfig.model_validate(fields)
    return ExperienceCompressor(ScriptedProvider(*answers), config)


async def stored(agent: Agent, raw: DetailedExperience = RAW) -> str:
    return await agent.backend.store(AGENT, detailed_request(raw))


class TestCompressing:
    async def test_what_was_learnt_names_its_source_and_how_short_it_is(self) -> None:
        found = await compressor(json.dumps(LEARNT)).compress(RAW)
        assert found is not None
        assert found.strategic_decisions == ("make the tag first",)
        assert found.applicable_contexts == ("releases",)
        assert found.source_artifact_ids == ("d1",)
        assert found.compressor_version == "llm-v1"
        raw_chars = len(detailed_request(RAW).content)
        assert found.compression_ratio == pytest.approx(
            len("make the tag firstreleases") / raw_chars
        )

    @rows(("said", "ratio"), [("x", 0.01), ("long " * 500, 1.0)])
    async def test_the_ratio_is_a_share(self, said: str, ratio: float) -> None:
        answer = json.dumps({"strategic_decisions": [said], "applicable_contexts": []})
        found = await compressor(answer).compress(RAW)
        assert found is not None
        assert found.compression_ratio == ratio

    @rows(
        "answer",
        [
            "",
            "no idea",
            "[]",
            '{"strategic_decisions": []}',
            '{"strategic_decisions": [" ", 3]}',
            '{"strategic_decisions": "make the tag first"}',
            BUSY,
            PromptTooLongError(9000, 4096),
            RuntimeError("broken"),
        ],
    )
    async def test_what_teaches_nothing_stays_raw(self, answer: str | Exception) -> None:
        assert await compressor(answer).compress(RAW) is None

    async def test_so_does_what_says_too_little(self) -> None:
        answer = json.dumps(LEARNT)
        assert await compressor(answer, min_compression_ratio=0.9).compress(RAW) is None
        assert await compressor(answer, min_compression_ratio=0.05).compress(RAW) is not None

    async def test_a_refusal_is_passed_on(self) -> None:
        with pytest.raises(CompletionError, match="refused"):
            await compressor(REFUSED).compress(RAW)

    @rows("text", HOSTILE)
    async def test_the_record_is_fenced(self, text: str) -> None:
        provider = ScriptedProvider(json.dumps(LEARNT))
        hostile = RAW.model_copy(update={"output": text})
        await ExperienceCompressor(provider).compress(hostile)
        system, user = provider.asked[0][0]
        assert "untrusted external input" in system.content
        assert user.content.count("\n</untrusted-artifact>") == 1

    async def test_the_settings_bound_the_answer(self) -> None:
        provider = ScriptedProvider(json.dumps(LEARNT))
        config = ExperienceCompressorConfig(max_tokens=123, temperature=0.9)
        await ExperienceCompressor(provider, config).compress(RAW)
        assert (provider.asked[0][1].max_tokens, provider.asked[0][1].temperature) == (123, 0.9)


class TestTwoTiers:
    async def test_the_record_is_listed_as_removed_and_stays(self, tmp_path: Path) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            raw_id = await stored(agent)
            strategy = TwoTierStrategy(compressor(json.dumps(LEARNT)), agent.backend)
            result = await strategy.consolidate(await agent.entries(), AGENT)
            assert result.removed_ids == (raw_id,)
            kept = await agent.backend.get(AGENT, raw_id)
            assert kept is not None
            assert detailed_of(kept) == RAW.model_copy(
                update={"id": raw_id, "created_at": kept.created_at}
            )
            made = await agent.backend.get(AGENT, str(result.summary_id))
            assert made is not None
            assert made.metadata.source == raw_id
            assert made.metadata.tags == ("compressed_experience",)
            learnt = json.loads(made.content)
            assert learnt["source_artifact_ids"] == [raw_id]
            assert learnt["strategic_decisions"] == ["make the tag first"]

    async def test_a_record_is_compressed_once(self, tmp_path: Path) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            await stored(agent)
            strategy = TwoTierStrategy(compressor(json.dumps(LEARNT)), agent.backend)
            await strategy.consolidate(await agent.entries(), AGENT)
            assert await strategy.propose(await agent.entries(), AGENT) == ()

    async def test_what_is_tagged_but_no_record_is_left_alone(self, tmp_path: Path) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            for text in ("no json", "[]", '{"prompt": 3}', "{}", "[" * 20_000):
                await agent.has(text, tags=("detailed_experience",))
            strategy = TwoTierStrategy(compressor(), agent.backend)
            assert await strategy.propose(await agent.entries(), AGENT) == ()

    async def test_the_other_memories_are_merged_as_without_it(self, tmp_path: Path) -> None:
        config = ConsolidationConfig.model_validate({"experience_compressor": {"enabled": True}})
        async with agent_of("inmemory", tmp_path) as agent:
            await stored(agent)
            for days in (1, 2, 3):
                await agent.has(f"{days}", days=days)
            provider = ScriptedProvider(json.dumps(LEARNT))
            strategy = create_consolidation_strategy(
                config, backend=agent.backend, models=lambda name: provider
            )
            raw, merged = await strategy.propose(await agent.entries(), AGENT)
            assert (raw.keeps_originals, merged.keeps_originals) == (True, False)
            assert len(merged.replaces) == 2

    async def test_without_a_model_records_stay_raw(self, tmp_path: Path) -> None:
        config = ConsolidationConfig.model_validate({"experience_compressor": {"enabled": True}})
        async with agent_of("inmemory", tmp_path) as agent:
            await stored(agent)
            strategy = create_consolidation_strategy(config, backend=agent.backend)
            assert await strategy.propose(await agent.entries(), AGENT) == ()


def test_another_memory_is_no_experience() -> None:
    assert detailed_of(entry("a", "text")) is None
