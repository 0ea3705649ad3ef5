import asyncio
import json
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import synthorg_tui.ingest
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import ProjectMap, same_project, use_projects
from synthorg_tui.executions.models import Execution, SourceRef
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.executions.store import ExecutionStore, FileMark
from synthorg_tui.ingest.copies import Put
from synthorg_tui.ingest.following import watch
from synthorg_tui.ingest.service import ImportProgress, ImportService, Learner
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.project_rows import load_projects
from tests.conftest import FixedClock
from tests.ingest.ingest_fakes import FakeBackend
from tests.ingest.transcript_kit import SESSION, ClaudeTranscript, CodexTranscript
from tests.patience import PATIENCE, until


class Bench:
    """An import service on a database, with a home of its own; memories go to a fake."""

    def __init__(
        self,
        home: Path,
        database: StoreDatabase,
        environ: dict[str, str] | None = None,
        learner: Learner | None = None,
    ) -> None:
        self.backend, self.executions = FakeBackend(), ExecutionStore(database)
        self.database = database
        self.service = ImportService(
            backend=self.backend,
            executions=self.executions,
            clock=FixedClock(datetime(2026, 12, 31, tzinfo=UTC)),
            home=home,
            environ=environ or {},
            learner=learner,
        )
        self.service.absorb = self.absorb

    async def absorb(
        self,
        into: str,
        absorbed: Mapping[str, Sequence[int]],
        keys: Collection[str | None],
        put: Put,
    ) -> None:
        """Erase sessions that are parts of another one, with the memories drawn from them."""
        self.backend.drop(absorbed)
        await self.executions.absorb(into, absorbed, keys, put)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[StoreDatabase]:
    async with opened(tmp_path / "store") as database:
        yield database


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[StoreDatabase]:
    folder.mkdir()
    database = Database.in_dir(folder)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def bench(tmp_path: Path, database: StoreDatabase) -> Bench:
    return Bench(tmp_path / "home", database)


def session(number: int = 1) -> ClaudeTranscript:
    name = f"{number:08d}-2222-4333-8444-555555555555"
    transcript = ClaudeTranscript(name).user(f"Do the job number {number}.")
    transcript.bash("make", "Exit code 2\nError: missing file", error=True)
    return transcript.bash("make fetch", "ok").bash("make", "ok").say("The job is done.")


async def test_a_folder_is_imported_with_its_subfolders(bench: Bench, tmp_path: Path) -> None:
    session(1).write(tmp_path / "t" / "a.jsonl")
    CodexTranscript().message("user", "go").run("make", "Exit code: 0\nOutput:\n").write(
        tmp_path / "t" / "deep" / "b.jsonl"
    )
    report = await bench.service.run([tmp_path / "t"])
    assert (report.files, report.executions) == (2, 2)
    assert report.calls[CallOutcome.FAILED] == 1
    assert report.recoveries == 1


async def test_a_second_import_adds_nothing_and_reads_nothing(bench: Bench, tmp_path: Path) -> None:
    session().write(tmp_path / "t" / "a.jsonl")
    first = await bench.service.run([tmp_path / "t"])
    again = await bench.service.run([tmp_path / "t"])
    assert first.memories_added > 0
    assert (again.memories_added, again.memories_updated, again.unchanged) == (0, 0, 1)


async def test_a_copy_under_another_path_adds_nothing(bench: Bench, tmp_path: Path) -> None:
    path = session().write(tmp_path / "t" / "a.jsonl")
    await bench.service.run([path])
    shutil.copy(path, tmp_path / "renamed.jsonl")
    report = await bench.service.run([tmp_path / "renamed.jsonl"])
    assert (report.memories_added, report.memories_updated) == (0, 0)


