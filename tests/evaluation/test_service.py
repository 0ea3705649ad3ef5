"""Evaluations over a store: kept with the text they are of, and gone with it."""

import json
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from synthorg_tui.engine import Engine
from synthorg_tui.evaluation.models import (
    EvaluationLevel,
    LintResult,
    ReplayResult,
    ReplayVerdict,
    SkillEvaluation,
    TriggerResult,
)
from synthorg_tui.evaluation.replay import EvaluationRefusedError
from synthorg_tui.evaluation.service import EvaluationService
from synthorg_tui.executions.models import Execution, Turn
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import FileMark
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.runtime import RunLimits
from synthorg_tui.runtime.models import RunProfile, RunRequest
from synthorg_tui.settings.loader import shipped_settings
from tests.conftest import FixedClock
from tests.curation.review_kit import PERSON, item_of, lesson
from tests.evaluation.eval_kit import Call, ScriptedExecutor, same_folder, seen
from tests.learning.lesson_kit import Run
from tests.memory.store.hash_embedder import HashEmbedder

NO_UPSTREAM = "fatal: The current branch retry-fetch has no upstream branch."
AGENT = "claude-code"


@dataclass
class Bench:
    """An open store with a session that taught a lesson, and ones that didn't."""

    engine: Engine
    database: StoreDatabase
    data_dir: Path
    clock: FixedClock

    @property
    def service(self) -> EvaluationService:
        return self.engine.evaluation

    async def propose(self) -> str:
        item = item_of(lesson(agent=AGENT, seen=(seen(),)))
        await self.engine.approvals.add(item)
        return item.id

    async def approve(self, item_id: str) -> str:
        review = await self.engine.reviews.review(item_id)
        await self.engine.reviews.approve(item_id, shown=review.shown, person=PERSON)
        return review.path

    async def save(self, execution: Execution) -> None:
        mark = FileMark(f"/{execution.session_id}", 1, 1, execution.session_id)
        lines = PackedLines(["{}"] * execution.line_count)
        await self.engine.executions.save(execution, lines, mark)

    async def rows(self) -> int:
        found = await self.database.read(
            lambda db: db.execute("SELECT count(*) FROM skill_evaluations").fetchone()
        )
        return int(found[0]) if found else 0


def taught() -> Execution:
    run = Run("s1").bash("git push 2>&1", NO_UPSTREAM, code=128)
    run = run.bash("git push --set-upstream origin retry-fetch 2>&1")
    return with_turns(run, "Push the new branch of the tide fetcher to origin")


def other(name: str, *asked: str) -> Execution:
    return with_turns(Run(name).bash("make test"), *asked)


def with_turns(run: Run, *asked: str) -> Execution:
    turns = tuple(
        Turn(role="user", text=text, first_line=at, last_line=at)
        for at, text in enumerate(asked, 1)
    )
    return run.done(task=asked[0]).model_copy(update={"turns": turns, "line_count": 20})


def opened(
    data_dir: Path, database: StoreDatabase, clock: FixedClock
) -> AbstractAsyncContextManager[Engine]:
    return Engine.open(
        shipped_settings(),
        data_dir=data_dir,
        clock=clock,
        database=database,
        embedder=HashEmbedder(),
    )


@pytest.fixture
async def bench(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Bench]:
    data_dir = tmp_path / "desk"
    async with own_database(data_dir) as database, opened(data_dir, database, clock) as engine:
        made = Bench(engine, database, data_dir, clock)
        await made.save(taught())
        await made.save(
            other("s2", "Push the release notes to the printer", "Count the seals on the rocks")
        )
        yield made


def result_of(known: tuple[SkillEvaluation, ...], level: str) -> SkillEvaluation:
    (found,) = [each for each in known if each.level.value == level]
    return found


async def test_a_proposal_is_looked_at_and_what_was_found_is_kept(bench: Bench) -> None:
    item_id = await bench.propose()
    assert await bench.service.known(item_id) == ()
    found = await bench.service.look(item_id)
    assert [each.level.value for each in found] == ["lint", "trigger"]
    assert await bench.service.known(item_id) == found
    lint, trigger = (each.result for each in found)
    assert isinstance(lint, LintResult)
    assert lint.errors == 0
    assert isinstance(trigger, TriggerResult)
    assert (trigger.wanted, trigger.misses, trigger.is_estimated) == (1, 2, True)


