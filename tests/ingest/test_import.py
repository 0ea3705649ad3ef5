"""Imports into the real stores: the real sessions, and planted secrets."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest.service import ImportReport, ImportService
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.models import MemoryEdit, MemoryQuery
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.memory.store.store_kit import opened

SESSIONS = ("258c7280-ae70-4798-800f-63464d01a85d", "fa812bfe-b295-4cca-9c2f-fdf01028cb46")


@dataclass
class Desk:
    backend: LocalMemoryBackend
    executions: ExecutionStore
    imports: ImportService

    async def all(self) -> tuple[ListedMemory, ...]:
        return (await self.backend.admin.browse(BrowseFilter())).entries


@asynccontextmanager
async def desk(data_dir: Path, *, real_model: bool = False) -> AsyncIterator[Desk]:
    embedder = create_embedder(MiniLMConfig()) if real_model else None
    async with opened(data_dir, clock=SystemClock(), embedder=embedder) as backend:
        executions = ExecutionStore(backend.core.database)
        clock = SystemClock()
        yield Desk(
            backend,
            executions,
            ImportService(backend=backend, executions=executions, clock=clock, home=data_dir),
        )


@pytest.fixture
def transcripts(shared_dir: Path) -> Path:
    return shared_dir / "data" / "transcripts"


class Imported(NamedTuple):
    """A closed data directory with the real sessions, and what their import reported."""

    data_dir: Path
    report: ImportReport


@pytest.fixture(scope="module")
def imported(shared_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("imported")

    async def run() -> ImportReport:
        async with desk(folder) as open_desk:
            return await open_desk.imports.run([shared_dir / "data" / "transcripts"])

    return Imported(folder, asyncio.run(run()))


async def test_the_real_sessions_and_subagents_are_imported_whole(imported: Imported) -> None:
    report = imported.report
    async with desk(imported.data_dir) as open_desk:
        agents = {}
        for session, subagents in zip(
            SESSIONS, (("a881341",), ("a93ccab", "aa84377")), strict=True
        ):
            for name in ("", *(f"/{subagent}" for subagent in subagents)):
                execution = await open_desk.executions.get(f"claude_code:{session}{name}")
                assert execution is not None
                agents[name] = execution.agent_id
    assert (report.files, report.executions) == (7, 5)
    assert (report.malformed_lines, report.unknown_records, report.redactions) == (0, 0, 0)
    assert [reason for _, reason in report.skipped] == [
        "the agent's own summary of a session, not work"
    ] * 2
    assert Counter(agents.values()) == {
        "claude-code": 1,
        "claude-code/explore": 2,
        "claude-code/claude-code-guide": 1,
    }


async def test_every_call_of_the_real_sessions_is_classified(imported: Imported) -> None:
    """Checked by hand: 15 results with ``is_error``, of them one refusal and one hook block."""
    report = imported.report
    async with desk(imported.data_dir) as open_desk:
        execution = await open_desk.executions.get(f"claude_code:{SESSIONS[1]}")
    assert report.calls == {
        CallOutcome.OK: 416,
        CallOutcome.FAILED: 13,
        CallOutcome.DENIED_BY_USER: 1,
        CallOutcome.BLOCKED_BY_HOOK: 1,
        CallOutcome.CANCELLED_WITH_SIBLING: 0,
        CallOutcome.UNKNOWN: 0,
    }
    assert report.recoveries == 11
    assert execution is not None
    blocked = [c for c in execution.calls if c.outcome is CallOutcome.BLOCKED_BY_HOOK]
    assert [(call.call_line, call.result_line) for call in blocked] == [(1353, 1358)]


async def test_every_memory_of_the_real_sessions_leads_to_its_lines(imported: Imported) -> None:
    async with desk(imported.data_dir) as open_desk:
        entries = await open_desk.all()
        assert len(entries) == imported.report.memories_added > 20
        for entry in entries:
            ref = SourceRef.parse(entry.source or "")
            assert ref is not None
            excerpt = await open_desk.executions.excerpt(ref)
            assert excerpt is not None
            assert [number for number, _ in excerpt.lines] == list(
                range(ref.first_line, ref.last_line + 1)
            )


async def test_importing_the_real_sessions_again_or_a_copy_adds_nothing(
    imported: Imported, transcripts: Path, tmp_path: Path
) -> None:
    shutil.copytree(transcripts / SESSIONS[0], tmp_path / "copy" / SESSIONS[0])
    shutil.copy(transcripts / f"{SESSIONS[0]}.jsonl", tmp_path / "copy")
    shutil.copytree(imported.data_dir, tmp_path / "data")
    async with desk(tmp_path / "data") as open_desk:
        again = await open_desk.imports.run([transcripts])
        copied = await open_desk.imports.run([tmp_path / "copy"])
    assert (again.memories_added, again.memories_updated, again.unchanged) == (0, 0, 5)
    assert (copied.files, copied.memories_added, copied.memories_updated) == (3, 0, 0)


async def test_a_real_session_cut_in_a_line_is_completed_later(
    transcripts: Path, tmp_path: Path
) -> None:
    source = transcripts / f"{SESSIONS[0]}.jsonl"
    data = source.read_bytes()
    path = tmp_path / "t" / source.name
    path.parent.mkdir()
    async with desk(tmp_path / "parts") as parts, desk(tmp_path / "whole") as whole:
        path.write_bytes(data[: len(data) // 2])
        first = await parts.imports.run([path])
        path.write_bytes(data)
        rest = await parts.imports.run([path])
        await whole.imports.run([source])
        expected = {entry.content for entry in await whole.all()}
        assert {entry.content for entry in await parts.all()} == expected
    assert (first.malformed_lines, rest.malformed_lines) == (0, 0)
    assert first.memories_added > 0
    assert rest.memories_added > 0


async def test_the_memory_about_a_missing_upstream_is_found_first(
    transcripts: Path, tmp_path: Path
) -> None:
    async with desk(tmp_path, real_model=True) as open_desk:
        await open_desk.imports.run([transcripts])
        found = await open_desk.backend.admin.find(
            MemoryQuery(text="push a branch that has no upstream", limit=3)
        )
        nothing = await open_desk.backend.admin.find(MemoryQuery(text="recipe for banana bread"))
    assert any("has no upstream branch" in hit.content for hit in found.hits)
    assert "--set-upstream" in found.hits[0].content
    assert nothing.hits == ()


_RANDOM = "q7Wz9KpL2mVx4RtB8nYc3JhF6dGs1AeU5oTi0XvN"


def _planted() -> dict[str, str]:
    """Texts with a secret each, by the secret; put together so that no scanner trips over them."""
    key = "\n".join(_RANDOM[i:] + _RANDOM[:24] for i in range(3))
    return {
        "AK" + "IAZ4Q7W2X9C5V8B1N3": "key AK" + "IAZ4Q7W2X9C5V8B1N3 in the log",
        _RANDOM: f"export AWS_SECRET_ACCESS_KEY={_RANDOM}",
        "gh" + f"p_{_RANDOM[:36]}": "origin https://gh" + f"p_{_RANDOM[:36]}@github.com/x/y",
        "sk" + f"-ant-api03-{_RANDOM}": "Using sk" + f"-ant-api03-{_RANDOM}.",
        "xox" + f"b-1234567890-{_RANDOM[:24]}": "xox" + f"b-1234567890-{_RANDOM[:24]}",
        "lovelace1843": "postgres://ada:lovelace1843@db.example:5432/tides",
        "correct-horse-9": "# .env\nDEBUG=1\nDB_PASSWORD=correct-horse-9\n",
        key.split("\n")[
            1
        ]: f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----",
        f"{_RANDOM[5:37]}==": f"AccountName=x;AccountKey={_RANDOM[5:37]}==;EndpointSuffix=y",
        "ey" + f"J{_RANDOM[:30]}": f"Bearer ey{'J'}{_RANDOM[:30]}.{_RANDOM}.{_RANDOM[:20]}",
    }


def _session_with(texts: list[str]) -> list[dict[str, object]]:
    """A session that shows each text as a request, a command, an output and an answer."""
    records: list[dict[str, object]] = []

    def add(kind: str, content: object, **fields: object) -> None:
        records.append(
            {
                "type": kind,
                "uuid": f"u{len(records)}",
                "sessionId": "secret-session",
                "cwd": "/srv/tidepool",
                "timestamp": f"2025-01-01T00:{len(records) // 60:02}:{len(records) % 60:02}Z",
                "message": {"role": kind, "content": content},
                **fields,
            }
        )

    for number, text in enumerate(texts):
        call = f"c{number}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text}}
        result = {"type": "tool_result", "tool_use_id": call, "is_error": True}
        add("user", f"Remember that the setup needs this: {text}")
        add("assistant", [use])
        add(
            "user",
            [{**result, "content": f"Exit code 1\nError: {text}"}],
            toolUseResult={"stdout": text, "lines": text.split("\n")},
        )
        add("assistant", [{"type": "text", "text": f"It printed this, which is odd: {text}"}])
    return records


async def test_planted_secrets_are_nowhere_in_the_data_directory(tmp_path: Path) -> None:
    planted = _planted()
    ordinary = ["4f51a93c0d370d1205e88be6e9b5f7a86d2c0e1d", "258c7280-ae70-4798-800f-63464d01a85d"]
    texts = [*planted.values(), f"commit {ordinary[0]} of session {ordinary[1]}"]
    source = tmp_path / "t" / "a.jsonl"
    source.parent.mkdir()
    records = _session_with(texts)
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    data = tmp_path / "data"
    async with desk(data) as open_desk:
        report = await open_desk.imports.run([source])
        contents = "\n".join(entry.content for entry in await open_desk.all())
        excerpt = await open_desk.executions.excerpt(
            SourceRef(
                execution_id="claude_code:secret-session", first_line=1, last_line=len(records)
            )
        )
    assert report.redactions >= len(planted) * 4
    assert excerpt is not None
    kept = "\n".join(line for _, line in excerpt.lines)
    stored = [path.read_bytes() for path in data.rglob("*") if path.is_file()]
    for secret in planted:
        assert secret not in contents
        assert secret not in kept
        assert not any(secret.encode() in blob for blob in stored)
    for name in ordinary:
        assert name in contents
        assert name in kept


async def test_a_file_is_read_again_for_better_texts_and_what_a_person_edited_stays(
    tmp_path: Path,
) -> None:
    path = (
        ClaudeTranscript()
        .user("Chart the tides.")
        .bash("make tides", "ok")
        .write(tmp_path / "logs" / "s.jsonl")
    )
    other = ClaudeTranscript("other").user("Chart the moon.").bash("make moon", "ok")
    other.write(tmp_path / "logs" / "t.jsonl")
    async with desk(tmp_path / "data") as open_desk:
        await open_desk.imports.run([path.parent])
        await _as_imported_of_old(open_desk)
        moon = next(entry for entry in await open_desk.all() if "moon" in entry.content)
        await open_desk.backend.admin.edit(
            moon.id, MemoryEdit(content="My words"), actor="operator"
        )
        again = await open_desk.imports.run([path.parent])
        unchanged = await open_desk.imports.run([path.parent])
        texts = sorted(entry.content.partition("\n")[0] for entry in await open_desk.all())
    assert (again.memories_added, again.memories_updated, again.memories_skipped) == (0, 1, 1)
    assert texts == ["Chart the tides → ran make tides", "My words"]
    assert unchanged.unchanged == 2


async def test_a_session_that_grew_updates_its_memory_instead_of_adding_another(
    tmp_path: Path,
) -> None:
    transcript = ClaudeTranscript().user("Chart the tides.").bash("make tides", "ok")
    path = transcript.write(tmp_path / "logs" / "s.jsonl")
    async with desk(tmp_path / "data") as open_desk:
        await open_desk.imports.run([path])
        transcript.say("The tide table was off by one hour.").write(path)
        report = await open_desk.imports.run([path])
        (entry,) = await open_desk.all()
    assert (report.memories_added, report.memories_updated) == (0, 1)
    assert entry.content.startswith("Chart the tides → The tide table was off by one hour\n")


async def _as_imported_of_old(open_desk: Desk) -> None:
    """Make marks and memories those of an import that drew other texts."""
    for mark in (await open_desk.executions.marks()).values():
        digest = mark.digest.partition(":")[2]
        await open_desk.executions.pass_over(replace(mark, digest=digest))
    await open_desk.backend.core.database.write(
        lambda db: db.execute("UPDATE memories SET draft_hash = 'of old'")
    )
