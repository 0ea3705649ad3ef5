"""Calls that may fail without taking the agent's turn with them.

The one place that catches whatever a part raises: it logs the failure, lets the caller go on, and
never swallows what is fatal. Where one kind of error is expected, catch that kind instead.
"""

import asyncio
import builtins
import logging
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from synthorg_tui.core.errors import DomainError

T = TypeVar("T")

_log = logging.getLogger(__name__)

FATAL = (builtins.MemoryError, RecursionError)
"""What no one may swallow."""


@dataclass(slots=True)
class Failure:
    """What a block raised; ``error`` is ``None`` when it succeeded."""

    what: str
    error: Exception | None = None

    @property
    def reason(self) -> str:
        """What an expected error says, else only its kind; empty without an error."""
        if self.error is None:
            return ""
        if isinstance(self.error, DomainError):
            return self.error.message
        return type(self.error).__name__

    @property
    def note(self) -> str:
        """The failure in words, without what an unexpected error says; empty without one."""
        if self.error is None:
            return ""
        if isinstance(self.error, DomainError):
            return f"{self.what} failed: {self.reason}"
        return f"{self.what} failed unexpectedly ({self.reason})"


@contextmanager
def surviving(what: str, log: logging.Logger = _log) -> Iterator[Failure]:
    """Run the block and go on after it, whatever it raises.

    Expected failures are logged as warnings, others as errors with their traceback. The builtin
    ``MemoryError`` and ``RecursionError`` are raised bare, even out of a group of exceptions.
    """
    failure = Failure(what)
    try:
        yield failure
    except DomainError as error:
        failure.error = error
        log.warning("%s failed: %s", what, error.message)
    except Exception as error:
        raise_fatal(error)
        failure.error = error
        log.exception("%s failed", what)


async def safely(call: Awaitable[T], *, what: str, notes: list[str]) -> T | None:
    """The result, or ``None`` and a note when the call fails."""
    with surviving(what) as failure:
        return await call
    notes.append(failure.note)
    return None


async def together(*calls: Coroutine[Any, Any, T]) -> list[T]:
    """The results of calls that run at the same time; a fatal failure is raised bare."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise_fatal(failures)
        raise
    return [task.result() for task in tasks]


def raise_fatal(error: BaseException) -> None:
    """Raise what is fatal in ``error``, however deep it is grouped; else do nothing."""
    if isinstance(error, FATAL):
        raise error from None
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            raise_fatal(inner)