async def test_a_file_cut_in_a_line_is_imported_up_to_there_and_later_the_rest(
    bench: Bench, tmp_path: Path
) -> None:
    whole = session().write(tmp_path / "a.jsonl").read_bytes()
    cut = whole[: whole.index(b"make fetch") + 3]
    (tmp_path / "a.jsonl").write_bytes(cut)
    first = await bench.service.run([tmp_path / "a.jsonl"])
    assert (first.malformed_lines, first.recoveries, first.executions) == (0, 0, 1)
    (tmp_path / "a.jsonl").write_bytes(whole)
    rest = await bench.service.run([tmp_path / "a.jsonl"])
    assert (rest.recoveries, rest.memories_added) == (1, 1)
    async with opened(tmp_path / "other") as other:
        fresh = Bench(tmp_path / "home", other)
        await fresh.service.run([tmp_path / "a.jsonl"])
    assert sorted(fresh.backend.contents) == sorted(bench.backend.contents)


async def test_a_shorter_copy_never_replaces_a_longer_one(bench: Bench, tmp_path: Path) -> None:
    path = session().write(tmp_path / "a.jsonl")
    await bench.service.run([path])
    lines = path.read_text().splitlines(keepends=True)
    (tmp_path / "short.jsonl").write_text("".join(lines[:3]))
    report = await bench.service.run([tmp_path / "short.jsonl"])
    assert "longer copy" in report.skipped[0][1]
    (execution_id,) = await bench.executions.ids()
    execution = await bench.executions.get(execution_id)
    assert execution is not None
    assert execution.line_count == len(lines)
    assert await bench.executions.excerpt(execution.ref(1, len(lines))) is not None


async def test_every_source_resolves_to_its_lines(bench: Bench, tmp_path: Path) -> None:
    session().write(tmp_path / "a.jsonl")
    await bench.service.run([tmp_path])
    for draft in bench.backend.drafts.values():
        ref = SourceRef.parse(draft.request.metadata.source or "")
        assert ref is not None
        assert await bench.executions.excerpt(ref) is not None


async def test_an_unreadable_file_never_stops_the_rest(bench: Bench, tmp_path: Path) -> None:
    session().write(tmp_path / "t" / "b.jsonl")
    (tmp_path / "t" / "a.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd broken")
    (tmp_path / "t" / "c.jsonl").write_text('{"hello": 1}\n')
    report = await bench.service.run([tmp_path / "t"])
    assert report.executions == 1
    assert [Path(path).name for path, _ in report.skipped] == ["a.jsonl.zst", "c.jsonl"]
    assert all(reason for _, reason in report.skipped)


async def test_a_missing_path_is_reported(bench: Bench, tmp_path: Path) -> None:
    report = await bench.service.run([tmp_path / "nowhere"])
    assert [Path(path).name for path, _ in report.skipped] == ["nowhere"]


