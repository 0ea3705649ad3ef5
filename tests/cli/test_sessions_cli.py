"""Imported sessions on the command line: listed, shown, and forgotten for good."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli import main
from tests.cli.cli_kit import SAMPLE, Cli, documented, move_home, runner
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.postgres_switch import files_only

CODEX = "codex:0199f0c4-3d21-7a52-b6e8-2f4d90c1a7e3"
WORDS = b"Never change the table layout"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with the bundled sample, to be copied."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        assert main(["import", str(SAMPLE), "--data-dir", str(home / "data")]) == 0
    return home / "data"


@pytest.fixture
def data(tmp_path: Path, imported: Path) -> Path:
    return Path(shutil.copytree(imported, tmp_path / "data"))


@pytest.fixture
def cli(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line on a store with the bundled sample."""
    move_home(monkeypatch, data.parent)
    return runner(data, capsys)


def listed(cli: Cli, *options: str) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = cli("sessions", "list", *options, "--json").json["sessions"]
    return sessions


def holding(data: Path) -> list[str]:
    files = [path for path in data.rglob("*") if path.is_file()]
    return [path.name for path in files if WORDS in path.read_bytes()]


def test_sessions_are_listed_latest_first_with_their_size(cli: Cli) -> None:
    result = cli("sessions", "list", "--json").json
    documented_shape = documented("sessions list")
    assert result.keys() == documented_shape.keys()
    assert result["sessions"][0].keys() == documented_shape["sessions"][0].keys()
    ended = [session["ended_at"] for session in result["sessions"]]
    assert ended == sorted(ended, reverse=True)
    assert result["total"] == 3
    assert result["bytes"] == sum(session["bytes"] for session in result["sessions"]) > 0
    assert [each["agent_id"] for each in listed(cli, "--agent", "codex")] == ["codex"]
    assert len(listed(cli, "--limit", "2")) == 2
    told = cli("sessions", "list")
    assert CODEX[:14] in told.out
    assert "3 sessions" in told.err


def test_a_list_is_narrowed_by_what_is_asked(cli: Cli) -> None:
    everything = listed(cli)
    codex = next(each for each in everything if each["id"] == CODEX)
    first, last = everything[-1], everything[0]
    for options, expected in (
        (["--agent", "codex"], [codex]),
        (["--agent", "nobody"], []),
        (["--project", codex["project"], "--agent", "codex"], [codex]),
        (["--project", Path(codex["project"]).name, "--agent", "codex"], [codex]),
        (["--since", last["ended_at"]], [last]),
        (["--until", last["ended_at"]], everything[1:]),
        (["--until", first["ended_at"]], []),
        (["--outcome", codex["outcome"], "--agent", "codex"], [codex]),
        (["--outcome", "failed"], []),
        ([codex["title"].split()[0].upper(), "--agent", "codex"], [codex]),
        (["no such word"], []),
    ):
        assert listed(cli, *options) == expected, options
    assert cli("sessions", "list", "--project", "/nowhere").code == 2
    assert "None of 3 sessions is like that." in cli("sessions", "list", "--outcome", "failed").out


def test_a_session_is_shown_as_a_conversation(cli: Cli) -> None:
    result = cli("sessions", "show", CODEX, "--json").json
    example = documented("sessions show")
    assert result.keys() == example.keys()
    assert result["entries"][0].keys() == example["entries"][0].keys()
    kinds = {entry["kind"] for entry in result["entries"]}
    assert {"said", "answered", "call", "folded"} >= kinds >= {"said", "call"}
    told = cli("sessions", "show", "codex").out
    assert CODEX in told
    failed = next(entry for entry in result["entries"] if entry["outcome"] == "failed")
    assert f"✗ {failed['head']}  {failed['told']}" in told
    assert "hook" in told


def test_a_session_is_shown_around_a_line(cli: Cli) -> None:
    result = cli("sessions", "show", CODEX, "--json").json
    call = next(entry for entry in result["entries"] if entry["kind"] == "call")
    lines = f"{call['first_line']}-{call['first_line']}"
    (only,) = cli("sessions", "show", CODEX, "--lines", lines, "--json").json["entries"]
    assert only == call
    marked = f">{call['first_line']:>2}"
    source = f"{CODEX}#L{call['first_line']}-L{call['last_line']}"
    assert marked in cli("sessions", "show", CODEX, "--at", str(call["first_line"])).out
    assert marked in cli("sessions", "show", CODEX, "--at", source).out
    assert marked in cli("sessions", "show", source).out
    for option, value in (("--lines", "20-"), ("--at", "20"), ("--at", f"{CODEX}#L20")):
        assert "has 19 lines" in cli("sessions", "show", CODEX, option, value).err
    for wrong in ("0-3", "5-3", "x"):
        with pytest.raises(SystemExit):
            cli("sessions", "show", CODEX, "--lines", wrong)


