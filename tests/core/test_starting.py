"""How a program starts and ends."""

import gc
from collections.abc import Iterator

import pytest
from pydantic.plugin._loader import get_plugins

from synthorg_tui.core.process_setup import ending, started, starting


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
