"""A model whose answers a test writes beforehand."""

from collections.abc import Sequence

from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import Completion, CompletionOptions
from synthorg_tui.providers.enums import FinishReason
from synthorg_tui.providers.models import ChatMessage


class ScriptedProvider:
    """Gives the scripted answers in order and raises those that are errors.

    Asking more often than scripted is an error of the test.
    """

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[tuple[ChatMessage, ...], CompletionOptions]] = []
        self.closed = False

    async def complete(
        self, messages: Sequence[ChatMessage], options: CompletionOptions
    ) -> Completion:
        self.asked.append((tuple(messages), options))
        assert self.answers, "asked more often than scripted"
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Completion(text=answer, finish_reason=FinishReason.STOP)

    async def close(self) -> None:
        self.closed = True

    @property
    def prompts(self) -> list[str]:
        """Return the prompts so far, each conversation as one text."""
        return ["\n".join(message.content for message in messages) for messages, _ in self.asked]


BUSY = CompletionError("busy", retryable=True)
REFUSED = CompletionError("refused", retryable=False)
