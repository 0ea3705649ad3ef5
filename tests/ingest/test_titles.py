"""Titles of what is imported from real transcripts: they tell things apart."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from synthorg_tui.executions.requests import is_trivial
from synthorg_tui.executions.titles import MAX_TITLE, seen_of, session_title
from synthorg_tui.ingest.discovery import collect
from synthorg_tui.ingest.reading import ExtractedExecution, read_file
from synthorg_tui.memory.extensions import MemoryDraft
from tests.ingest.transcript_kit import ClaudeTranscript

_OF_PEOPLE = {"said", "refused"}
_DATABASES = {"goose.sql": "sessions.db", "opencode.sql": "opencode.db"}


@pytest.fixture(scope="module")
def real(shared_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[ExtractedExecution]:
    """Everything read from the shared transcripts, with the databases of other agents."""
    folder = tmp_path_factory.mktemp("databases")
    for number, script in enumerate(sorted((shared_dir / "data" / "agents").rglob("*.sql"))):
        if script.name in _DATABASES:
            (folder / str(number)).mkdir()
            with closing(sqlite3.connect(folder / str(number) / _DATABASES[script.name])) as db:
                db.executescript(script.read_text(encoding="utf-8"))
    roots = [shared_dir / "data" / "transcripts", shared_dir / "data" / "agents", folder]
    files = collect(roots)[0]
    return [extracted for file in files for extracted in read_file(file).executions]


def listed(found: list[ExtractedExecution]) -> list[MemoryDraft]:
    """The memories as a list shows them: by project, the newest first."""
    drafts = [draft for extracted in found for draft in extracted.drafts]
    dated = [draft for draft in drafts if draft.created_at is not None]
    dated.sort(key=lambda draft: str(draft.created_at), reverse=True)
    return sorted(dated, key=lambda draft: draft.project or "")


def title_of(draft: MemoryDraft) -> str:
    return draft.request.content.partition("\n")[0]


def test_no_two_neighbours_have_the_same_title(real: list[ExtractedExecution]) -> None:
    titles = [seen_of(title_of(draft)) for draft in listed(real)]
    assert len(titles) > 50
    assert [first for first, second in pairwise(titles) if first == second] == []


def test_no_title_is_trivial_or_too_long(real: list[ExtractedExecution]) -> None:
    drafts = [d for d in listed(real) if not _OF_PEOPLE.intersection(d.request.metadata.tags)]
    titles = [title_of(draft) for draft in drafts]
    titles += [session_title(extracted.execution) for extracted in real]
    assert [title for title in titles if is_trivial(title)] == []
    assert [title for title in titles if not 0 < len(title) <= MAX_TITLE] == []


def test_a_session_and_its_parts_have_titles_of_their_own(real: list[ExtractedExecution]) -> None:
    for extracted in real:
        titles = [seen_of(title_of(draft)) for draft in extracted.drafts]
        assert len(titles) == len(set(titles)), extracted.execution.id


def test_what_claude_code_calls_a_session_is_its_title(tmp_path: Path) -> None:
    transcript = ClaudeTranscript().user("do it").bash("make tides", "ok").say("The tide is in.")
    transcript.add("summary", summary="Another session", leafUuid="elsewhere")
    assert summary_of(transcript, tmp_path) == ""
    transcript.add("summary", summary="The tides", leafUuid=f"uuid-1111-{4}")
    assert summary_of(transcript, tmp_path) == "The tides"
    transcript.add("ai-title", aiTitle="Chart of the tides")
    assert summary_of(transcript, tmp_path) == "Chart of the tides"
    transcript.add("custom-title", customTitle="Tides!").add("ai-title", aiTitle="Later")
    assert summary_of(transcript, tmp_path) == "Tides!"


def test_a_subagent_is_called_what_it_was_started_for_without_secrets(tmp_path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    parent = ClaudeTranscript().user("Look around.")
    told = {"subagent_type": "Explore", "description": f"Explore the tides {key}"}
    parent.use("t1", "Task", prompt="Go.", **told)
    parent.result("t1", "done", toolUseResult={"agentId": "abc"}).write(tmp_path / "s.jsonl")
    child = ClaudeTranscript(agent="abc").user("Go.").bash("ls tides", "a\nb")
    path = child.write(tmp_path / "s" / "subagents" / "agent-abc.jsonl")
    (extracted,) = read_file(collect([path])[0][0]).executions
    assert extracted.execution.summary.startswith("Explore the tides [REDACTED:")
    assert session_title(extracted.execution).startswith("Explore the tides [REDACTED:")


def summary_of(transcript: ClaudeTranscript, folder: Path) -> str:
    path = transcript.write(folder / "session.jsonl")
    return read_file(collect([path])[0][0]).executions[0].execution.summary
