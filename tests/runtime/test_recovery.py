"""Failed requests to the model: made again within bounds, and told."""

from datetime import UTC, datetime

import pytest

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import Completion
from synthorg_tui.runtime.models import RunStep, StepKind
from synthorg_tui.runtime.recovery import answer_to, recovery_of
from synthorg_tui.runtime.steps import RESUMED
from tests.runtime.run_kit import says

BUSY = CompletionError("busy", retryable=True)


class Asked:
    """A request that fails with each of the errors, then is answered."""

    def __init__(self, *errors: CompletionError) -> None:
        self.errors = list(errors)
        self.told: list[str] = []

    async def request(self) -> Completion:
        if self.errors:
            raise self.errors.pop(0)
        return says("Done.")

    async def tell(self, text: str) -> None:
        self.told.append(text)

    async def answer(self) -> Completion:
        return await answer_to(self.request, self.tell, max_retries=2, first_wait=0.0)


async def test_an_answer_at_once_needs_no_recovery() -> None:
    asked = Asked()
    assert (await asked.answer()).text == "Done."
    assert asked.told == []


async def test_a_request_is_made_again_up_to_the_last_retry() -> None:
    asked = Asked(BUSY, BUSY)
    assert (await asked.answer()).text == "Done."
    assert [words.rpartition(": ")[2] for words in asked.told] == ["retry 1 of 2", "retry 2 of 2"]


async def test_one_failure_more_abandons_the_request() -> None:
    asked = Asked(BUSY, BUSY, BUSY)
    with pytest.raises(CompletionError, match="busy"):
        await asked.answer()
    assert len(asked.told) == 2


async def test_a_prompt_that_is_too_long_is_not_asked_again() -> None:
    asked = Asked(PromptTooLongError(9, 8))
    with pytest.raises(PromptTooLongError):
        await asked.answer()
    assert asked.told == []


async def test_a_stored_run_tells_how_it_was_gone_on_with() -> None:
    asked = Asked(BUSY)
    await asked.answer()
    notes = [*asked.told, f"{RESUMED}again"]
    steps = [
        RunStep(number=number, at=datetime.now(UTC), kind=StepKind.NOTE, text=text)
        for number, text in enumerate(notes, 1)
    ]
    whole = recovery_of(steps, 2, TerminationReason.COMPLETED)
    assert (whole.strategy_type, whole.retry_count, whole.can_reassign) == ("resume", 1, False)
    assert recovery_of(steps[:1], 2, TerminationReason.ERROR).strategy_type == "retry"
    assert recovery_of([], 2, TerminationReason.COMPLETED).strategy_type == "none"
