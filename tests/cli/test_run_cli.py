"""``run`` and ``runs`` with a scripted model: followed, parked, decided on, stopped; by whom."""

import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthorg_tui.core.actors import AGENT_MARKS
from tests import REPO
from tests.cli.cli_kit import Cli, Result, documented, move_home, runner
from tests.cli.run_kit import RunServer, calls, run_server, says, settings_file
from tests.patience import PATIENCE
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal, without_marks

WRITES = [calls("write_file", path="note.txt", content="hello\n"), says("It is written.")]
READS = [calls("read_file", path="a.txt"), says("It says hello.")]


@pytest.fixture(scope="module")
def served() -> Iterator[RunServer]:
    with run_server() as server:
        yield server


@pytest.fixture
def server(served: RunServer) -> RunServer:
    served.answers = READS
    served.asked.clear()
    served.goes_on.set()
    return served


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "data"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("hello\n")
    return tmp_path


@pytest.fixture
def cli(
    work: Path,
    store: Path,
    server: RunServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Cli:
    move_home(monkeypatch, work)
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    monkeypatch.setenv("SYNTHORG_CONFIG", str(settings_file(server, work)))
    monkeypatch.chdir(work)
    return runner(store, capsys)


def test_a_run_is_followed_step_by_step_and_its_answer_is_the_result(cli: Cli) -> None:
    ran = cli("run", "say what a.txt says", "--profile", "read_only", "--agent", "heron")
    assert (ran.code, ran.out) == (0, "It says hello.\n")
    assert re.search(r"^Run \w+ · heron by builtin$", ran.err, re.MULTILINE)
    assert re.search(r"^✓ read_file a\.txt$", ran.err, re.MULTILINE)
    assert re.search(r"^completed · 2 turns · 1 call · 220 tokens", ran.err, re.MULTILINE)


def test_json_is_as_documented_and_nothing_else_is_printed(cli: Cli) -> None:
    ran = cli("run", "say it", "--profile", "read_only", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json.keys() == documented("run").keys()
    assert (ran.json["agent"], ran.json["answer"]) == ("desk", "It says hello.")
    run_id = ran.json["id"]
    listed = cli("runs", "list", "--status", "ended", "--limit", "1", "--json").json["runs"]
    assert [each["id"] for each in listed] == [run_id]
    assert listed[0].keys() == documented("runs list")["runs"][0].keys()
    shown = cli("runs", "show", run_id[:12], "--steps", "--json").json
    assert shown.keys() == documented("runs show").keys()
    assert [step["number"] for step in shown["steps"]] == [*range(1, len(shown["steps"]) + 1)]
    assert shown["steps"][0].keys() == documented("runs show")["steps"][0].keys()
    told = cli("runs", "show", run_id, "--steps").out
    assert "call  read_file a.txt  ok" in told
    assert "    It says hello." in told


@pytest.mark.parametrize(
    ("limit", "code", "told"),
    [(("--turns", "1"), 5, "max turns"), (("--tokens", "100"), 6, "budget exhausted")],
)
def test_a_limit_ends_it_with_a_code_of_its_own(
    cli: Cli, limit: tuple[str, str], code: int, told: str
) -> None:
    ran = cli("run", "say it", "--profile", "read_only", *limit)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err


def test_what_writes_waits_and_the_command_ends_where_nobody_can_decide(
    cli: Cli, server: RunServer, work: Path
) -> None:
    server.answers = WRITES
    ran = cli("run", "write a note")
    assert (ran.code, ran.out) == (7, "")
    assert "◆ write_file path=note.txt content=hello waits for you" in ran.err
    item = re.search(r"`synthorg-tui proposals show (\S+)`", ran.err)
    assert item
    assert cli("proposals", "show", item[1]).code == 0
    assert not (work / "note.txt").exists()
    run_id = cli("runs", "list", "--status", "parked", "--json").json["runs"][0]["id"]
    again = cli("runs", "resume", run_id)
    assert (again.code, "It waits for you." in again.err) == (7, True)
    stopped = cli("runs", "cancel", run_id)
    assert (stopped.code, stopped.out) == (0, f"{run_id}: stopped\n")
    assert cli("runs", "list", "--status", "parked").out.startswith("No agent ran here.")


def at_a_terminal(
    work: Path, store: Path, *arguments: str, answers: dict[str, object]
) -> tuple[int, str]:
    env = without_marks(
        HOME=str(work), SYNTHORG_CONFIG=str(work / "company.yaml"), PYTHONPATH=str(REPO)
    )
    program = ["-m", "synthorg_tui", "--data-dir", str(store), *arguments]
    ran = at_terminal(program, env=env, answers=answers)  # type: ignore[arg-type]
    return ran.code, ran.screen


@files_only
def test_who_sits_at_the_terminal_refuses_right_there(
    cli: Cli, server: RunServer, store: Path, work: Path
) -> None:
    server.answers = WRITES
    code, screen = at_a_terminal(
        work, store, "run", "write a note", "--workspace", str(work),
        answers={"leave it waiting:": "no\n", "The agent is told:": "not there\n"},
    )  # fmt: skip
    assert code == 0
    assert "It is written." in screen  # the scripted model takes its leave for granted
    assert not (work / "note.txt").exists()


@files_only
@pytest.mark.parametrize("has_hash", [True, False])
def test_what_waits_is_approved_right_there_by_the_hash_of_what_is_shown(
    cli: Cli, server: RunServer, store: Path, work: Path, has_hash: bool
) -> None:
    server.answers = WRITES
    run = cli("run", "write a note", "--workspace", str(work), "--json").json
    shown = cli("proposals", "show", run["item"], "--json").json
    typed = shown["hash"] if has_hash else "0" * len(shown["hash"])
    code, _ = at_a_terminal(
        work, store, "runs", "resume", run["id"], answers={"leave it waiting:": f"{typed}\n"}
    )
    assert code == (0 if has_hash else 7)
    assert (work / "note.txt").exists() == has_hash
    assert cli("runs", "show", run["id"], "--json").json["status"] == (
        "ended" if has_hash else "parked"
    )
    cli("runs", "cancel", run["id"])


@files_only
def test_unattended_runs_after_a_yes_only(
    cli: Cli, server: RunServer, store: Path, work: Path
) -> None:
    server.answers = WRITES
    asked = ("run", "write a note", "--profile", "unattended", "--workspace", str(work))
    assert at_a_terminal(work, store, *asked, answers={"[y/N]": "n\n"})[0] != 0
    assert not (work / "note.txt").exists()
    code, screen = at_a_terminal(work, store, *asked, answers={"[y/N]": "y\n"})
    assert code == 0, screen
    assert (work / "note.txt").read_text() == "hello\n"


def test_an_agent_starts_what_only_reads_and_nothing_else(
    cli: Cli, server: RunServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = WRITES
    parked = cli("run", "x", "--json").json["id"]
    monkeypatch.setenv("CLAUDECODE", "1")
    for arguments in (
        ("run", "x"),
        ("run", "x", "--profile", "unattended"),
        ("runs", "resume", parked),
        ("runs", "cancel", parked),
    ):
        refused = cli(*arguments)
        assert refused.code == 1
        assert "only a person decides" in refused.err
    assert cli("run", "x", "--profile", "read_only").code == 0
    monkeypatch.delenv("CLAUDECODE")
    assert cli("runs", "cancel", parked).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("run", " "), 2, "the task is empty"),
        (("run", "x", "--workspace", "/nowhere/at/all"), 2, "there is no folder"),
        (("run", "x", "--executor", "dance", "--profile", "read_only"), 1, "no executor 'dance'"),
        (("runs", "show", "zzz"), 1, "there is no run 'zzz'"),
        (("runs", "cancel", "zzz"), 1, "there is no run 'zzz'"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    cli: Cli, arguments: tuple[str, ...], code: int, told: str
) -> None:
    refused = cli(*arguments)
    assert refused.code == code
    assert told in refused.err


def test_ctrl_c_stops_the_run_and_keeps_its_record(cli: Cli, server: RunServer) -> None:
    server.goes_on.clear()
    interrupter = threading.Thread(target=_interrupt_once_asked, args=(server,))
    interrupter.start()
    stopped: Result = cli("run", "say it", "--profile", "read_only")
    interrupter.join()
    assert stopped.code == 130
    assert "stopping; what is done is kept" in stopped.err
    assert "stopped: cancelled" in stopped.err
    (run,) = cli("runs", "list", "--limit", "1", "--json").json["runs"]
    assert (run["status"], run["reason"]) == ("ended", "shutdown")


def _interrupt_once_asked(server: RunServer) -> None:
    assert server.asked.wait(PATIENCE)
    os.kill(os.getpid(), signal.SIGINT)
