"""The engine of another process, for looking only.

What reads is asked of the owner; what would change anything is refused here, before it is asked. A
second app looks through this while the first one has the store.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.host.calls import CALLS

if TYPE_CHECKING:
    from synthorg_tui.host.client import RemoteEngine
    from synthorg_tui.settings.root import RootConfig

_GROUPS: Final = frozenset(name.partition(".")[0] for name in CALLS)


class ReadOnlyHereError(DomainError):
    """The store can only be looked at here; another process changes it."""


class ReadingEngine:
    """An engine with the reading calls of a remote one; all others raise ``ReadOnlyHereError``.

    ``why`` says who has the store open. ``events`` emits nothing: the owner tells only agents.
    """

    def __init__(self, remote: "RemoteEngine", data_dir: Path, why: str) -> None:
        self._remote = remote
        self._why = why
        self.data_dir = data_dir
        self.settings: RootConfig = remote.settings
        self.events = Events()
        self.agents = remote.agents

    def __getattr__(self, group: str) -> "ReadingGroup":
        if group not in _GROUPS:
            raise AttributeError(group)
        return ReadingGroup(getattr(self._remote, group), CALLS.reads(group), self._why)


class ReadingGroup:
    """One group of calls, of which only those in ``reads`` are made."""

    def __init__(self, group: object, reads: tuple[str, ...], why: str) -> None:
        self._group = group
        self._reads = reads
        self._why = why

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name in self._reads:
            call: Callable[..., Awaitable[Any]] = getattr(self._group, name)
            return call

        async def refuse(*_: object, **__: object) -> None:
            raise ReadOnlyHereError(
                f"Read-only here: the store is {self._why}.",
                remedy="Change it there, or close that one: this one takes over.",
            )

        return refuse
