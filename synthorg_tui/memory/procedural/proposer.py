"""Proposes lessons from failures: grounded first, worded second, judged last."""

import threading

from synthorg_tui.memory.procedural.config import ProceduralMemoryConfig
from synthorg_tui.memory.procedural.models import FailureAnalysisPayload, Lesson
from synthorg_tui.memory.procedural.wording import Wording, fenced_facts
from synthorg_tui.providers.completion.protocol import CompletionProvider

_ROLE = "You write down for developers what to do differently after a call that failed."


class ProceduralMemoryProposer:
    """Words what a failure taught. The agent that failed has no part in it.

    Without a ``provider`` the grounded draft is the proposal.
    """

    def __init__(
        self, config: ProceduralMemoryConfig, provider: CompletionProvider | None = None
    ) -> None:
        self._config = config
        self._wording = Wording(provider, config, role=_ROLE) if provider is not None else None

    async def propose(
        self,
        payload: FailureAnalysisPayload,
        draft: Lesson,
        *,
        cancel: threading.Event | None = None,
    ) -> Lesson | None:
        """The proposal, or ``None`` when it is less certain than ``min_confidence``.

        Raises ``CompletionError`` and ``WordingCancelledError``; the draft stands all the same.
        """
        if draft.proposal.confidence < self._config.min_confidence:
            return None
        if self._wording is None:
            return draft
        return await self._wording.reword(draft, _facts(payload), cancel)


def _facts(payload: FailureAnalysisPayload) -> str:
    numbers = f"Turns: {payload.turn_count}. Failed attempts: {payload.retry_count + 1}."
    task = f"{payload.task_title}\nError ({payload.error_category}): {payload.error_message}"
    return fenced_facts(numbers, task, payload.tool_calls_made)
