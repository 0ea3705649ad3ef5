"""Proposes lessons from successes: lighter than those from failures, by the same steps."""

import threading

from synthorg_tui.memory.procedural.config import ProceduralMemoryConfig
from synthorg_tui.memory.procedural.models import Lesson, SuccessAnalysisPayload
from synthorg_tui.memory.procedural.wording import Wording, fenced_facts
from synthorg_tui.providers.completion.protocol import CompletionProvider

_ROLE = "You write down for developers which way of working went well."


class SuccessMemoryProposer:
    """Words what went well; without a ``provider`` the grounded draft is the proposal."""

    def __init__(
        self, config: ProceduralMemoryConfig, provider: CompletionProvider | None = None
    ) -> None:
        self._config = config
        self._wording = Wording(provider, config, role=_ROLE) if provider is not None else None

    async def propose(
        self,
        payload: SuccessAnalysisPayload,
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
        facts = fenced_facts(f"Turns: {payload.turn_count}.", payload.outcome, payload.tool_names)
        return await self._wording.reword(draft, facts, cancel)
