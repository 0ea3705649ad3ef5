"""Calls that may fail without taking the agent's turn with them.

The one place that catches whatever a part raises: it logs the failure, lets the caller go on, and
never swallows what is fatal. Where one kind of error is expected, catch that kind instead.
"""

import asyncio
import builtins
import logging
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from synthorg_tui.core.errors import DomainError

T = TypeVar("T")

_log = logging.getLogger(__name__)

FATAL = (builtins.MemoryError, RecursionError)
"""What no one may swallow."""


@dataclass(slots=True)
class Failure:
    """Outcome of a block run under ``surviving``; ``error`` is ``None`` when the block succeeded.

    ``what`` names the operation for log records and messages.
    """

    what: str
    error: Exception | None = None

    @property
    def reason(self) -> str:
        """Short reason for the failure, or an empty string when there was no error.

        The message of a ``DomainError``; for any other exception only its class name, since its
        message may quote untrusted text.
        """
        if self.error is None:
            return ""
        if isinstance(self.error, DomainError):
            return self.error.message
        return type(self.error).__name__

    @property
    def note(self) -> str:
        """Sentence that says what failed and why, or an empty string when there was no error.

        The message of an unexpected exception is left out, since it may quote untrusted text.
        """
        if self.error is None:
            return ""
        if isinstance(self.error, DomainError):
            return f"{self.what} failed: {self.reason}"
        return f"{self.what} failed unexpectedly ({self.reason})"


@contextmanager
def surviving(what: str, log: logging.Logger = _log) -> Iterator[Failure]:
    """Context manager that logs any exception of its block instead of letting it propagate.

    It yields a ``Failure`` that holds the exception after the block. Expected failures
    (``DomainError``) are logged as warnings, all others as errors with a traceback. The builtin
    ``MemoryError`` and ``RecursionError`` are always raised, unwrapped if they were in an exception
    group; so are exceptions that don't derive from ``Exception``.
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
    """Await ``call`` and return its result; on failure append a note and return ``None``.

    Args:
        call: The operation to await.
        what: Name of the operation, for the log and the note.
        notes: List to which the description of a failure is appended.
    """
    with surviving(what) as failure:
        return await call
    notes.append(failure.note)
    return None


async def together(*calls: Coroutine[Any, Any, T]) -> list[T]:
    """Run coroutines concurrently and return their results in order.

    The first failure cancels the others. A fatal error (``MemoryError``, ``RecursionError``) is
    raised unwrapped instead of inside an exception group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise_fatal(failures)
        raise
    return [task.result() for task in tasks]


def first_error(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of an exception group, groups within it opened."""
    error = failures.exceptions[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error


def raise_fatal(error: BaseException) -> None:
    """Raise ``error`` if it is fatal, or the first fatal error nested in an exception group.

    Fatal are the exceptions in ``FATAL``. Return without raising when there is none.
    """
    if isinstance(error, FATAL):
        raise error from None
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            raise_fatal(inner)


@asynccontextmanager
async def background(*works: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run coroutines as tasks for the length of an ``async with``, then cancel them and wait.

    What they raise is ignored.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
