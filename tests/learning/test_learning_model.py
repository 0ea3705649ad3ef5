"""Wording by the bundled model: within its time, given up soon, and never the worse for it."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from importlib.util import find_spec

import pytest

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.curation.models import Author, FailureAnalysisPayload, Lesson
from synthorg_tui.executions.commands import call_intent
from synthorg_tui.executions.models import Execution, Recovery, ToolCall
from synthorg_tui.learning.capture import FailureCaptureStrategy
from synthorg_tui.learning.captured import Captured
from synthorg_tui.learning.wording import Gate, ProceduralMemoryProposer, WordingCancelledError
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.config import AutoModelConfig
from synthorg_tui.providers.completion.factory import bundled_model, create_completion_provider
from synthorg_tui.providers.completion.protocol import CompletionProvider
from synthorg_tui.providers.embedding.local import default_threads

# Of a processor: what else the machine does doesn't count.
MAX_SECONDS = 20
CANCELLED_WITHIN = 1
_ERROR = "fatal: The current branch topic-7 has no upstream branch."


@pytest.fixture
async def provider() -> AsyncIterator[CompletionProvider]:
    if bundled_model() is None or find_spec("llama_cpp") is None:
        pytest.skip("the local model runtime is not installed: make model")
    model = create_completion_provider(AutoModelConfig(threads=1, context_tokens=2048))
    assert model is not None
    yield model
    await model.close()


def call(number: int, command: str, output: str, outcome: CallOutcome) -> ToolCall:
    return ToolCall(
        id=str(number),
        tool="Bash",
        intent=call_intent("bash", {}, command),
        arguments=command,
        outcome=outcome,
        output=output,
        call_line=number,
    )


def captured() -> Captured:
    execution = Execution(
        id="claude_code:s1",
        reader="claude_code",
        session_id="s1",
        agent_id="claude-code",
        branch="topic-7",
        task="Push the branch",
        calls=(
            call(1, "git push", _ERROR, CallOutcome.FAILED),
            call(2, "git push -u origin topic-7", "ok", CallOutcome.OK),
        ),
        recoveries=(Recovery(failed_call="1", resolved_by="2"),),
    )
    (found,) = FailureCaptureStrategy().capture(execution)
    return found


async def propose(
    provider: CompletionProvider, cancel: threading.Event | None = None
) -> Lesson | None:
    found = captured()
    assert isinstance(found.payload, FailureAnalysisPayload)
    proposer = ProceduralMemoryProposer(ProceduralMemoryConfig(), provider)
    return await proposer.propose(found.payload, found.lesson, cancel=cancel)


async def test_a_proposal_is_worded_in_time_and_no_field_is_worse(
    provider: CompletionProvider,
) -> None:
    started = time.process_time()
    lesson = await propose(provider)
    assert time.process_time() - started <= MAX_SECONDS * default_threads()
    assert lesson is not None
    assert lesson.evidence == captured().lesson.evidence
    for field, author in lesson.authors.items():
        worded, grounded = getattr(lesson.proposal, field), getattr(lesson.grounded, field)
        if author is Author.MODEL:
            source = "\n".join([grounded, _ERROR, *map(str, lesson.grounded.execution_steps)])
            gate = Gate(grounded, source)
            assert gate.measure(worded) >= gate.measure(grounded)
        else:
            assert worded == grounded


async def test_wording_is_cancelled_at_once(provider: CompletionProvider) -> None:
    cancel = threading.Event()
    proposing = asyncio.create_task(propose(provider, cancel))
    await asyncio.sleep(0.5)
    asked = time.process_time()
    cancel.set()
    with pytest.raises(WordingCancelledError):
        await proposing
    assert time.process_time() - asked <= CANCELLED_WITHIN * default_threads()