def test_the_stored_lines_are_shown_as_they_are(cli: Cli) -> None:
    raw = cli("sessions", "show", CODEX, "--raw").out.splitlines()
    assert len(raw) == 19
    assert all(json.loads(line) for line in raw)
    assert cli("sessions", "show", CODEX, "--raw", "--lines", "2-3").out.splitlines() == raw[1:3]
    pairs = cli("sessions", "show", CODEX, "--raw", "--lines", "19-", "--json").json["lines"]
    assert pairs == [[19, raw[18]]]


def test_a_session_is_exported_and_replaces_no_file_unasked(cli: Cli, tmp_path: Path) -> None:
    document, lines = tmp_path / "a.md", tmp_path / "a.jsonl"
    done = cli("sessions", "export", CODEX, str(document), "--json").json
    assert done.keys() == documented("sessions export").keys()
    assert done["path"] == str(document)
    assert document.read_text().startswith("# ")
    assert "## You (line " in document.read_text()
    cli("sessions", "export", CODEX, str(lines))
    assert len(lines.read_text().splitlines()) == 19
    before = document.read_text()
    refused = cli("sessions", "export", "codex", str(document), "--format", "jsonl")
    assert (refused.code, document.read_text()) == (2, before)
    assert "is there already" in refused.err
    assert cli("sessions", "export", CODEX, str(document), "--format", "jsonl", "--force").code == 0
    assert document.read_text() == lines.read_text()
    assert cli("sessions", "export", CODEX, "-", "--format", "jsonl").out == lines.read_text()
    assert cli("sessions", "export", CODEX, str(tmp_path / "no" / "a.md")).code == 1


def test_the_command_that_resumes_a_session_is_printed(cli: Cli) -> None:
    result = cli("sessions", "resume", CODEX, "--json").json
    assert result.keys() == documented("sessions resume").keys()
    assert "the folder of its project isn't there" in result["problem"]
    refused = cli("sessions", "resume", CODEX)
    assert (refused.code, refused.out) == (1, "")
    assert f"sessions show {CODEX}" in refused.err


