"""``watch`` beside a process that follows by itself, and what an import says it left out."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pytest

from synthorg_tui.host.endpoint import socket_path
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.ingest.test_import_service import session
from tests.patience import PATIENCE
from tests.postgres_switch import files_only

RUN = [sys.executable, "-m", "synthorg_tui"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    move_home(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(home / "data", capsys)


@contextmanager
def started(*command: str) -> Iterator["subprocess.Popen[str]"]:
    """A command in a process of its own, ended with Ctrl-C."""
    pipe = subprocess.PIPE
    environ = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*RUN, *command], stdout=pipe, stderr=pipe, text=True, env=environ
    ) as done:
        try:
            yield done
        finally:
            done.send_signal(signal.SIGINT)
            done.wait(PATIENCE)


def lines_of(process: "subprocess.Popen[str]") -> "Queue[str]":
    """What the process prints, a line each."""
    lines: Queue[str] = Queue()
    out = process.stdout
    assert out is not None

    def read() -> None:
        for line in out:
            lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    return lines


@files_only
def test_watch_says_that_the_owner_follows_and_shows_what_comes(cli: Cli, home: Path) -> None:
    place = home / ".claude" / "projects" / "spotter"
    session(1).write(place / "1.jsonl")
    assert cli("import").code == 0
    data = ["--data-dir", str(home / "data")]
    with started(*data, "serve") as owner:
        assert owner.stderr is not None
        assert "serving" in owner.stderr.readline()
        assert Path(socket_path(home / "data")).exists()
        with started(*data, "watch", "--json") as watch:
            assert watch.stderr is not None
            said = watch.stderr.readline()
            number = 2
            lines = lines_of(watch)
            report = ""
            while not report and number < PATIENCE:  # it follows a moment after it serves
                session(number).write(place / f"{number}.jsonl")
                number += 1
                try:
                    report = lines.get(timeout=3)
                except Empty:
                    continue
        assert watch.returncode == 130
    assert f"the owner of the store (process {owner.pid}) imports by itself already" in said
    assert json.loads(report).keys() == documented("import").keys()


def test_what_is_expected_to_be_left_out_is_one_quiet_count(cli: Cli, home: Path) -> None:
    for number in range(3):
        path = home / "in" / f"empty-{number}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (home / "in" / "strange.jsonl").write_text('{"hello": 1}\n')
    told = cli("import", str(home / "in")).err
    assert "3 files left out: empty" in told
    assert "empty-1" not in told
    assert "strange.jsonl: not a transcript of a known agent" in told
    data = cli("--json", "import", str(home / "in")).json
    assert len(data["skipped"]) == 4