async def test_a_link_out_of_the_folder_is_refused(bench: Bench, tmp_path: Path) -> None:
    outside = session().write(tmp_path / "outside" / "a.jsonl")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "file.jsonl").symlink_to(outside)
    (tmp_path / "t" / "folder").symlink_to(outside.parent)
    report = await bench.service.run([tmp_path / "t"])
    assert report.executions == 0
    assert {reason for _, reason in report.skipped} == {
        "a symbolic link that leads out of the imported folder"
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_without_permission_is_reported(bench: Bench, tmp_path: Path) -> None:
    path = session().write(tmp_path / "a.jsonl")
    path.chmod(0)
    report = await bench.service.run([tmp_path])
    assert "Permission denied" in report.skipped[0][1]


async def test_an_import_can_be_cancelled_and_taken_up_again(bench: Bench, tmp_path: Path) -> None:
    for number in range(5):
        session(number).write(tmp_path / f"{number}.jsonl")
    cancel = threading.Event()

    def stop_at_two(progress: ImportProgress) -> None:
        if progress.files_done == 2:
            cancel.set()

    first = await bench.service.run([tmp_path], progress=stop_at_two, cancel=cancel)
    assert (first.cancelled, first.executions) == (True, 2)
    rest = await bench.service.run([tmp_path])
    assert (rest.cancelled, rest.executions, rest.unchanged) == (False, 3, 2)


async def test_progress_tells_files_bytes_rate_and_time_left(bench: Bench, tmp_path: Path) -> None:
    sizes = [session(n).write(tmp_path / f"{n}.jsonl").stat().st_size for n in range(3)]
    seen: list[ImportProgress] = []
    await bench.service.run([tmp_path], progress=seen.append)
    assert seen[0].seconds_left is None
    last = seen[-1]
    assert (last.files_done, last.files_total) == (3, 3)
    assert (last.bytes_done, last.bytes_total) == (sum(sizes), sum(sizes))
    assert last.bytes_per_second > 0
    assert last.seconds_left == 0


async def test_a_statement_made_in_two_sessions_is_one_memory(bench: Bench, tmp_path: Path) -> None:
    for number in range(2):
        session(number).user("Always run make lint first.").write(tmp_path / f"{number}.jsonl")
    await bench.service.run([tmp_path])
    assert bench.backend.contents.count("Always run make lint first.") == 1


async def test_the_first_name_of_a_subagent_stays(bench: Bench, tmp_path: Path) -> None:
    parent = ClaudeTranscript().user("the task")
    parent.use("t1", "Task", subagent_type="Explore").result(
        "t1", "found", toolUseResult={"agentId": "abc"}
    )
    parent.write(tmp_path / "t" / f"{SESSION}.jsonl")
    child = (
        ClaudeTranscript(agent="abc").user("look around").bash("ls", "x").say("It has two parts.")
    )
    path = child.write(tmp_path / "t" / SESSION / "subagents" / "agent-abc.jsonl")
    await bench.service.run([tmp_path / "t"])
    shutil.copy(path, tmp_path / "alone.jsonl")
    report = await bench.service.run([tmp_path / "alone.jsonl"])
    assert (report.memories_added, report.memories_updated) == (0, 0)


async def test_nothing_is_dated_in_the_future(bench: Bench, tmp_path: Path) -> None:
    now = datetime(2020, 1, 1, tzinfo=UTC)
    bench.service = ImportService(
        backend=bench.backend, executions=bench.executions, clock=FixedClock(now), home=tmp_path
    )
    session().write(tmp_path / "a.jsonl")
    await bench.service.run([tmp_path / "a.jsonl"])
    assert {draft.created_at for draft in bench.backend.drafts.values()} == {now}


async def test_the_usual_places_are_found_and_imported(
    tmp_path: Path, database: StoreDatabase
) -> None:
    home = tmp_path / "home"
    session().write(home / ".claude" / "projects" / "x" / "a.jsonl")
    CodexTranscript().message("user", "go").run("make", "Exit code: 0\n").write(
        home / ".codex" / "sessions" / "2025" / "rollout-1.jsonl"
    )
    bench = Bench(home, database)
    found = await bench.service.discover()
    assert [(each.reader, each.files) for each in found] == [("claude_code", 1), ("codex", 1)]
    assert (await bench.service.run()).executions == 2


async def test_the_environment_moves_the_usual_places(
    tmp_path: Path, database: StoreDatabase
) -> None:
    session().write(tmp_path / "c" / "projects" / "x" / "a.jsonl")
    bench = Bench(tmp_path / "home", database, {"CLAUDE_CONFIG_DIR": str(tmp_path / "c")})
    assert [each.root for each in await bench.service.discover()] == [tmp_path / "c" / "projects"]


async def test_without_any_transcripts_nothing_is_found(bench: Bench) -> None:
    assert await bench.service.discover() == ()
    assert (await bench.service.run()).files == 0


async def test_watching_imports_what_is_there_and_what_comes(bench: Bench, tmp_path: Path) -> None:
    path = session().write(tmp_path / "t" / "a.jsonl")
    stop = asyncio.Event()
    reports = []
    async with asyncio.timeout(PATIENCE):
        async for report in watch(bench.service, lambda: [tmp_path / "t"], stop=stop):
            reports.append(report)
            if len(reports) == 1:
                _append(path)
            else:
                stop.set()
    assert reports[0].memories_added > 0
    assert "Never deploy on Fridays." in bench.backend.contents


def _append(path: Path) -> None:
    line = {"type": "user", "sessionId": "00000001-2222-4333-8444-555555555555", "uuid": "u-new"}
    message = {"role": "user", "content": "Never deploy on Fridays."}
    with path.open("a") as stream:
        stream.write(json.dumps({**line, "message": message}) + "\n")


async def test_the_sample_gives_memories_of_every_kind(bench: Bench) -> None:
    report = await bench.service.run([Path(synthorg_tui.ingest.__file__).parent / "sample"])
    assert (report.files, report.executions, report.malformed_lines) == (3, 3, 0)
    assert (report.recoveries, report.redactions, report.skipped) == (4, 0, ())
    tags = {tag for draft in bench.backend.drafts.values() for tag in draft.request.metadata.tags}
    assert {"session", "task", "recovery", "commit", "said", "refused"} <= tags
    assert any("no upstream branch" in content for content in bench.backend.contents)


async def test_what_was_imported_is_learnt_from_once(
    tmp_path: Path, database: StoreDatabase
) -> None:
    learnt: list[tuple[str, ...]] = []
    executions = ExecutionStore(database)

    async def learner(ids: Sequence[str], cancel: threading.Event) -> int:
        learnt.append(tuple(ids))
        await executions.learnt(await executions.unlearnt())
        return 2

    bench = Bench(tmp_path / "home", database, learner=learner)
    session(1).write(tmp_path / "a.jsonl")
    report = await bench.service.run([tmp_path / "a.jsonl"])
    again = await bench.service.run([tmp_path / "a.jsonl"])
    assert learnt == [("claude_code:00000001-2222-4333-8444-555555555555",)]
    assert (report.lessons_proposed, again.lessons_proposed) == (2, 0)


async def test_an_import_is_none_the_worse_when_learning_fails(
    tmp_path: Path, database: StoreDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    async def learner(ids: Sequence[str], cancel: threading.Event) -> int:
        raise OSError("disk full")

    bench = Bench(tmp_path / "home", database, learner=learner)
    session(1).write(tmp_path / "a.jsonl")
    report = await bench.service.run([tmp_path / "a.jsonl"])
    assert (report.executions, report.lessons_proposed) == (1, 0)
    assert "nothing was learnt from 1 imported sessions: disk full" in caplog.text


@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
class TestNamesThatAreNotUtf8:
    async def test_the_file_is_refused_in_words_and_the_rest_imported(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        for number, name in enumerate((b"a.jsonl", b"b\xff.jsonl", b"c.jsonl"), 1):
            session(number).write(tmp_path / "t" / os.fsdecode(name))
        report = await bench.service.run([tmp_path / "t"])
        ((path, reason),) = report.skipped
        assert path == f"{tmp_path}/t/b\\xff.jsonl"
        assert "isn't UTF-8" in reason
        assert path.isprintable()
        assert (report.files, report.executions) == (2, 2)

    async def test_a_folder_is_refused_once_where_there_are_transcripts_in_it(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        for number in (1, 2):
            session(number).write(tmp_path / "t" / os.fsdecode(b"deep\xe9") / f"{number}.jsonl")
        (tmp_path / "t" / os.fsdecode(b"none\xe9")).mkdir()
        session(3).write(tmp_path / "t" / "z.jsonl")
        report = await bench.service.run([tmp_path / "t"])
        assert [path for path, _ in report.skipped] == [f"{tmp_path}/t/deep\\xe9"]
        assert report.executions == 1

    async def test_a_path_that_is_named_is_refused(self, bench: Bench, tmp_path: Path) -> None:
        path = session().write(tmp_path / os.fsdecode(b"b\xff.jsonl"))
        report = await bench.service.run([path])
        assert [each for each, _ in report.skipped] == [f"{tmp_path}/b\\xff.jsonl"]

    async def test_one_that_comes_does_not_end_watching(
        self, bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        session(1).write(tmp_path / "t" / "a.jsonl")
        stop = asyncio.Event()
        odd = tmp_path / "t" / os.fsdecode(b"b\xff.jsonl")
        seen = 0
        async with asyncio.timeout(PATIENCE):
            async for _ in watch(bench.service, lambda: [tmp_path / "t"], stop=stop):
                seen += 1
                if seen == 1:
                    session(2).write(odd)
                    await until(lambda: "watching anew" in caplog.text)
                    session(3).write(tmp_path / "t" / "c.jsonl")
                else:
                    stop.set()
        assert await bench.executions.count() == 2


async def test_a_file_that_can_not_be_stored_does_not_stop_the_others(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        session(number).write(tmp_path / "t" / f"{number}.jsonl")
    save = bench.executions.save

    async def choking(
        execution: Execution, lines: PackedLines, mark: FileMark, *parts: Any
    ) -> None:
        if mark.path.endswith("2.jsonl"):
            "\udcff".encode()
        await save(execution, lines, mark, *parts)

    monkeypatch.setattr(bench.executions, "save", choking)
    report = await bench.service.run([tmp_path / "t"])
    assert report.skipped == (
        (str(tmp_path / "t" / "2.jsonl"), "can't be stored: UnicodeEncodeError"),
    )
    assert report.executions == 2
    assert str(tmp_path / "t" / "2.jsonl") not in await bench.executions.marks()


async def test_an_agent_whose_memory_is_full_is_named_with_what_was_not_stored(
    bench: Bench, tmp_path: Path
) -> None:
    session(1).write(tmp_path / "t" / "a.jsonl")
    bench.backend.room = 1
    report = await bench.service.run([tmp_path / "t"])
    assert report.memories_added == 1
    assert report.memories_refused > 0
    assert (report.memories_skipped, report.full_agents) == (0, ("claude-code",))


async def test_a_store_that_fails_ends_the_import(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(1).write(tmp_path / "t" / "a.jsonl")

    async def failing(*_: object, **__: object) -> None:
        raise MemoryStoreError("the disk is full")

    monkeypatch.setattr(bench.executions, "save", failing)
    with pytest.raises(MemoryStoreError, match="full"):
        await bench.service.run([tmp_path / "t"])


async def test_a_session_never_goes_to_an_agent_whose_session_has_the_same_name(
    bench: Bench, tmp_path: Path
) -> None:
    for name, agent, run in (("a", "ada.x", "y"), ("b", "ada", "x.y")):
        record = {"format": "synthorg-execution", "agent": agent, "session": run}
        task = {"task": f"Never deploy as {name}."}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record | task) + "\n")
    report = await bench.service.run([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert bench.backend.contents == ["Never deploy as a."]
    assert "another agent" in report.skipped[0][1]


async def test_a_folder_that_is_gone_is_of_the_repository_that_its_session_names(
    tmp_path: Path, database: StoreDatabase
) -> None:
    use_projects(ProjectMap())
    bench = Bench(tmp_path / "home", database)
    addresses = {
        "/gone/shop": "https://github.com/ann/Shop.git",
        "/gone/old-shop": "git@github.com:ann/shop",
        "/gone/other": "/gone/shop",
    }
    for number, (folder, address) in enumerate(addresses.items()):
        told = CodexTranscript(f"codex-{number}", folder, git={"repository_url": address})
        told.message("user", f"Look at {folder}.").write(tmp_path / "t" / f"{number}.jsonl")
    await bench.service.run([tmp_path / "t"])
    use_projects(await database.read(load_projects))
    assert same_project("/gone/shop", "/gone/old-shop")
    assert not same_project("/gone/shop", "/gone/other")
