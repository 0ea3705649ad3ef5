"""A model writes one text of what it was shown; else there is a list, and a word why."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.config import LLMConsolidationConfig
from synthorg_tui.memory.consolidation.distillation import distillation_request
from synthorg_tui.memory.consolidation.plan import TextAuthor
from synthorg_tui.memory.consolidation.strategy import (
    Composite,
    ConsolidationProposal,
    HighestRelevanceSelector,
)
from synthorg_tui.memory.consolidation.synthesis import LLMSynthesisOp
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import CompletionProvider
from tests.hostile import HOSTILE
from tests.memory.consolidation.consolidation_kit import (
    AGENT,
    TODAY,
    Echo,
    agent_of,
    entry,
    group,
)
from tests.patience import PATIENCE
from tests.scripted import BUSY, REFUSED, ScriptedProvider
from tests.tables import rows

GROUP = group(entry("k", "kept"), entry("a", "Alpha"), entry("b", "Beta"))


class NoBackend:
    """Whoever asks it for memories gets an error."""

    async def retrieve(self, agent_id: str, query: object) -> tuple[()]:
        raise RuntimeError("broken")


def op(provider: CompletionProvider | None, **fields: object) -> LLMSynthesisOp:
    backend: MemoryBackend = NoBackend()  # type: ignore[assignment]
    return LLMSynthesisOp(backend, provider, LLMConsolidationConfig.model_validate(fields))


async def proposed(*answers: str | Exception, **fields: object) -> ConsolidationProposal:
    return await op(ScriptedProvider(*answers), **fields).propose(GROUP)


async def test_the_models_text_stands_for_what_it_was_shown() -> None:
    found = await proposed("  Alpha and beta. ")
    assert found.text.content == "Alpha and beta."
    assert found.text.tags == ("consolidated", "llm-synthesized")
    assert found.replaces == ("a", "b")
    assert (found.text.written_by, found.text.note) == (TextAuthor.MODEL, "")


@rows("answer", ["", "  \n", BUSY, RuntimeError("x"), PromptTooLongError(9, 4)])
async def test_without_a_text_there_is_a_list_of_all_and_a_word_why(
    answer: str | Exception,
) -> None:
    found = await proposed(answer, answer)
    assert found.text.content == "Consolidated episodic memories:\n- Alpha\n- Beta"
    assert found.text.tags == ("consolidated", "concat-fallback")
    assert found.replaces == ("a", "b")
    assert found.text.written_by is TextAuthor.CODE
    assert found.text.note


async def test_without_a_model_there_is_the_list_cut_as_configured() -> None:
    long = group(entry("k"), entry("a", "x" * 60), entry("b", "y"))
    found = await op(None, fallback_truncate_length=50).propose(long)
    assert found.text.content.splitlines()[1:] == [f"- {'x' * 50}...", "- y"]
    assert found.text.note == "no language model is configured"


async def test_a_refusal_that_asking_again_will_not_change_is_passed_on() -> None:
    with pytest.raises(CompletionError, match="refused"):
        await proposed(REFUSED)


@rows("text", HOSTILE)
async def test_each_memory_is_a_fence_of_its_own(text: str) -> None:
    provider = ScriptedProvider("fine")
    hostile = group(entry("k"), entry("a", text), entry("b", "Beta"))
    await op(provider).propose(hostile)
    system, user = provider.asked[0][0]
    assert "<memory-entry>" in system.content
    assert user.content.count("\n</memory-entry>") == 2
    assert user.content.startswith("<memory-entry>\ncategory: episodic\n")


async def test_a_memory_is_shown_up_to_its_bound() -> None:
    provider = ScriptedProvider("fine")
    long = group(entry("k"), entry("a", "x" * 101), entry("b", "y" * 100))
    await op(provider, max_entry_input_chars=100).propose(long)
    shown = provider.asked[0][0][1].content
    assert "x" * 100 in shown
    assert "x" * 101 not in shown
    assert "y" * 100 in shown


async def test_what_no_longer_fits_is_not_replaced_by_a_text_that_does_not_know_it() -> None:
    many = group(entry("k"), *(entry(f"m{n}", "x" * 400) for n in range(5)))
    provider = ScriptedProvider("x" * 20)
    found = await op(
        provider, max_entry_input_chars=400, max_total_user_content_chars=1000
    ).propose(many)
    assert found.replaces == ("m0", "m1")
    shown, _, question = provider.asked[0][0][1].content.rpartition("\n\n")
    assert len(shown) <= 1000
    assert question.startswith("Write one short text")


async def test_a_model_that_reads_less_at_once_is_shown_half() -> None:
    many = group(entry("k"), *(entry(f"m{n}", f"text {n}") for n in range(4)))
    provider = ScriptedProvider(PromptTooLongError(9000, 4096), "texts")
    found = await op(provider).propose(many)
    assert (found.text.content, found.replaces) == ("texts", ("m0", "m1"))


async def test_a_text_that_says_what_the_memories_do_not_is_not_taken() -> None:
    found = await proposed("I'm sorry, but I can't assist with that request.")
    assert found.text.content == "Consolidated episodic memories:\n- Alpha\n- Beta"
    assert found.text.note == "the model's text says what the memories don't"
    assert found.text.written_by is TextAuthor.CODE


async def test_an_answer_over_its_bound_is_cut() -> None:
    provider = Echo(lambda _: "Alpha is so and not beta. " * 200)
    found = await op(provider, max_summary_tokens=50).propose(GROUP)
    assert 0 < len(found.text.content) <= 200
    assert found.text.content.endswith("beta.")


class TestTrajectories:
    async def test_the_latest_runs_are_told_for_understanding(self, tmp_path: Path) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            for days in (3, 1, 2):
                run = distillation_request(f"run {days}", "completed", turns=days)
                agent.clock.current = TODAY - timedelta(days=days)
                await agent.backend.store(AGENT, run)
            await agent.has("no run at all")
            config = LLMConsolidationConfig(max_trajectory_context_entries=2)
            made = LLMSynthesisOp(agent.backend, provider := ScriptedProvider("fine"), config)
            context = await made.prepare(AGENT)
            assert [line for line in context.splitlines() if line.startswith("Task ID")] == [
                "Task ID: run 1",
                "Task ID: run 2",
            ]
            await made.propose(GROUP, context)
            system, user = provider.asked[0][0]
            assert "<task-data>" in system.content
            assert "Task ID: run 1" in user.content

    async def test_each_run_is_cut_and_all_are_left_out_where_there_is_no_room(
        self, tmp_path: Path
    ) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            await agent.has("z" * 80, tags=("distillation",))
            config = LLMConsolidationConfig(
                max_trajectory_chars_per_entry=50,
                max_entry_input_chars=900,
                max_total_user_content_chars=1000,
            )
            made = LLMSynthesisOp(agent.backend, provider := ScriptedProvider("a", "b"), config)
            context = await made.prepare(AGENT)
            assert context.count("z") == 50
            await made.propose(GROUP, context)
            await made.propose(group(entry("k"), entry("a", "x" * 890), entry("b")), context)
            assert "z" in provider.asked[0][0][1].content
            assert "z" not in provider.asked[1][0][1].content

    async def test_none_are_told_when_they_can_not_be_read_or_are_not_wanted(self) -> None:
        assert await op(ScriptedProvider()).prepare(AGENT) == ""
        assert await op(ScriptedProvider(), include_distillation_context=False).prepare(AGENT) == ""


class TestManyGroups:
    async def test_groups_are_asked_for_at_the_same_time(self, tmp_path: Path) -> None:
        waiting = asyncio.Event()

        class Meeting(ScriptedProvider):
            async def complete(self, messages, options):  # type: ignore[no-untyped-def]
                if len(self.answers) == 1:
                    waiting.set()
                answer = await super().complete(messages, options)
                await asyncio.wait_for(waiting.wait(), PATIENCE)
                return answer

        async with agent_of("inmemory", tmp_path) as agent:
            provider = Meeting("one", "two")
            made = LLMSynthesisOp(agent.backend, provider)
            strategy = Composite(HighestRelevanceSelector(), made, agent.backend, parallel=True)
            semantic = [entry(f"s{n}", category=MemoryCategory.SEMANTIC) for n in range(3)]
            episodic = [entry(f"e{n}") for n in range(3)]
            found = await strategy.propose((*semantic, *episodic), AGENT)
            assert [one.text.category for one in found] == ["episodic", "semantic"]

    async def test_the_first_refusal_is_raised_as_itself(self, tmp_path: Path) -> None:
        async with agent_of("inmemory", tmp_path) as agent:
            made = LLMSynthesisOp(agent.backend, ScriptedProvider(REFUSED))
            strategy = Composite(HighestRelevanceSelector(), made, agent.backend, parallel=True)
            with pytest.raises(CompletionError, match="refused"):
                await strategy.propose(tuple(entry(f"e{n}") for n in range(3)), AGENT)
