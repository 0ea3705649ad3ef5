"""How a program starts and ends."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pydantic.plugin._loader import get_plugins

from synthorg_tui.core.process_setup import ending, give_back_code, started, starting


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "")
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_a_program_that_is_open_looks_for_garbage_as_often_as_python_does() -> None:
    usual = (700, 10, 10)
    starting()
    assert gc.get_threshold() > usual
    started()
    assert gc.get_threshold() == usual


def test_whoever_chose_how_often_keeps_the_choice() -> None:
    gc.set_threshold(1234, 5, 6)
    started()
    assert gc.get_threshold() == (1234, 5, 6)


def test_no_plugins_are_looked_for() -> None:
    starting()
    assert not list(get_plugins())


def test_what_start_up_made_is_not_looked_through_until_the_end() -> None:
    started()
    assert gc.get_freeze_count() > 0
    ending()
    assert gc.get_freeze_count() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked to")
def test_code_leaves_memory_and_is_back_when_it_is_run() -> None:
    def mapped() -> int:
        told = Path("/proc/self/status").read_text(encoding="utf-8").split("RssFile:")[1]
        return int(told.split()[0])

    question = "SELECT sum(n) FROM range(1000) t(n)"
    with duckdb.connect() as db:
        answer = db.execute(question).fetchall()
        before = mapped()
        give_back_code()
        assert mapped() < before
        assert db.execute(question).fetchall() == answer
