"""Where runs are kept: what is read back, and what erasure leaves of them."""

from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import TerminationReason
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.work_texts import ERASED
from synthorg_tui.runtime.models import RunStatus, RunStep, StepKind
from tests.runtime.run_kit import Runtime

AT = datetime(2026, 1, 1, tzinfo=UTC)


def step(number: int, **values: object) -> RunStep:
    return RunStep.model_validate(
        {"number": number, "at": AT + timedelta(seconds=number), "kind": "answer", **values}
    )


async def test_a_run_is_read_back_with_what_its_steps_used(runtime: Runtime) -> None:
    request = runtime.request(limits={"turns": 3})
    await runtime.begin(request)
    await runtime.store.add("run-1", "heron", step(1, kind="given", text="What storks do."))
    await runtime.store.add("run-1", "heron", step(2, turn=1, prompt_tokens=5, cost=0.5))
    await runtime.store.add("run-1", "heron", step(3, turn=1, kind="call", tool="look"))
    run = await runtime.store.find("run")
    assert run.request == request
    assert (run.turns, run.calls, run.prompt_tokens, run.cost) == (1, 1, 5, 0.5)
    assert [each.number for each in await runtime.store.steps("run-1")] == [1, 2, 3]


async def test_a_step_that_is_stored_again_is_there_once(runtime: Runtime) -> None:
    await runtime.begin(runtime.request())
    for text in ("first", "second"):
        await runtime.store.add("run-1", "heron", step(1, text=text))
    assert [each.text for each in await runtime.store.steps("run-1")] == ["second"]


async def test_the_task_of_a_run_stands_as_the_run_does(runtime: Runtime) -> None:
    await runtime.begin(runtime.request())
    stands = []
    for status, reason in (
        (RunStatus.RUNNING, ""),
        (RunStatus.INTERRUPTED, ""),
        (RunStatus.ENDED, TerminationReason.COMPLETED.value),
        (RunStatus.ENDED, TerminationReason.MAX_TURNS.value),
        (RunStatus.ENDED, TerminationReason.SHUTDOWN.value),
    ):
        await runtime.store.change("run-1", status=status.value, reason=reason)
        task = await runtime.store.operations.tasks.get("run-1")
        assert task is not None
        stands.append(task.status.value)
    assert stands == ["in_progress", "interrupted", "completed", "failed", "cancelled"]


async def test_whoever_stops_a_run_that_is_stored_as_parked_leaves_it_so(runtime: Runtime) -> None:
    await runtime.begin(runtime.request())
    await runtime.store.change("run-1", status="running")
    await runtime.store.interrupt("run-1", "it was killed")
    assert (await runtime.store.find("run-1")).told == "it was killed"
    await runtime.store.change("run-1", status="parked", told="write_file waits", item_id="i")
    await runtime.store.interrupt("run-1", "it was killed")
    run = await runtime.store.find("run-1")
    assert (run.status, run.told) == (RunStatus.PARKED, "write_file waits")


async def test_a_run_whose_texts_were_erased_as_a_whole_is_still_read(
    runtime: Runtime, store_database: StoreDatabase
) -> None:
    await runtime.begin(runtime.request())
    await runtime.store.add("run-1", "heron", step(1, prompt_tokens=5))
    await store_database.write(
        lambda db: db.execute("UPDATE checkpoints SET context_json = ?", [ERASED])
    )
    await store_database.write(lambda db: db.execute("UPDATE agent_runs SET request = ?", [ERASED]))
    run = await runtime.store.find("run-1")
    assert (run.request.agent_id, run.request.workspace) == ("heron", runtime.workspace)
    (left,) = await runtime.store.steps("run-1")
    assert (left.kind, left.text) == (StepKind.NOTE, ERASED)
