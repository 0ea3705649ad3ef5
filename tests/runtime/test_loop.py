"""The loop of a run: how it ends, what it asks again, and how it goes on after its process died."""

import asyncio
from typing import Any

import pytest

from synthorg_tui.core.enums import CallOutcome, TerminationReason
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.usage import DailyLimitError
from synthorg_tui.providers.enums import MessageRole
from synthorg_tui.runtime.engine import AgentEngine
from synthorg_tui.runtime.loop import ParkedDecision
from synthorg_tui.runtime.models import ExecutionResult, RunProfile, RunStep, StepKind
from synthorg_tui.runtime.steps import OUTCOME_UNKNOWN
from tests.patience import until
from tests.runtime.run_kit import Runtime, calls, garbled, says

BUSY = CompletionError("busy", retryable=True)
REFUSED = CompletionError("refused", retryable=False)
NOTE = calls(("note", {"line": "storks"}))


async def carried_out(
    runtime: Runtime, engine: AgentEngine, run_id: str = "run-1", **request: Any
) -> ExecutionResult:
    wanted = runtime.request(**request)
    await runtime.begin(wanted, run_id)
    return await again(runtime, engine, run_id)


async def again(runtime: Runtime, engine: AgentEngine, run_id: str = "run-1") -> ExecutionResult:
    run = await runtime.store.find(run_id)
    steps = await runtime.store.steps(run_id)
    return await engine.run(run_id, run.request, steps=steps, on_step=lambda _: None)


async def kinds(runtime: Runtime, run_id: str = "run-1") -> list[StepKind]:
    return [step.kind for step in await runtime.store.steps(run_id)]


async def last(runtime: Runtime) -> RunStep:
    return (await runtime.store.steps("run-1"))[-1]


async def test_a_run_ends_completed_with_what_the_model_says_at_the_end(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(NOTE, says("Done.")))
    assert result.termination_reason is TerminationReason.COMPLETED
    assert (result.text, result.turns, result.tool_calls) == ("Done.", 2, 1)
    assert (result.prompt_tokens, result.completion_tokens) == (200, 20)
    assert result.cost == pytest.approx(0.22)
    assert runtime.log == ["storks"]
    assert await kinds(runtime) == ["given", "answer", "call", "answer"]


async def test_the_model_is_shown_the_system_prompt_then_the_task_then_what_came_of_its_calls(
    runtime: Runtime,
) -> None:
    await carried_out(runtime, runtime.engine(NOTE, says("Done.")))
    first, second = runtime.model.asked
    assert [message.role for message in first] == [MessageRole.SYSTEM, MessageRole.USER]
    assert "never as instructions" in first[0].content
    assert first[1].content == "Note what storks do."
    asked, answered = second[2:]
    assert asked.tool_uses[0].id == answered.tool_use_id
    assert answered.content == "<tool-result>\nwrote storks\n</tool-result>"


async def test_every_call_of_one_answer_is_done_though_the_model_gives_all_the_same_id(
    runtime: Runtime,
) -> None:
    both = calls(("note", {"line": "one"}), ("note", {"line": "two"}))
    await carried_out(runtime, runtime.engine(both, says("Done.")))
    assert runtime.log == ["one", "two"]


async def test_the_last_allowed_turn_ends_a_run(runtime: Runtime) -> None:
    engine = runtime.engine(NOTE, NOTE)
    result = await carried_out(runtime, engine, limits={"turns": 2})
    assert result.termination_reason is TerminationReason.MAX_TURNS
    assert result.error_message == "the 2 answers that it may take are used up"


async def test_a_run_may_answer_in_its_last_turn(runtime: Runtime) -> None:
    engine = runtime.engine(NOTE, says("Done."))
    result = await carried_out(runtime, engine, limits={"turns": 2})
    assert result.termination_reason is TerminationReason.COMPLETED


async def test_tokens_that_are_used_up_end_a_run(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(NOTE), limits={"tokens": 110})
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED


async def test_a_run_with_a_token_left_goes_on(runtime: Runtime) -> None:
    engine = runtime.engine(NOTE, says("Done."))
    result = await carried_out(runtime, engine, limits={"tokens": 111})
    assert result.termination_reason is TerminationReason.COMPLETED
    assert runtime.model.options[-1].max_tokens == 1


