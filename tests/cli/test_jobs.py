"""``jobs``: what runs by itself, run and stopped without a screen, beside an owner and alone."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.engine import Engine
from synthorg_tui.host.client import remote_engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.jobs.models import RunProgress, RunState
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.settings.root import RootConfig
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.patience import PATIENCE
from tests.postgres_switch import files_only

SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    move_home(monkeypatch, tmp_path)
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    return runner(tmp_path / "data", capsys)


@files_only
def test_jobs_are_listed_run_and_their_runs_told(cli: Cli) -> None:
    listed = cli("jobs")
    assert listed.code == 0
    assert re.search(r"^backup +hourly +not yet +due$", listed.out, re.MULTILINE)
    assert re.search(r"^sessions +never +not yet +–$", listed.out, re.MULTILINE)
    jobs = cli("jobs", "list", "--json").json["jobs"]
    assert {tuple(job) for job in jobs} == {tuple(documented("jobs list")["jobs"][0])}
    assert cli("memories", "add", "Ports are 6543.", "--agent", "ada").code == 0
    ran = cli("jobs", "run", "backup")
    assert ran.code == 0
    assert re.fullmatch(r"backup: \S+-daily.duckdb, \S+ MB; 1 daily copy kept\n", ran.out)
    again = cli("jobs", "run", "backup", "--json")
    assert (again.code, again.json["state"]) == (0, "nothing")
    assert again.json.keys() == documented("jobs run").keys()
    runs = cli("jobs", "log", "backup", "--json").json["runs"]
    assert [run["state"] for run in runs] == ["nothing", "done"]
    assert documented("jobs log")["runs"][0].keys() == runs[0].keys()
    assert len(cli("jobs", "log", "--limit", "1", "--json").json["runs"]) == 1
    assert "started" in cli("jobs", "log").out


def test_a_failed_job_is_told_and_kept(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_: Maintenance, **__: object) -> None:
        raise OSError("the folder is gone")

    monkeypatch.setattr(Maintenance, "back_up_daily", broken)
    ran = cli("jobs", "run", "backup")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: backup failed: OSError")
    assert cli("jobs", "run", "backup", "--json").json["state"] == "failed"


@pytest.mark.parametrize("arguments", [("run", "dance"), ("cancel", "dance"), ("log", "dance")])
def test_an_unknown_job_is_refused_with_those_there_are(
    cli: Cli, arguments: tuple[str, ...]
) -> None:
    refused = cli("jobs", *arguments)
    assert refused.code == 1
    assert "there is no job 'dance'. There are imports, learning, rules, backup," in refused.err


def test_an_agent_runs_and_stops_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    for arguments in (("run", "backup"), ("cancel",)):
        refused = cli("jobs", *arguments)
        assert refused.code == 1
        assert "only a person" in refused.err
    assert cli("jobs").code == 0


def test_nothing_is_stopped_where_nothing_runs(cli: Cli) -> None:
    stopped = cli("jobs", "cancel", "--json")
    assert (stopped.code, stopped.json) == (1, {"stopped": []})
    assert stopped.json.keys() == documented("jobs cancel").keys()


async def test_beside_an_owner_it_is_the_owner_that_runs_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, told = threading.Event(), list[RunProgress]()

    async def endless(_: Maintenance, *, cancel: threading.Event, **__: object) -> None:
        begun.set()
        await asyncio.to_thread(cancel.wait)

    monkeypatch.setattr(Maintenance, "back_up_daily", endless)
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        owner = Owner(engine, data_dir=tmp_path, kind="app")
        await owner.start()
        async with (
            remote_engine(tmp_path, SETTINGS, role="command") as one,
            remote_engine(tmp_path, SETTINGS, role="command") as other,
        ):
            running = asyncio.create_task(one.jobs.run("backup", progress=told.append))
            await asyncio.to_thread(begun.wait)
            (listed,) = [job for job in await other.jobs.list() if job.running]
            assert listed.name == "backup"
            assert await other.jobs.cancel("backup") == ("backup",)
            assert (await running).state is RunState.CANCELLED
            assert told
        await owner.stop()


def endless_backup(data_dir: Path) -> "subprocess.Popen[str]":
    """A process in the middle of a backup that never ends."""
    program = (
        "import asyncio, sys\n"
        "from synthorg_tui.memory.store.maintenance import Maintenance\n"
        "async def endless(self, **_):\n"
        "    print('begun', flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "Maintenance.back_up_daily = endless\n"
        "from synthorg_tui.cli import main\n"
        f"sys.exit(main(['--data-dir', {str(data_dir)!r}, 'jobs', 'run', 'backup', '--json']))\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={"HOME": str(data_dir), "PATH": "/usr/bin:/bin"},
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "begun\n"
    return running


def test_ctrl_c_stops_it_and_it_is_kept_as_stopped(tmp_path: Path) -> None:
    running = endless_backup(tmp_path)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert json.loads(out)["state"] == "cancelled"


@files_only
def test_one_that_was_killed_is_shown_as_interrupted_and_due(cli: Cli, tmp_path: Path) -> None:
    with endless_backup(tmp_path / "data") as running:
        running.kill()
    (run,) = cli("jobs", "log", "--json").json["runs"]
    assert (run["job"], run["state"]) == ("backup", "interrupted")
    assert run["told"] == "the program ended while it ran"
    assert re.search(r"^backup +hourly .*interrupted: .* due$", cli("jobs").out, re.MULTILINE)
