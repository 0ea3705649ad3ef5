"""When garbage is looked for."""

import gc
from collections.abc import Iterator

import pytest

from synthorg_tui.core.garbage import collect_again, collect_seldom, let_go


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_a_program_that_is_open_looks_for_garbage_as_often_as_python_does() -> None:
    usual = (700, 10, 10)
    collect_seldom()
    assert gc.get_threshold() > usual
    collect_again()
    assert gc.get_threshold() == usual


def test_whoever_chose_how_often_keeps_the_choice() -> None:
    gc.set_threshold(1234, 5, 6)
    collect_again()
    assert gc.get_threshold() == (1234, 5, 6)


def test_what_start_up_made_is_not_looked_through_until_the_end() -> None:
    collect_again()
    assert gc.get_freeze_count() > 0
    let_go()
    assert gc.get_freeze_count() == 0
