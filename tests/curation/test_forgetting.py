"""Forgetting a session: nothing of it stays in what is ours, and no import brings it back."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.applications import Applications
from synthorg_tui.curation.inbox import lesson_of
from synthorg_tui.curation.models import Evidence
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest.service import ImportReport, ImportService
from synthorg_tui.memory.strategies.service import Use, UseKind
from tests.conftest import FixedClock
from tests.curation.review_kit import Office, evidence, lesson, office
from tests.curation.test_erasure import holding
from tests.ingest.copies_kit import START, Story, Written
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.memory.store.store_kit import AGENT
from tests.postgres_switch import files_only

OTHER = "22222222-2222-4333-8444-555555555555"
WORD = "xylophone"


def session_of(transcript: ClaudeTranscript) -> str:
    return f"claude_code:{transcript.session}"


def transcript(session: str = "11111111-2222-4333-8444-555555555555") -> ClaudeTranscript:
    """A session that says the word, in what a person said and in a call."""
    return (
        ClaudeTranscript(session)
        .user(f"Always tune the {WORD} before you push. Remember: it stands in the cellar.")
        .bash(f"tune {WORD}", f"no {WORD} here", error=True)
        .bash(f"tune --old {WORD}", "in tune")
        .say(f"The {WORD} is tuned.")
    )


async def imported(desk: Office, *paths: Path) -> ImportReport:
    database = desk.backend.core.database
    service = ImportService(
        backend=desk.backend, executions=ExecutionStore(database), clock=FixedClock()
    )
    service.absorb = desk.parts.sessions.absorb
    desk.parts.sessions.redraw = service.catch_up
    return await service.run(list(paths))


def outside(home: Path, said: ClaudeTranscript, name: str = "a") -> Path:
    return said.write(home.parent / "transcripts" / f"{name}.jsonl")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_of_a_forgotten_session_no_word_stays(home: Path) -> None:
    said = transcript()
    path = outside(home, said)
    async with office(home) as desk:
        await imported(desk, path)
        await desk.propose(lesson("x", action=f"Tune the {WORD}.", seen=(said_in(said),)))
        adopted = lesson("y", action=f"Old {WORD}s need --old.", seen=(said_in(said),))
        await desk.approve(await desk.propose(adopted))
    assert holding(home)
    async with office(home) as desk:
        session = session_of(said)
        review = await desk.parts.sessions.review([session])
        done = await desk.parts.sessions.purge([session], actor="person")
        assert done.sessions == (session,)
        assert done.erased.memories == review.memories > 1
        assert review.lessons == 1
        assert len(review.erasure.skills) == 1
        assert str(path) in "\n".join(review.told)
        assert await desk.memories() == ()
        assert await desk.ledger.active() == ()
        assert await ExecutionStore(desk.backend.core.database).count() == 0
    assert holding(home) == []
    assert WORD in path.read_text(), "the transcript isn't ours"


def said_in(said: ClaudeTranscript) -> Evidence:
    return evidence(session_of(said)).model_copy(update={"failed": f"tune {WORD}"})


async def test_no_import_brings_a_forgotten_session_back(home: Path) -> None:
    said = transcript()
    path = outside(home, said)
    async with office(home) as desk:
        await imported(desk, path)
        await desk.parts.sessions.purge([session_of(said)], actor="person")
        assert (await imported(desk, path)).unchanged == 1
        said.user(f"And the second {WORD}?").write(path)
        grown = await imported(desk, path)
        assert [reason for _, reason in grown.skipped] == ["this session was deleted here"]
        assert (await imported(desk, path)).unchanged == 1, "it isn't read again as it is"
        moved = await imported(desk, outside(home, said, "copy"))
        assert moved.executions == 0
        assert await desk.memories() == ()
        other = ClaudeTranscript(OTHER).user("Never push on a Friday. Remember that.").say("Yes")
        assert (await imported(desk, outside(home, other, "other"))).executions == 1


async def test_a_session_is_forgotten_with_its_subagents(home: Path) -> None:
    said = transcript()
    path = outside(home, said, said.session)
    folder = path.parent / said.session / "subagents"
    helper = ClaudeTranscript(said.session, agent="a1")
    helper.user(f"Find the {WORD}").say(f"The {WORD} is in the cellar").write(
        folder / "agent-a1.jsonl"
    )
    async with office(home) as desk:
        await imported(desk, path.parent)
        sessions = await desk.parts.sessions.list()
        assert {each.parent_id for each in sessions} == {None, session_of(said)}
        done = await desk.parts.sessions.purge([session_of(said)], actor="person")
        assert len(done.sessions) == 2
        assert (await imported(desk, path.parent)).executions == 0
    assert holding(home) == []


async def test_what_other_sessions_show_as_well_stays_without_its_evidence(home: Path) -> None:
    said, other = transcript(), evidence(f"claude_code:{OTHER}")
    shown_twice = (said_in(said), other)
    async with office(home) as desk:
        await imported(desk, outside(home, said))
        waiting = await desk.propose(lesson("x", seen=shown_twice))
        await desk.approve(await desk.propose(lesson("y", seen=shown_twice)))
        review = await desk.parts.sessions.review([session_of(said)])
        assert review.lessons == 0
        assert len(review.supported) == 1
        await desk.parts.sessions.purge([session_of(said)], actor="person")
        (skill,) = await desk.ledger.active()
        assert skill.evidence == (other,)
        assert [memory.id for memory in await desk.memories()] == list(skill.memory_ids)
        item = await desk.queue.get(waiting)
        assert item is not None
        left = lesson_of(item)
        assert left is not None
        assert left.evidence == (other,)
        assert any("may quote" in line for line in review.told), "the file is as it was approved"


async def test_a_use_in_a_forgotten_session_names_it_no_more(home: Path) -> None:
    said = transcript()
    async with office(home) as desk:
        await imported(desk, outside(home, said))
        memory_id = await desk.approve(await desk.propose(lesson("y")))
        database = desk.backend.core.database
        for session in (said.session, OTHER):
            use = Use(UseKind.DIGEST, AGENT, None, session)
            await Applications(database).applied([memory_id], FixedClock().now(), use)
        await desk.parts.sessions.purge([session_of(said)], actor="person")
        sessions = await database.read(
            lambda db: db.execute("SELECT session_id FROM lesson_uses ORDER BY 1").fetchall()
        )
    assert sessions == [(OTHER,), (None,)]


async def test_memories_may_be_kept(home: Path) -> None:
    said = transcript()
    async with office(home) as desk:
        await imported(desk, outside(home, said))
        before = await desk.memories()
        done = await desk.parts.sessions.purge(
            [session_of(said)], actor="person", keep_memories=True
        )
        assert done.erased.memories == 0
        assert await desk.memories() == before
        assert desk.backend.core.remains.database
    async with office(home) as desk:
        assert not desk.backend.core.remains.database, "closing wrote the file anew"
        assert await ExecutionStore(desk.backend.core.database).count() == 0


async def test_an_unknown_session_is_told_and_nothing_changes(home: Path) -> None:
    said = transcript()
    async with office(home) as desk:
        await imported(desk, outside(home, said))
        with pytest.raises(DomainError, match="no session codex:nowhere"):
            await desk.parts.sessions.purge([session_of(said), "codex:nowhere"], actor="person")
        assert await ExecutionStore(desk.backend.core.database).count() == 1


async def test_purging_a_memory_names_the_lines_and_blanks_them_on_request(home: Path) -> None:
    said = transcript()
    path = outside(home, said)
    async with office(home) as desk:
        await imported(desk, path)
        memories = await desk.memories()
        ids = [memory.id for memory in memories]
        review = await desk.parts.erasure.review(ids)
        assert review.lines
        assert all(session_of(said) in line for line in review.told if "transcript" in line)
        await desk.parts.erasure.purge(ids, actor="person", lines=True)
        executions = ExecutionStore(desk.backend.core.database)
        stored = await executions.get(session_of(said))
        assert stored is not None
        assert WORD not in stored.model_dump_json()
    assert holding(home) == []
    async with office(home) as desk:
        said.say("done").write(path)
        await imported(desk, path)
        assert (await desk.parts.sessions.list())[0].lines == len(said.lines)
    assert holding(home) == [], "a transcript that has grown brings the lines not back"


KILLED = textwrap.dedent(
    """
    import asyncio, os, signal, sys
    from pathlib import Path
    from synthorg_tui.curation import forgetting
    from tests.curation.review_kit import office
    from tests.curation.test_forgetting import imported, outside, session_of, transcript

    async def main():
        home, when = Path(sys.argv[1]), sys.argv[2]
        said = transcript()
        async with office(home) as desk:
            await imported(desk, outside(home, said))
        async with office(home) as desk:
            if when == "inside":
                whole = forgetting.erase_from_calls
                def killed(*args):
                    os.kill(os.getpid(), signal.SIGKILL)
                forgetting.erase_from_calls = killed
            await desk.parts.sessions.purge([session_of(said)], actor="person")
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main())
    """
)


@files_only
@pytest.mark.parametrize("when", ["inside", "after"])
async def test_a_kill_leaves_a_session_whole_or_forgotten(home: Path, when: str) -> None:
    killed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", KILLED, str(home), when],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    async with office(home) as desk:
        sessions, memories = await desk.parts.sessions.list(), await desk.memories()
        path = outside(home, transcript())
        again = await imported(desk, path)
    if when == "inside":
        assert (len(sessions), bool(memories), again.unchanged) == (1, True, 0)
    else:
        assert (sessions, memories, again.executions) == ((), (), 0)
        assert holding(home) == []


async def test_a_session_beyond_its_age_is_deleted_and_its_memories_stay(home: Path) -> None:
    said = transcript()
    path = outside(home, said, said.session)
    folder = path.parent / said.session / "subagents"
    helper = ClaudeTranscript(said.session, agent="a1").user("Look for it").say("It is there")
    helper.write(folder / "agent-a1.jsonl")
    async with office(home) as desk:
        sessions = desk.parts.sessions
        await imported(desk, path.parent)
        memories = await desk.memories()
        ended = max(each.latest for each in await sessions.list() if each.latest)
        assert await sessions.delete_aged(30, ended + timedelta(days=30)) == 0
        assert await sessions.delete_aged(30, ended + timedelta(days=31)) == 2
        assert await sessions.list() == ()
        assert await desk.memories() == memories != ()
        assert (await sessions.aged()).count == 2
        assert (await imported(desk, path.parent)).executions == 0


async def test_evidence_of_a_waiting_proposal_is_not_deleted_by_age(home: Path) -> None:
    said, other = transcript(), ClaudeTranscript(OTHER).user("Never push on a Friday.").say("Yes")
    async with office(home) as desk:
        sessions = desk.parts.sessions
        await imported(desk, outside(home, said), outside(home, other, "b"))
        await desk.propose(lesson("x", seen=(said_in(said),)))
        assert await sessions.delete_aged(1, datetime(2100, 1, 1, tzinfo=UTC)) == 1
        (left,) = await sessions.list()
        assert left.id == session_of(said)


async def test_sessions_are_deleted_by_age_once_a_day(home: Path) -> None:
    other = ClaudeTranscript(OTHER).user("Never push on a Friday.").say("Yes")
    async with office(home) as desk:
        sessions = desk.parts.sessions
        await imported(desk, outside(home, transcript()))
        assert await sessions.delete_aged(1, datetime(2100, 1, 1, tzinfo=UTC)) == 1
        last = (await sessions.aged()).latest
        assert last is not None
        await imported(desk, outside(home, other, "b"))
        assert await sessions.delete_aged(1, last + timedelta(hours=23)) == 0
        assert await sessions.delete_aged(1, last + timedelta(hours=24)) == 1


def family() -> list[Written]:
    """A session, two forks of it, and one that has only a rule in common with them."""
    story = Story().user("Fire the kiln. Never open it hot.").bash("fire", "cold", failed=True)
    rows = [list(story.rows)]
    rows.append([*story.bash("heat").bash("fire").say("It is fired.").rows])
    fork = Story(random.Random(2), at=START + timedelta(days=1)).user("Always wear gloves.")
    rows.append([*rows[0], *fork.bash("glove").say("They are on.").rows])
    other = Story(random.Random(3), at=START + timedelta(days=2)).user("Sweep. Never open it hot.")
    rows.append(other.bash("sweep").say("It is swept.").rows)
    return [Written(str(number) * 16, each) for number, each in enumerate(rows)]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 3), (2, 3, 1), (3, 0, 2)])
async def test_what_is_left_is_what_an_import_of_the_other_files_gives(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    files = family()
    async with office(tmp_path / "home") as desk:
        paths = {n: file.save(tmp_path / "t") for n, file in enumerate(files)}
        await imported(desk, tmp_path / "t")
        for number in order:
            await desk.parts.sessions.purge([f"claude_code:{files[number].session}"], actor="me")
            paths.pop(number).unlink()
            (tmp_path / f"fresh{number}").mkdir()
            async with office(tmp_path / f"fresh{number}" / "home") as fresh:
                await imported(fresh, *paths.values())
                assert await contents(desk) == await contents(fresh)
        files[order[0]].save(tmp_path / "t")
        Written("9" * 16, files[order[0]].rows).save(tmp_path / "t")
        before = await contents(desk)
        await imported(desk, tmp_path / "t")
        assert await contents(desk) == before, "no file brings back what was deleted"


async def contents(desk: Office) -> list[str]:
    return sorted(memory.content for memory in await desk.memories())