async def test_what_was_found_of_a_proposal_holds_for_the_approved_skill(bench: Bench) -> None:
    item_id = await bench.propose()
    found = await bench.service.look(item_id)
    path = await bench.approve(item_id)
    known = await bench.service.known(path)
    assert [each.sha256 for each in known] == [each.sha256 for each in found]
    assert all(each.is_current for each in known)


async def test_a_level_is_looked_at_again_only_when_asked(bench: Bench) -> None:
    item_id = await bench.propose()
    first = await bench.service.look(item_id, anew=False)
    bench.clock.advance(days=1)
    assert await bench.service.look(item_id, anew=False) == first
    again = await bench.service.look(item_id, (EvaluationLevel.LINT,))
    assert [each.made_at > first[0].made_at for each in again] == [True, False]


async def test_of_another_text_it_is_an_older_one(bench: Bench) -> None:
    path = await bench.approve(await bench.propose())
    await bench.service.look(path, (EvaluationLevel.LINT,))
    text = Path(path).read_text("utf-8").replace("## Action", "## Action\n\nFirst:")
    Path(path).write_text(text, "utf-8")
    (changed,) = (await bench.engine.skills.sync()).added
    (known,) = await bench.service.known(changed)
    assert not known.is_current


async def test_an_approved_skill_is_in_its_digest_and_counts_since(bench: Bench) -> None:
    path = await bench.approve(await bench.propose())
    found = await bench.service.look_at_all()
    trigger = result_of(found[path], "trigger").result
    assert isinstance(trigger, TriggerResult)
    assert not trigger.is_estimated
    told = result_of(found[path], "recurrence").result.words
    assert told == "since approval 1 of 1 session failed"  # of two months later


async def test_looking_at_all_stops_when_it_is_asked_to(bench: Bench) -> None:
    await bench.approve(await bench.propose())
    cancel = threading.Event()
    cancel.set()
    assert await bench.service.look_at_all(cancel=cancel) == {}


async def test_an_item_that_proposes_no_skill_is_refused(bench: Bench) -> None:
    path = await bench.approve(await bench.propose())
    Path(path).unlink()
    (gone,) = (await bench.engine.skills.sync()).added
    with pytest.raises(EvaluationRefusedError, match="proposes no skill"):
        await bench.service.look(gone)


# Replays


def pushes(request: RunRequest, _number: int) -> list[Call]:
    """An agent that knows the option only from a skill."""
    good = [("git push --set-upstream origin retry-fetch", "")]
    return good if request.skills else [("git push", NO_UPSTREAM), *good]


def harmed(request: RunRequest, _number: int) -> list[Call]:
    """An agent that a skill leads astray."""
    good = [("git push -u origin retry-fetch", "")]
    return [("git push", NO_UPSTREAM)] if request.skills else good


async def replay(bench: Bench, executor: ScriptedExecutor, named: str, **more: object) -> object:
    service = replace(
        bench.service, executors=lambda: {"scripted": executor}, worktrees=same_folder
    )
    plan = await service.plan(
        named, executor="scripted", runs=3, limits=RunLimits(), workspace=bench.data_dir
    )
    return (await service.replay(named, plan, **more)).result  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("behaviour", "verdict"), [(pushes, ReplayVerdict.HELPS), (harmed, ReplayVerdict.HARMS)]
)
async def test_runs_tell_a_skill_that_helps_from_one_that_harms(
    bench: Bench, behaviour: object, verdict: ReplayVerdict
) -> None:
    item_id = await bench.propose()
    executor = ScriptedExecutor(behaviour)  # type: ignore[arg-type]
    result = await replay(bench, executor, item_id)
    assert isinstance(result, ReplayResult)
    assert result.verdict is verdict
    assert result.runs == 3
    known = result_of(await bench.service.known(item_id), "replay")
    assert known.result == result


async def test_the_arms_differ_in_the_skill_alone_and_neither_has_memories(bench: Bench) -> None:
    executor = ScriptedExecutor(pushes)
    await replay(bench, executor, await bench.propose())
    assert len(executor.requests) == 6
    assert {request.memory for request in executor.requests} == {False}
    assert {request.profile for request in executor.requests} == {RunProfile.UNATTENDED}
    assert [len(request.skills) for request in executor.requests] == [1, 0] * 3
    assert len({request.task for request in executor.requests}) == 1


async def test_nothing_of_a_replay_becomes_experience(bench: Bench) -> None:
    item_id = await bench.propose()
    before = await bench.engine.executions.ids(), await bench.engine.memory.count(AGENT)
    await replay(bench, ScriptedExecutor(pushes), item_id)
    assert (await bench.engine.executions.ids(), await bench.engine.memory.count(AGENT)) == before


