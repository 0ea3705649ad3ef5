"""What commands share: confirmation by a person, and Ctrl-C as a request."""

import asyncio
import io
import os
import signal
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from synthorg_tui.cli import context as cli_context
from synthorg_tui.cli.context import Context, cancelled_by_signal
from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.output import Console
from tests.cli.cli_kit import move_home, runner
from tests.disk_kit import disk_of
from tests.patience import PATIENCE
from tests.postgres_switch import files_only
from tests.tables import rows


def asked(
    monkeypatch: pytest.MonkeyPatch, answer: str, *, yes: bool = False, word: str = ""
) -> None:
    monkeypatch.setattr(cli_context, "_is_interactive", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    Context(Namespace(yes=yes), Console(io.StringIO(), io.StringIO())).confirm("Sure?", word=word)


@rows("answer", ["y\n", "yes\n", "Y\n"])
def test_a_yes_goes_on(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    asked(monkeypatch, answer)


@rows("answer", ["\n", "n\n", "no\n", "", "yep\n"])
def test_anything_else_changes_nothing(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    with pytest.raises(DeclinedError, match="nothing was changed"):
        asked(monkeypatch, answer)


def test_what_can_not_be_undone_needs_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, "purge\n", word="purge")
    for answer in ("y\n", "yes\n", "Purge\n"):
        with pytest.raises(DeclinedError):
            asked(monkeypatch, answer, word="purge")


def test_the_option_answers_for_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, "", yes=True, word="purge")


def test_without_a_person_nothing_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_context, "_is_interactive", lambda: False)
    with pytest.raises(UsageError, match="nobody is here"):
        Context(Namespace(yes=False), Console(io.StringIO(), io.StringIO())).confirm("Sure?")


@rows("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_first_signal_asks_the_job_to_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with cancelled_by_signal(Console(io.StringIO(), io.StringIO())) as cancellation:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(cancellation.stop.wait(), PATIENCE)
        assert cancellation.requested.is_set()
    assert signal.getsignal(number) is before


async def test_the_second_signal_interrupts() -> None:
    async def job() -> None:
        with cancelled_by_signal(Console(io.StringIO(), io.StringIO())) as cancellation:
            os.kill(os.getpid(), signal.SIGINT)
            await cancellation.stop.wait()
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        await job()


def test_a_disk_that_is_nearly_full_is_told_beside_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    move_home(monkeypatch, tmp_path)
    disk = disk_of(monkeypatch, free_mib=150)
    run = runner(tmp_path / "desk", capsys)
    told = run("memories", "list", "--json")
    assert (told.code, told.json["memories"]) == (0, [])
    assert told.err == "warning: disk nearly full · 150 MB free\n"
    disk.free = None
    assert run("memories", "list", "--json").err == ""


@files_only
def test_a_command_without_room_ends_with_words_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    move_home(monkeypatch, tmp_path)
    run = runner(tmp_path / "desk", capsys)
    run("memories", "list")
    disk = disk_of(monkeypatch, free_mib=3)
    for command in (["memories", "add", "--agent", "ada", "x"], ["backup"], ["reindex"]):
        told = run(*command)
        assert told.code == 1
        assert "The disk is nearly full: 3 MB are free" in told.err
        assert "Free some space" in told.err
    disk.free = None
    assert run("memories", "list", "--json").json["memories"] == []
