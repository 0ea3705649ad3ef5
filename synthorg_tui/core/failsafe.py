"""Calls that may fail without taking the agent's turn with them."""

import asyncio
import builtins
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from synthorg_tui.core.errors import DomainError

T = TypeVar("T")

_log = logging.getLogger(__name__)

FATAL = (builtins.MemoryError, RecursionError)
"""What no one may swallow."""


async def safely(call: Awaitable[T], *, what: str, notes: list[str]) -> T | None:
    """The result, or ``None`` and a note when the call fails.

    Expected failures are logged as warnings, others as errors. The builtin ``MemoryError`` and
    ``RecursionError`` are raised bare, even out of a group of exceptions.
    """
    try:
        return await call
    except FATAL:
        raise
    except DomainError as error:
        _log.warning("%s failed: %s", what, error.message)
        notes.append(f"{what} failed: {error.message}")
    except Exception as error:
        raise_fatal(error)
        _log.exception("%s failed", what)
        notes.append(f"{what} failed unexpectedly ({type(error).__name__})")
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
        for each in error.exceptions:
            raise_fatal(each)
