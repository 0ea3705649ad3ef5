"""What commands share: confirmation by a person, and Ctrl-C as a request."""

import asyncio
import io
import os
import signal
import sys
from argparse import Namespace

import pytest

from synthorg_tui.cli import context as cli_context
from synthorg_tui.cli.context import Context, cancelled_by_signal
from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.output import Console
from tests.patience import PATIENCE


def asked(
    monkeypatch: pytest.MonkeyPatch, answer: str, *, yes: bool = False, word: str = ""
) -> None:
    monkeypatch.setattr(cli_context, "_is_interactive", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    Context(Namespace(yes=yes), Console(io.StringIO(), io.StringIO())).confirm("Sure?", word=word)


@pytest.mark.parametrize("answer", ["y\n", "yes\n", "Y\n"])
def test_a_yes_goes_on(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    asked(monkeypatch, answer)


@pytest.mark.parametrize("answer", ["\n", "n\n", "no\n", "", "yep\n"])
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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
            await asyncio.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        await job()
