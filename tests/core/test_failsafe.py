"""What a call that may fail costs its caller: a log record and a note, unless it is fatal."""

import builtins
import logging

import pytest

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import safely, surviving
from tests.tables import rows


def test_what_succeeds_leaves_nothing_to_say() -> None:
    with surviving("the search") as failure:
        pass
    assert (failure.error, failure.note) == (None, "")


@pytest.mark.parametrize(
    ("error", "level", "note"),
    [
        (DomainError("no index"), logging.WARNING, "the search failed: no index"),
        (OSError("a secret"), logging.ERROR, "the search failed unexpectedly (OSError)"),
    ],
)
def test_a_failure_is_logged_and_noted(
    error: Exception, level: int, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    with surviving("the search") as failure:
        raise error
    assert (failure.error, failure.note) == (error, note)
    assert [record.levelno for record in caplog.records] == [level]


@rows("fatal", [builtins.MemoryError(), RecursionError()])
def test_what_is_fatal_is_raised_bare_however_deep_it_is_grouped(fatal: Exception) -> None:
    for error in (fatal, ExceptionGroup("a", [ExceptionGroup("b", [OSError(), fatal])])):
        with pytest.raises(type(fatal)), surviving("the search"):
            raise error


async def test_a_call_that_fails_gives_nothing_and_a_note() -> None:
    async def fails() -> int:
        raise DomainError("no index")

    notes: list[str] = []
    assert await safely(fails(), what="the search", notes=notes) is None
    assert notes == ["the search failed: no index"]
