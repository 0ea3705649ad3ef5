"""Forks, resumed sessions, copies and rewritten files: each event counts once."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthorg_tui.executions.models import Execution
from synthorg_tui.ingest.copies import place
from synthorg_tui.ingest.discovery import TranscriptFile
from synthorg_tui.ingest.reading import ExtractedExecution, read_file
from synthorg_tui.knowledge.service import facts_of_session
from synthorg_tui.persistence.port import StoreDatabase
from tests.ingest.copies_kit import START, Story, Written, copied, forked
from tests.ingest.test_import_service import Bench, opened
from tests.ingest.transcript_kit import ClaudeTranscript, CodexTranscript
from tests.learning.test_learning import Desk
from tests.soak import points


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    async with opened(tmp_path / "store") as database:
        yield database


@pytest.fixture
def bench(tmp_path: Path, database: StoreDatabase) -> Bench:
    return Bench(tmp_path / "home", database)


def later() -> Story:
    return Story(random.Random(77), at=START + timedelta(days=1))


async def stored(bench: Bench) -> list[Execution]:
    found = [await bench.executions.get(id_) for id_ in await bench.executions.ids()]
    return [each for each in found if each is not None]


def told(sessions: Sequence[Execution]) -> Counter[object]:
    """What sessions hold, apart from what they are called."""
    return Counter(
        (
            tuple((turn.role, turn.text) for turn in each.turns),
            tuple((call.intent, call.outcome) for call in each.calls),
            tuple(each.recoveries),
            each.outcome,
        )
        for each in sessions
    )


async def test_a_fork_adds_what_is_its_own_to_the_session_that_it_comes_from(
    bench: Bench, tmp_path: Path
) -> None:
    story = Story().user("Fire it.").bash("make fire", "cold", failed=True)
    first = Written("0" * 16, list(story.rows))
    second = Written("1" * 16, list(story.bash("make heat").bash("make fire").say("Done").rows))
    third = Written("2" * 16, [*first.rows, *later().user("No, wait.").rows])
    for file in (first, second, third, second):
        await bench.service.run([file.save(tmp_path / "t")])
    (session,) = await stored(bench)
    assert [turn.text for turn in session.turns] == ["Fire it.", "Done", "No, wait."]
    assert len(session.calls) == 3
    assert len(session.recoveries) == 1, "what failed before the fork was mastered after it"
    branches = {each.id[-1]: each for each in await bench.executions.branches(session.id)}
    assert branches["2"].title == "No, wait."
    assert len(branches["0"].numbers) == len(first.rows)


async def test_the_session_is_named_after_the_one_that_was_forked(
    bench: Bench, tmp_path: Path
) -> None:
    story = Story().take_turns(2)
    first = Written("f" * 16, list(story.rows))
    fork = Written("0" * 16, list(story.user("And the lid.").say("Done").rows))
    for file in (fork, first, fork):
        await bench.service.run([file.save(tmp_path)])
    (session,) = await stored(bench)
    assert session.session_id == first.session
    assert len(await bench.executions.branches(session.id)) == 2


async def test_a_codex_fork_is_known_by_its_calls_whatever_time_it_stamps_them_with(
    bench: Bench, tmp_path: Path
) -> None:
    parent = CodexTranscript("codex-parent-0001").message("user", "Glaze it.")
    _long_call(parent, "make glaze", 1).message("assistant", "It shines.").write(
        tmp_path / "t" / "a.jsonl"
    )
    fork = CodexTranscript("codex-fork-0000002")
    fork.add("turn_context", cwd="/srv/tidepool").message("user", "Glaze it.")
    _long_call(fork, "make glaze", 1).message("assistant", "It shines.")
    fork.message("user", "Now the other side.").write(tmp_path / "t" / "b.jsonl")
    await bench.service.run([tmp_path / "t"])
    (session,) = await stored(bench)
    texts = [turn.text for turn in session.turns]
    assert texts == ["Glaze it.", "It shines.", "Now the other side."]
    assert len(session.calls) == 1


def _long_call(transcript: CodexTranscript, command: str, number: int) -> CodexTranscript:
    id_ = f"call_{number:024d}"
    transcript.item("function_call", name="shell", arguments=f'{{"cmd": "{command}"}}', call_id=id_)
    return transcript.item("function_call_output", call_id=id_, output="Exit code: 0\nOutput:\n")


async def test_a_file_rewritten_shorter_loses_nothing_and_goes_on(
    bench: Bench, tmp_path: Path
) -> None:
    story = Story().take_turns(4)
    file = story.written()
    await bench.service.run([file.save(tmp_path)])
    (before,) = await stored(bench)
    rest = Written(file.session, [*file.rows[-3:], *later().user("And now?").rows])
    await bench.service.run([rest.save(tmp_path)])
    (session,) = await stored(bench)
    assert session.turns[:-1] == before.turns
    assert session.turns[-1].text == "And now?"
    assert await bench.executions.branches(session.id) == ()


async def test_a_file_of_which_its_reader_takes_less_now_replaces_what_was_stored_of_it(
    bench: Bench, tmp_path: Path
) -> None:
    path = Story().user("Fire it.").user("A program's notice.").written().save(tmp_path)
    await bench.service.run([path])
    read = _read(path)
    execution = read.execution.model_copy(update={"turns": read.execution.turns[:1]})
    placed = await place(bench.executions, replace(read, execution=execution), str(path))
    assert placed.refusal == ""
    assert placed.session.execution.turns == execution.turns


async def test_the_same_command_at_the_same_second_of_two_sessions_is_two(
    bench: Bench, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        asked = ClaudeTranscript(f"{name}-2222-4333-8444-555555555555").user(f"Test {name}.")
        asked.bash("make test", "ok").say("It passes.").write(tmp_path / f"{name}.jsonl")
    await bench.service.run([tmp_path])
    assert await bench.executions.count() == 2


async def test_two_sessions_under_one_id_are_two(bench: Bench, tmp_path: Path) -> None:
    files = [Story(random.Random(seed)).take_turns(2).written() for seed in (1, 2)]
    files[1].session, files[1].folder = files[0].session, "q"
    paths = [file.save(tmp_path) for file in files]
    for path in (*paths, *paths):
        await bench.service.run([path])
    files[1].rows += later().user("One more thing.").rows
    await bench.service.run([files[1].save(tmp_path)])
    first, second = await stored(bench)
    assert len(first.turns) == 4
    assert second.turns[-1].text == "One more thing."
    assert first.session_id != second.session_id


async def test_subagents_that_did_the_same_are_one(bench: Bench, tmp_path: Path) -> None:
    for number in range(3):
        helper = ClaudeTranscript(agent=f"a{number}").user("Audit it.")
        helper.bash("make audit", "two flaws").say("There are two flaws.")
        helper.write(tmp_path / f"agent-a{number}.jsonl")
    other = ClaudeTranscript(agent="b").user("Audit it.").bash("make audit", "no flaw")
    other.write(tmp_path / "agent-b.jsonl")
    await bench.service.run([tmp_path])
    assert sorted(len(each.turns) for each in await stored(bench)) == [1, 2]


async def test_pieces_are_one_session_as_soon_as_a_file_holds_both(
    bench: Bench, tmp_path: Path
) -> None:
    file = Story().take_turns(5).written()
    pieces = [Written("a" * 16, file.rows[:7]), Written("b" * 16, file.rows[9:])]
    for piece in pieces:
        await bench.service.run([piece.save(tmp_path)])
    assert await bench.executions.count() == 2
    await bench.service.run([file.save(tmp_path)])
    (session,) = await stored(bench)
    alone = Bench(tmp_path / "home", bench.database)
    assert session.line_count == len(file.rows)
    assert len(await alone.executions.branches(session.id)) == 3


@settings(max_examples=points(30, 5_000), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    ways=st.lists(st.integers(0, 23), min_size=1, max_size=4),
    forks=st.integers(0, 2),
    together=st.booleans(),
)
@example(seed=9044, ways=[16, 17, 6, 2], forks=0, together=False)
@pytest.mark.soak
def test_copies_in_any_order_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, ways: list[int], forks: int, together: bool
) -> None:
    asyncio.run(_compare(tmp_path_factory.mktemp("copies"), seed, ways, forks, together))


async def _compare(folder: Path, seed: int, ways: list[int], forks: int, together: bool) -> None:
    story = Story(random.Random(seed)).take_turns(3)
    history = [story.written(), Story(random.Random(seed + 1)).take_turns(2).written()]
    history += [forked(story, history[0], seed % 1000 + number) for number in range(forks)]
    files = list(history)
    for way in ways:
        files.append(copied(story, story.dice.choice(files), way))
    story.dice.shuffle(files)
    expected = await _learnt(folder / "alone", history)
    assert await _learnt(folder / "all", files, together=together) == expected


async def _learnt(
    folder: Path, files: Sequence[Written], *, together: bool = False
) -> tuple[Counter[object], ...]:
    """What a store has of these files: sessions, memories, facts of projects, lessons."""
    async with opened(folder) as database:
        bench, desk = Bench(folder / "home", database), Desk(database)
        for file in files:
            await bench.service.run([file.save(folder / "t")])
        if together:
            await bench.service.run([folder / "t"])
        sessions = await stored(bench)
        await desk.learning.learn()
        facts = (fact for each in sessions for fact in facts_of_session(each))
        lessons = await desk.lessons()
        return (
            told(sessions),
            Counter(bench.backend.contents),
            Counter((x.topic, x.subject, x.good, x.bad, x.certainty) for x in facts),
            Counter((x.key, x.proposal.confidence, x.recurrence) for x in lessons),
        )


def _read(path: Path) -> ExtractedExecution:
    stat = path.stat()
    (read,) = read_file(TranscriptFile(path, stat.st_size, stat.st_mtime_ns)).executions
    return read


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_codex_fork_that_names_its_session_is_part_of_it_without_any_call(
    bench: Bench, tmp_path: Path, is_first: bool
) -> None:
    """A fork repeats what was said with the time at which it was made."""
    parent = CodexTranscript("0199aaaa-parent").message("user", "Which clay?")
    parent.message("assistant", "The red one.").write(tmp_path / "parent.jsonl")
    fork = CodexTranscript("0199bbbb-fork", late=90, forked_from_id="0199aaaa-parent")
    fork.message("user", "Which clay?").message("assistant", "The red one.")
    fork.message("user", "And which glaze?").write(tmp_path / "fork.jsonl")
    names = ["parent", "fork"] if is_first else ["fork", "parent"]
    for name in names:
        await bench.service.run([tmp_path / f"{name}.jsonl"])
    (session,) = await stored(bench)
    texts = [turn.text for turn in session.turns]
    assert texts == ["Which clay?", "The red one.", "And which glaze?"]
    assert session.session_id == "0199aaaa-parent"
    branches = await bench.executions.branches(session.id)
    assert [each.id for each in branches] == ["codex:0199aaaa-parent", "codex:0199bbbb-fork"]