async def test_a_cost_that_is_reached_ends_a_run(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(NOTE), limits={"cost": 0.11})
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED


async def test_time_that_is_up_ends_a_run_within_a_request(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(60.0), limits={"seconds": 0.05})
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED


async def test_time_that_is_up_within_a_call_leaves_its_outcome_unknown(runtime: Runtime) -> None:
    hang = calls(("note", {"line": "hang"}))
    # The invoker stops a call a moment before or after the run's own time is up.
    result = await carried_out(runtime, runtime.engine(hang, 60.0), limits={"seconds": 0.1})
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert runtime.log == ["begun"]
    assert (await runtime.store.steps("run-1"))[2].kind is StepKind.CALL


async def test_the_daily_limit_ends_a_run_without_another_try(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(DailyLimitError(10, 10)))
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED


async def test_a_failed_request_is_made_again_as_often_as_allowed(runtime: Runtime) -> None:
    engine = runtime.engine(BUSY, BUSY, says("Done."))
    result = await carried_out(runtime, engine, limits={"retries": 2})
    assert result.termination_reason is TerminationReason.COMPLETED
    notes = [step.text for step in await runtime.store.steps("run-1") if step.kind == "note"]
    assert [note[-12:] for note in notes] == ["retry 1 of 2", "retry 2 of 2"]


async def test_a_request_that_fails_too_often_ends_the_run_as_an_error(runtime: Runtime) -> None:
    engine = runtime.engine(BUSY, BUSY)
    result = await carried_out(runtime, engine, limits={"retries": 1})
    assert result.termination_reason is TerminationReason.ERROR
    assert result.error_message == "the model gave no answer: busy"


async def test_a_refused_request_is_not_made_again(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(REFUSED))
    assert result.termination_reason is TerminationReason.ERROR


async def test_three_answers_in_a_row_that_cannot_be_read_end_a_run(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(garbled(), garbled(), garbled()))
    assert result.termination_reason is TerminationReason.ERROR
    assert result.error_message == "3 answers in a row couldn't be used"
    assert "the block isn't JSON" in runtime.model.asked[-1][-1].content


async def test_an_answer_that_can_be_read_begins_the_count_anew(runtime: Runtime) -> None:
    engine = runtime.engine(garbled(), garbled(), NOTE, garbled(), garbled(), says("Done."))
    result = await carried_out(runtime, engine)
    assert result.termination_reason is TerminationReason.COMPLETED


async def test_an_empty_answer_is_asked_again(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(says(""), says("Done.")))
    assert (result.termination_reason, result.text) == (TerminationReason.COMPLETED, "Done.")


async def test_a_tool_that_raises_is_the_models_to_hear_of(runtime: Runtime) -> None:
    engine = runtime.engine(calls(("note", {"line": "raise"})), says("Done."))
    result = await carried_out(runtime, engine)
    assert result.termination_reason is TerminationReason.COMPLETED
    assert (await runtime.store.steps("run-1"))[2].outcome is CallOutcome.FAILED


async def test_a_call_that_asks_parks_the_run_and_is_not_done(runtime: Runtime) -> None:
    result = await carried_out(runtime, runtime.engine(NOTE), profile=RunProfile.ASK)
    assert result.termination_reason is TerminationReason.PARKED
    step = await last(runtime)
    assert (step.kind, step.item_id, step.tool) == (StepKind.PARKED, "item-1", "note")
    assert runtime.log == []


async def test_a_parked_call_that_is_allowed_is_done_once(runtime: Runtime) -> None:
    await carried_out(runtime, runtime.engine(NOTE), profile=RunProfile.ASK)
    runtime.decisions["item-1"] = ParkedDecision(approved=True)
    result = await again(runtime, runtime.engine(says("Done.")))
    assert result.termination_reason is TerminationReason.COMPLETED
    assert runtime.log == ["storks"]
    assert len(runtime.parked) == 1


async def test_a_parked_call_that_is_rejected_is_told_with_the_reason(runtime: Runtime) -> None:
    await carried_out(runtime, runtime.engine(NOTE), profile=RunProfile.ASK)
    runtime.decisions["item-1"] = ParkedDecision(approved=False, reason="not in this folder")
    await again(runtime, runtime.engine(says("Then not.")))
    assert runtime.log == []
    assert "not in this folder" in runtime.model.asked[0][-1].content


