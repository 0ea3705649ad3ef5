"""Failed requests to the model: made again within bounds, and told."""

from datetime import UTC, datetime

import pytest

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import Completion
from synthorg_tui.runtime.models import RunStep, StepKind
from synthorg_tui.runtime.recovery import AbandonedRequestError, RequestRecovery, recovery_of
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

    def recovery(self, max_retries: int) -> RequestRecovery:
        return RequestRecovery(max_retries, self.tell, first_wait=0.0)


async def test_an_answer_at_once_needs_no_recovery() -> None:
    asked = Asked()
    recovery = asked.recovery(2)
    assert (await recovery.ask(asked.request)).text == "Done."
    assert (recovery.result.strategy_type, recovery.result.retry_count) == ("none", 0)
    assert asked.told == []


async def test_a_request_is_made_again_up_to_the_last_retry() -> None:
    asked = Asked(BUSY, BUSY)
    recovery = asked.recovery(2)
    assert (await recovery.ask(asked.request)).text == "Done."
    assert (recovery.result.strategy_type, recovery.result.retry_count) == ("retry", 2)
    assert recovery.result.error_category == "unavailable"


async def test_one_failure_more_abandons_the_request() -> None:
    asked = Asked(BUSY, BUSY, BUSY)
    with pytest.raises(AbandonedRequestError) as caught:
        await asked.recovery(2).ask(asked.request)
    assert (caught.value.recovery.retry_count, caught.value.recovery.max_retries) == (2, 2)
    assert len(asked.told) == 2


async def test_a_prompt_that_is_too_long_is_not_asked_again_but_may_be_another_agents() -> None:
    asked = Asked(PromptTooLongError(9, 8))
    with pytest.raises(AbandonedRequestError) as caught:
        await asked.recovery(2).ask(asked.request)
    assert caught.value.recovery.can_reassign
    assert caught.value.recovery.error_category == "prompt_too_long"


async def test_a_stored_run_tells_how_it_was_gone_on_with() -> None:
    asked = Asked(BUSY)
    await asked.recovery(2).ask(asked.request)
    notes = [*asked.told, f"{RESUMED}again"]
    steps = [
        RunStep(number=number, at=datetime.now(UTC), kind=StepKind.NOTE, text=text)
        for number, text in enumerate(notes, 1)
    ]
    whole = recovery_of(steps, 2, TerminationReason.COMPLETED)
    assert (whole.strategy_type, whole.retry_count, whole.can_reassign) == ("resume", 1, False)
    assert recovery_of(steps[:1], 2, TerminationReason.ERROR).strategy_type == "retry"
    assert recovery_of([], 2, TerminationReason.COMPLETED).strategy_type == "none"