@files_only
def test_a_session_is_resumed_in_the_folder_of_its_project(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    project, program = tmp_path / "shop", tmp_path / "bin" / "claude"
    project.mkdir()
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$PWD: $*"\n')
    program.chmod(0o700)
    said = ClaudeTranscript(cwd=str(project)).user("Go on with the shop").say("Yes")
    assert cli("import", str(said.write(tmp_path / "t" / "session.jsonl"))).code == 0
    printed = cli("sessions", "resume", f"claude_code:{said.session}").out
    assert printed == f"cd {project} && claude --resume {said.session}\n"
    command = [sys.executable, "-m", "synthorg_tui", "--data-dir", str(data), "sessions", "resume"]
    command += [f"claude_code:{said.session}", "--run"]
    environ = {"HOME": str(data.parent), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"{project}: --resume {said.session}\n"
    program.unlink()
    failed = subprocess.run(
        command, env=environ | {"PATH": str(program.parent)}, capture_output=True, text=True
    )
    assert failed.returncode == 1
    assert "claude can't be started" in failed.stderr


def test_a_line_is_traced_to_the_session_that_wrote_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    target = project / "a.py"
    target.write_text("import os\nx = 1\n\n")
    said = ClaudeTranscript(cwd=str(project)).user("Write a.py for me")
    said.use("c1", "Write", file_path=str(target), content="import os\n").result("c1", "ok")
    path = said.say("Written").write(tmp_path / "t" / "session.jsonl")
    assert cli("import", str(path)).code == 0
    monkeypatch.chdir(project)
    result = cli("blame", "a.py:1", "--json").json
    assert result.keys() == documented("blame").keys()
    assert result["touches"][0].keys() == documented("blame")["touches"][0].keys()
    (touch,) = result["touches"]
    assert (touch["wrote_line"], touch["request"]) == (True, "Write a.py for me")
    told = cli("blame", str(target) + ":1").out
    assert "wrote this line" in told
    assert f"sessions show 'claude_code:{said.session}#L{touch['line']}'" in told
    nobodys = cli("blame", "a.py:2")
    assert "No stored session wrote this line; these changed the file:" in nobodys.out
    assert "What shell commands wrote" in nobodys.err
    assert "A blank line" in cli("blame", "a.py:3").out
    assert "has 3 lines" in cli("blame", "a.py:4").err
    assert "No stored session changed" in cli("blame", "b.py").out
    assert cli("blame", "b.py:1").code == 1


def test_an_id_that_is_unknown_or_stands_for_several_is_refused(cli: Cli) -> None:
    assert "no session has an id" in cli("sessions", "show", "nowhere").err
    result = cli("sessions", "delete", "claude_code:", "--yes")
    assert result.code == 2
    assert "several ids start with" in result.err


def test_nothing_is_forgotten_when_nobody_can_confirm(cli: Cli) -> None:
    result = cli("sessions", "delete", CODEX)
    assert result.code == 2
    assert "The transcript's file isn't touched" in result.err
    assert len(listed(cli)) == 3


@files_only
def test_a_forgotten_session_is_nowhere_and_not_imported_again(cli: Cli, data: Path) -> None:
    assert holding(data)
    backup = cli("backup", "--json").json["path"]
    told = cli("sessions", "delete", CODEX)
    assert "A backup keeps it: " in told.err
    assert Path(backup).name in told.err
    done = cli("sessions", "delete", CODEX, "--yes", "--json").json
    assert done.keys() == documented("sessions delete").keys()
    assert done["deleted"] == [CODEX]
    assert done["purged"] == 3 + 1  # what was drawn from it, and a line of knowledge it showed
    assert (done["remains"], done["copies"]) == ("", [backup])
    assert holding(data) == [Path(backup).name]
    assert cli("import", str(SAMPLE), "--json").json["executions"] == 0
    assert len(listed(cli)) == 2


@files_only
def test_backups_that_hold_it_are_deleted_on_request(cli: Cli, data: Path) -> None:
    backup = cli("backup", "--json").json["path"]
    done = cli("sessions", "delete", CODEX, "--yes", "--backups", "--json").json
    assert done["deleted_copies"] == [backup]
    assert holding(data) == []


def test_memories_of_a_forgotten_session_may_be_kept(cli: Cli) -> None:
    done = cli("sessions", "delete", CODEX, "--yes", "--keep-memories", "--json").json
    assert done["purged"] == 0
    assert cli("memories", "list", "--agent", "codex", "--json").json["memories"]


@pytest.mark.parametrize(("what", "sessions"), [("redact", 3), ("forget", 2)])
def test_purging_a_memory_reaches_its_transcript_on_request(
    cli: Cli, data: Path, what: str, sessions: int
) -> None:
    memories = cli("memories", "list", "--agent", "codex", "--json").json["memories"]
    ids = [memory["id"] for memory in memories]
    asked = cli("memories", "purge", *ids)
    assert "The session's stored transcript has it, too" in asked.err
    assert "--transcript redact" in asked.err
    done = cli("memories", "purge", *ids, "--yes", "--transcript", what, "--json").json
    assert done.keys() == documented("memories purge").keys()
    known = 1 if what == "redact" else 0  # a line of knowledge that the redacted lines showed
    assert (done["purged"], done["remains"]) == (len(ids) + known, "")
    assert len(listed(cli)) == sessions
    shown = cli("sessions", "show", CODEX)
    assert WORDS.decode() not in shown.out
    assert holding(data) == []


def test_a_purge_that_leaves_the_transcript_says_how_to_go_on(cli: Cli) -> None:
    (memory, *_) = cli("memories", "list", "--agent", "codex", "--json").json["memories"]
    assert f"sessions delete {CODEX}" in cli("memories", "purge", memory["id"], "--yes").err


def test_memories_are_listed_and_found_by_the_session_they_were_drawn_from(cli: Cli) -> None:
    ids = [session["id"] for session in listed(cli)]
    whole = cli("memories", "list", "--json").json["total"]
    parts = [cli("memories", "list", "--session", each, "--json").json["total"] for each in ids]
    assert all(parts)
    known = cli("memories", "list", "--kind", "knowledge", "--json").json["total"]
    assert sum(parts) == whole - known
    assert cli("memories", "list", "--session", ids[0][:-3], "--json").json["total"] == parts[0]
    found = cli("search", "tests", "--session", ids[0], "--limit", "100", "--json").json["results"]
    assert len(found) <= parts[0]
    assert all(hit["source"]["ref"].startswith(f"{ids[0]}#") for hit in found)
    assert "no session has an id" in cli("memories", "list", "--session", "nobody").err
