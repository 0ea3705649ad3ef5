"""What is done about a failed request to the model: again, a few times, or told why not.

Only requests are made again. A tool call is never: what it did isn't known to be undone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.core.errors import DomainError
from synthorg_tui.providers.completion.errors import CompletionError, PromptTooLongError
from synthorg_tui.providers.completion.protocol import Completion
from synthorg_tui.providers.completion.usage import DailyLimitError
from synthorg_tui.runtime.models import RecoveryResult, RunStep, StepKind
from synthorg_tui.runtime.steps import RESUMED

FIRST_WAIT: Final = 0.5
"""Seconds before a request is made again; each further time they double."""
MAX_WAIT: Final = 8.0
RETRY: Final = "retry"
NONE: Final = "none"
RESUME: Final = "resume"

Told = Callable[[str], Awaitable[None]]
"""Is told, in words, why a request failed and that it is made again."""


class AbandonedRequestError(DomainError):
    """The model gave no answer, also when asked again; ``recovery`` says what was tried.

    ``of_budget`` is whether it was refused because a limit of what may be used is reached.
    """

    def __init__(self, error: CompletionError, recovery: RecoveryResult) -> None:
        super().__init__(error.message, remedy=error.remedy)
        self.recovery = recovery
        self.of_budget = isinstance(error, DailyLimitError)


class RequestRecovery:
    """Makes failed requests again where that may help, up to ``max_retries`` times each.

    ``first_wait`` are the seconds before the first time. ``result`` is what came of the request
    that was made last.
    """

    def __init__(self, max_retries: int, told: Told, *, first_wait: float = FIRST_WAIT) -> None:
        self._max_retries = max_retries
        self._told = told
        self._first_wait = first_wait
        self.result = self._tried(0, "")

    async def ask(self, request: Callable[[], Awaitable[Completion]]) -> Completion:
        """Return the answer to a request; raises ``AbandonedRequestError`` when there is none."""
        retries, category = 0, ""
        while True:
            try:
                answer = await request()
            except CompletionError as error:
                category = category_of(error)
                self.result = self._tried(retries, category)
                hopeless = not error.retryable or isinstance(error, DailyLimitError)
                if hopeless or retries == self._max_retries:
                    raise AbandonedRequestError(error, self.result) from error
                retries += 1
                await self._told(
                    f"{_FAILED}({error.message}): retry {retries} of {self._max_retries}"
                )
                await asyncio.sleep(min(self._first_wait * 2 ** (retries - 1), MAX_WAIT))
            else:
                self.result = self._tried(retries, category)
                return answer

    def _tried(self, retries: int, category: str) -> RecoveryResult:
        return RecoveryResult(
            strategy_type=RETRY if retries else NONE,
            retry_count=retries,
            max_retries=self._max_retries,
            # Every agent is answered by the same model, but not with the same prompt.
            can_reassign=category == _TOO_LONG,
            error_category=category,
        )


_FAILED: Final = "The request to the model failed "
"""Begins the note of a retry, by which a stored run tells how often there was one."""
_TOO_LONG: Final = "prompt_too_long"


def recovery_of(
    steps: Sequence[RunStep], max_retries: int, reason: TerminationReason
) -> RecoveryResult:
    """Return how a whole run was gone on with: resumed, with requests made again, or neither."""
    retries = sum(step.kind is StepKind.NOTE and step.text.startswith(_FAILED) for step in steps)
    resumed = any(step.kind is StepKind.NOTE and step.text.startswith(RESUMED) for step in steps)
    failed = reason is TerminationReason.ERROR
    return RecoveryResult(
        strategy_type=RESUME if resumed else RETRY if retries else NONE,
        retry_count=retries,
        max_retries=max(max_retries, retries),
        can_reassign=failed,
        error_category=reason.value if failed else "",
    )


def category_of(error: CompletionError) -> str:
    """Return what kind of failure it is, as a word that groups those alike."""
    if isinstance(error, PromptTooLongError):
        return _TOO_LONG
    if isinstance(error, DailyLimitError):
        return "daily_limit"
    return "unavailable" if error.retryable else "refused"