async def test_a_new_text_is_compared_with_the_one_it_replaces(bench: Bench) -> None:
    path = await bench.approve(await bench.propose())
    text = Path(path).read_text("utf-8").replace("## Action", "## Action\n\nFirst:")
    Path(path).write_text(text, "utf-8")
    (changed,) = (await bench.engine.skills.sync()).added
    cases = bench.data_dir / "cases.json"
    await bench.service.write_cases(path, cases)
    executor = ScriptedExecutor(pushes)
    service = replace(
        bench.service, executors=lambda: {"scripted": executor}, worktrees=same_folder
    )
    plan = await service.plan(
        changed,
        executor="scripted",
        runs=1,
        limits=RunLimits(),
        cases=cases,
        workspace=bench.data_dir,
    )
    result = (await service.replay(changed, plan)).result
    assert isinstance(result, ReplayResult)
    assert result.baseline == "old_skill"
    texts = [request.skills[0].text for request in executor.requests]
    assert ["First:" in each for each in texts] == [True, False]


async def test_the_files_lie_where_the_guide_has_them(bench: Bench, tmp_path: Path) -> None:
    result = await replay(
        bench, ScriptedExecutor(pushes), await bench.propose(), to=tmp_path / "out"
    )
    assert isinstance(result, ReplayResult)
    folder = Path(result.folder)
    (case,) = folder.glob("eval-*")
    assert folder.parent.name.endswith("-workspace")
    assert folder.name == "iteration-1"
    for arm in ("with_skill", "without_skill"):
        assert (case / arm / "timing.json").is_file()
        assert (case / arm / "grading.json").is_file()
        assert len(list((case / arm / "outputs").iterdir())) == 3
    assert (folder / "benchmark.json").is_file()
    assert (folder / "evals.json").is_file()


async def test_what_can_not_be_run_is_said_before_anything_runs(bench: Bench) -> None:
    item_id, limits = await bench.propose(), RunLimits()
    away = ScriptedExecutor(pushes, why_not="it isn't installed")
    service = replace(bench.service, executors=lambda: {"scripted": away}, worktrees=same_folder)
    for executor, runs, said in (
        ("scripted", 3, "it isn't installed"),
        ("nobody", 3, "there is no executor"),
        ("scripted", 0, "between 1 and"),
    ):
        with pytest.raises(EvaluationRefusedError, match=said):
            await service.plan(item_id, executor=executor, runs=runs, limits=limits)
    service = replace(
        bench.service, executors=lambda: {"s": ScriptedExecutor(pushes)}, worktrees=same_folder
    )
    with pytest.raises(EvaluationRefusedError, match="isn't on this machine: /srv/tidepool"):
        await service.plan(item_id, executor="s", runs=3, limits=limits)


async def test_a_replay_that_is_stopped_ends_its_run_and_keeps_those_before(bench: Bench) -> None:
    executor, cancel = ScriptedExecutor(pushes), threading.Event()
    item_id = await bench.propose()

    def stop(step: tuple[int, int, str]) -> None:
        if step[0] == 2:
            executor.waits = True
            cancel.set()

    service = replace(bench.service, executors=lambda: {"s": executor}, worktrees=same_folder)
    plan = await service.plan(
        item_id, executor="s", runs=3, limits=RunLimits(), workspace=bench.data_dir
    )
    result = (await service.replay(item_id, plan, progress=stop, cancel=cancel)).result
    assert isinstance(result, ReplayResult)
    assert (len(result.grades), result.is_whole, executor.stopped) == (2, False, 1)
    assert result.words.endswith("(1 run, stopped early)")


async def test_a_run_that_takes_too_long_is_ended_and_graded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from synthorg_tui.evaluation import replay as module

    monkeypatch.setattr(module, "GRACE", 0.0)
    executor = ScriptedExecutor(pushes)
    executor.waits = True
    service = replace(bench.service, executors=lambda: {"s": executor}, worktrees=same_folder)
    item_id = await bench.propose()
    limits = RunLimits(seconds=0.01)
    plan = await service.plan(
        item_id, executor="s", runs=1, limits=limits, workspace=bench.data_dir
    )
    result = (await service.replay(item_id, plan)).result
    assert isinstance(result, ReplayResult)
    assert [grade.reason for grade in result.grades] == ["stopped", "stopped"]
    assert executor.stopped == 2


