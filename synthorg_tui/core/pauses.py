"""Pause points: where long work lets whoever waits for an answer go first.

Work that nobody waits for calls ``pause_point`` between two steps, holding no lock: whoever runs it
decides with ``pausing`` whether it goes on at once. Elsewhere a pause point does nothing, so that
the same work runs without delay when a person asked for it.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

Pause: TypeAlias = Callable[[], Awaitable[None]]
"""Returns when the work may go on; raises to end it."""

_PAUSE: Final[ContextVar[Pause | None]] = ContextVar("pause", default=None)


async def pause_point() -> None:
    """Return when the work may go on: at once unless it runs within ``pausing``."""
    pause = _PAUSE.get()
    if pause is not None:
        await pause()


@contextmanager
def pausing(pause: Pause) -> Iterator[None]:
    """Inside the ``with``, and in tasks begun there, have each pause point await ``pause``."""
    token = _PAUSE.set(pause)
    try:
        yield
    finally:
        _PAUSE.reset(token)