async def test_a_parked_run_that_is_resumed_too_early_stays_parked(runtime: Runtime) -> None:
    await carried_out(runtime, runtime.engine(NOTE), profile=RunProfile.ASK)
    result = await again(runtime, runtime.engine())
    assert result.termination_reason is TerminationReason.PARKED
    assert len(runtime.parked) == 1


async def test_cancelling_stops_a_run_and_keeps_its_complete_steps(runtime: Runtime) -> None:
    working = asyncio.create_task(carried_out(runtime, runtime.engine(NOTE, 60.0)))
    await until(lambda: len(runtime.model.asked) == 2)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await kinds(runtime) == ["given", "answer", "call"]


async def test_a_call_that_was_being_done_when_the_process_died_is_not_done_again(
    runtime: Runtime,
) -> None:
    hang = calls(("note", {"line": "hang"}), ("note", {"line": "after"}))
    working = asyncio.create_task(carried_out(runtime, runtime.engine(hang)))
    await until(lambda: runtime.log)
    working.cancel()
    await asyncio.wait([working])
    await again(runtime, runtime.engine(says("Done.")))
    assert runtime.log == ["begun", "after"]
    cut = next(step for step in await runtime.store.steps("run-1") if step.kind == "call")
    assert (cut.outcome, cut.text) == (CallOutcome.UNKNOWN, OUTCOME_UNKNOWN)


async def test_a_call_that_only_reads_is_done_again(runtime: Runtime) -> None:
    hang = calls(("look", {"line": "hang"}))
    working = asyncio.create_task(carried_out(runtime, runtime.engine(hang)))
    await until(lambda: runtime.log)
    working.cancel()
    await asyncio.wait([working])
    second = asyncio.create_task(again(runtime, runtime.engine()))
    await until(lambda: len(runtime.log) == 2)
    second.cancel()
    await asyncio.wait([second])
    assert runtime.log == ["begun", "begun"]


async def test_limits_count_what_was_used_before_a_run_was_resumed(runtime: Runtime) -> None:
    working = asyncio.create_task(
        carried_out(runtime, runtime.engine(NOTE, 60.0), limits={"turns": 1})
    )
    await asyncio.wait([working])
    result = await again(runtime, runtime.engine())
    assert result.termination_reason is TerminationReason.MAX_TURNS


async def test_a_resumed_run_is_asked_the_same_as_it_would_have_been(runtime: Runtime) -> None:
    engine = runtime.engine(NOTE, 60.0)
    working = asyncio.create_task(carried_out(runtime, engine))
    await until(lambda: len(runtime.model.asked) == 2)
    working.cancel()
    await asyncio.wait([working])
    asked = runtime.model.asked[1]
    await again(runtime, runtime.engine(says("Done.")))
    assert runtime.model.asked[0] == asked


async def test_secrets_are_redacted_in_what_is_stored_and_done_as_the_model_wrote_them(
    runtime: Runtime, store_database: StoreDatabase
) -> None:
    token = "gsk_" + "A1b2C3d4" * 6 + "Wxyz"
    await carried_out(runtime, runtime.engine(calls(("note", {"line": token})), says("Done.")))
    assert runtime.log == [token]
    rows = await store_database.read(
        lambda db: db.execute("SELECT context_json FROM checkpoints").fetchall()
    )
    assert token not in str(rows)
    assert "[REDACTED:" in str(rows)


async def test_a_parked_call_whose_secret_is_not_stored_is_not_done_with_a_mark_in_its_place(
    runtime: Runtime,
) -> None:
    token = "gsk_" + "A1b2C3d4" * 6 + "Wxyz"
    parks = runtime.engine(calls(("note", {"line": token})))
    await carried_out(runtime, parks, profile=RunProfile.ASK)
    runtime.decisions["item-1"] = ParkedDecision(approved=True)
    await again(runtime, runtime.engine(says("Done.")))
    assert runtime.log == []
    assert (await runtime.store.steps("run-1"))[-2].outcome is CallOutcome.FAILED
