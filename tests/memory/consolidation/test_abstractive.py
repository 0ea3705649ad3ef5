"""A summary is the model's within its bound, or the beginning of the text; never nothing."""

import pytest

from synthorg_tui.core.text import estimate_tokens
from synthorg_tui.memory.consolidation.abstractive import (
    AbstractiveSummarizer,
    beginning,
    whole_sentences,
    within,
)
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import TokenUsage
from synthorg_tui.providers.enums import FinishReason
from tests.hostile import HOSTILE
from tests.memory.consolidation.consolidation_kit import AGENT, Echo, entry
from tests.scripted import BUSY, REFUSED, ScriptedProvider
from tests.tables import rows

LONG = "The release went well. " * 20


def summarizer(*answers: str | Exception) -> tuple[AbstractiveSummarizer, ScriptedProvider]:
    provider = ScriptedProvider(*answers)
    return AbstractiveSummarizer(provider=provider, model="m"), provider


async def test_the_models_answer_is_the_summary() -> None:
    made, provider = summarizer("  It went well. \n")
    assert await made.summarize(LONG) == "It went well."
    options = provider.asked[0][1]
    assert (options.max_tokens, options.temperature) == (200, 0.3)


@rows("answer", ["", " \n", BUSY, RuntimeError("broken"), PromptTooLongError(9000, 4096)])
async def test_without_an_answer_it_is_the_beginning(answer: str | Exception) -> None:
    made, _ = summarizer(answer)
    assert await made.summarize(LONG) == LONG[:200] + "..."


async def test_a_short_text_is_its_own_beginning() -> None:
    made, _ = summarizer("")
    assert await made.summarize("short") == "short"
    assert (beginning("x" * 200), beginning("x" * 201)) == ("x" * 200, "x" * 200 + "...")


async def test_what_asking_again_will_not_change_is_passed_on() -> None:
    made, _ = summarizer(REFUSED)
    with pytest.raises(CompletionError, match="refused"):
        await made.summarize(LONG)


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="model"):
        AbstractiveSummarizer(provider=ScriptedProvider(), model=" ")


@rows("text", HOSTILE)
async def test_the_text_is_fenced_and_the_model_told_what_that_means(text: str) -> None:
    made, provider = summarizer("fine")
    await made.summarize(text)
    system, user = provider.asked[0][0]
    assert "untrusted external input" in system.content
    assert user.content.startswith("<untrusted-artifact>\n")
    assert user.content.count("</untrusted-artifact>") == 1


async def test_an_answer_longer_than_allowed_is_cut_to_whole_sentences() -> None:
    provider = Echo(lambda _: "A sentence of some length that says a thing. " * 100)
    made = AbstractiveSummarizer(provider=provider, model="m", max_summary_tokens=50)
    summary = await made.summarize("This sentence says some thing of length.")
    assert 0 < estimate_tokens(summary) <= 50
    assert summary.endswith("thing.")


async def test_an_answer_that_the_model_did_not_finish_loses_its_last_sentence() -> None:
    provider = Echo(lambda _: "It went well. Then it", reason=FinishReason.MAX_TOKENS)
    made = AbstractiveSummarizer(provider=provider, model="m")
    assert await made.summarize("All went well.") == "It went well."


async def test_an_answer_that_is_not_about_the_text_is_not_its_summary() -> None:
    made, _ = summarizer("I'm sorry, but I can't assist with that request.")
    assert await made.summarize("All went well.") == "All went well."


def test_a_text_without_whole_sentences_stays_as_it_was_cut() -> None:
    assert whole_sentences("one two three ") == "one two three"
    assert within("x" * 1000, 10) == "x" * 40


async def test_a_batch_is_in_the_order_given_and_one_failure_is_its_own() -> None:
    made, _ = summarizer("first", BUSY, "third")
    entries = (entry("a", "the first"), entry("b", "2"), entry("c", "the third"))
    assert await made.summarize_batch(entries) == (("a", "first"), ("b", "2"), ("c", "third"))


async def test_a_refusal_ends_a_batch_as_itself() -> None:
    made, _ = summarizer("first", REFUSED)
    with pytest.raises(CompletionError, match="refused"):
        await made.summarize_batch((entry("a", "1"), entry("b", "2")))


async def test_costs_are_told_for_the_agent_and_only_where_there_is_one() -> None:
    told: list[tuple[str, str]] = []

    def track(agent_id: str, model: str, usage: TokenUsage) -> None:
        told.append((agent_id, model))

    provider = ScriptedProvider("one", "two")
    made = AbstractiveSummarizer(provider=provider, model="m", cost_tracker=track)
    await made.summarize("text")
    await made.summarize("text", AGENT)
    assert told == [(AGENT, "m")]
