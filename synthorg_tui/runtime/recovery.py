"""Retries of failed requests to the model.

Tool calls are never made again, since a failed one may have had an effect.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.providers.completion.errors import CompletionError
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
"""Takes a sentence that says why a request failed and which retry follows."""


async def answer_to(
    request: Callable[[], Awaitable[Completion]],
    told: Told,
    *,
    max_retries: int,
    first_wait: float = FIRST_WAIT,
) -> Completion:
    """Return the answer to a request, which is made again where that may help.

    Each failure before the last is passed to ``told``; ``first_wait`` are the seconds before the
    first retry. Raises the last ``CompletionError``.
    """
    retries = 0
    while True:
        try:
            return await request()
        except CompletionError as error:
            is_hopeless = not error.retryable or isinstance(error, DailyLimitError)
            if is_hopeless or retries == max_retries:
                raise
            retries += 1
            await told(f"{_FAILED}({error.message}): retry {retries} of {max_retries}")
            await asyncio.sleep(min(first_wait * 2 ** (retries - 1), MAX_WAIT))


_FAILED: Final = "The request to the model failed "
"""Begins the note of a retry, by which a stored run tells how often there was one."""


def recovery_of(
    steps: Sequence[RunStep], max_retries: int, reason: TerminationReason
) -> RecoveryResult:
    """Return how a whole run recovered: by being resumed, by retries, or neither."""
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