async def test_an_executor_that_breaks_is_graded_as_it_left_things(bench: Bench) -> None:
    executor = ScriptedExecutor(pushes)
    executor.breaks = True
    result = await replay(bench, executor, await bench.propose())
    assert isinstance(result, ReplayResult)
    assert {grade.reason for grade in result.grades} == {"error"}
    assert result.verdict is ReplayVerdict.NO_DIFFERENCE


# Erasure


async def test_a_forgotten_session_takes_the_results_along_that_name_it(bench: Bench) -> None:
    item_id = await bench.propose()
    await bench.service.look(item_id)
    await replay(bench, ScriptedExecutor(pushes), item_id)
    assert await bench.rows() == 3
    await bench.engine.sessions.purge(["claude_code:s1"], actor="person")
    assert await bench.rows() == 0


async def test_a_purged_skill_takes_its_results_along(bench: Bench) -> None:
    path = await bench.approve(await bench.propose())
    await bench.service.look(path)
    assert await bench.rows() == 3
    record = await bench.engine.ledger.get(path)
    assert record is not None
    await bench.engine.erasure.purge(record.memory_ids, actor="person")
    assert await bench.rows() == 0


async def test_files_go_at_the_next_start_when_nothing_names_them(bench: Bench) -> None:
    item_id = await bench.propose()
    kept = await replay(bench, ScriptedExecutor(pushes), item_id)
    assert isinstance(kept, ReplayResult)
    stale = Path(kept.folder).with_name("iteration-7")
    own = Path(kept.folder).parent / "evals.json"
    stale.mkdir()
    own.write_text("{}")
    async with opened(bench.data_dir, bench.database, bench.clock):
        pass
    assert (Path(kept.folder).is_dir(), stale.exists(), own.is_file()) == (True, False, True)


# Cases of files


async def test_the_cases_beside_a_skill_do_not_say_which_folder_is_copied(bench: Bench) -> None:
    path = Path(await bench.approve(await bench.propose()))
    own = path.parent / "evals" / "evals.json"
    own.parent.mkdir()
    case = {
        "prompt": "Push it",
        "project": "/etc",
        "ref": "main",
        "expectations": ["The command `git push` exits 0."],
    }
    own.write_text(json.dumps({"evals": [case]}))
    subject = await bench.service.subject(str(path))
    (read,) = await bench.service.cases(subject)
    assert (read.prompt, read.project, read.ref) == ("Push it", "", "")
    service = replace(
        bench.service, executors=lambda: {"s": ScriptedExecutor(pushes)}, worktrees=same_folder
    )
    with pytest.raises(EvaluationRefusedError, match="no project"):
        await service.plan(str(path), executor="s", runs=1, limits=RunLimits())
    plan = await service.plan(
        str(path), executor="s", runs=1, limits=RunLimits(), workspace=bench.data_dir
    )
    assert any(str(own) in sentence for sentence in plan.cost_words)


async def test_what_a_person_wrote_goes_before_the_cases_beside_the_skill(bench: Bench) -> None:
    path = await bench.approve(await bench.propose())
    written, count = await bench.service.write_cases(path)
    assert count == 1
    text = written.read_text().replace("/srv/tidepool", str(bench.data_dir))
    written.write_text(text)
    (case,) = await bench.service.cases(await bench.service.subject(path))
    assert case.project == str(bench.data_dir)


# With what the engine has


async def test_runs_work_in_a_copy_that_is_gone_afterwards(bench: Bench, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "seal.txt").write_text("grey\n")
    places: list[Path] = []

    def writes(request: RunRequest, _number: int) -> list[Call]:
        places.append(request.workspace)
        (request.workspace / "seal.txt").write_text("white\n")
        return pushes(request, _number)

    service = replace(bench.service, executors=lambda: {"s": ScriptedExecutor(writes)})
    item_id = await bench.propose()
    plan = await service.plan(item_id, executor="s", runs=1, limits=RunLimits(), workspace=project)
    await service.replay(item_id, plan)
    assert len(set(places)) == 2
    assert project not in places
    assert not any(place.exists() for place in places)
    assert (project / "seal.txt").read_text() == "grey\n"


async def test_the_engines_own_executors_are_those_of_its_runs_and_of_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    item_id = await bench.propose()
    with pytest.raises(EvaluationRefusedError) as refused:
        await bench.service.plan(item_id, executor="nobody", runs=1, limits=RunLimits())
    assert refused.value.remedy == "Known: builtin, claude, codex, opencode."
    with pytest.raises(EvaluationRefusedError, match=r"claude can.t run here"):
        await bench.service.plan(item_id, executor="claude", runs=1, limits=RunLimits())
