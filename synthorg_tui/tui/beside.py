"""A second terminal beside the app that owns the store: it shows everything and changes nothing.

The first one answers over its socket as it answers commands. When it leaves, this one takes the
store over.
"""

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.tui.digest.adapter import EngineDigests
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.tui.safety import EngineSafety
from synthorg_tui.tui.skills.adapter import EngineSkills

if TYPE_CHECKING:
    from collections.abc import Callable

    from synthorg_tui.engine import Engine
    from synthorg_tui.host.client import OwnerConnection
    from synthorg_tui.settings.safety import Loosened


class SharingHost(LocalEngineHost):
    """Opens the store; where another app has it, opens a read-only view of it."""

    _connection: "OwnerConnection | None" = None

    async def open(self) -> EngineAdapter:
        """Open the engine, or look along; raises what ``LocalEngineHost.open`` raises."""
        try:
            return await super().open()
        except StoreLockedError as error:
            with suppress(DomainError, OSError):
                return await self._look_along()
            raise error from None

    async def _look_along(self) -> EngineAdapter:
        from synthorg_tui.host.client import RemoteEngine, connect
        from synthorg_tui.host.reading import ReadingEngine
        from synthorg_tui.persistence.lock import holder
        from synthorg_tui.settings.loader import load_settings

        settings = load_settings(self._config_path)
        data_dir = self._data_dir or Path(settings.memory.storage.data_dir)
        self._connection = await connect(data_dir, role="reader")
        self._stack.push_async_callback(self._connection.close)
        why = f"open in another terminal ({holder(data_dir)})"
        engine = ReadingEngine(RemoteEngine(self._connection, settings), data_dir, why)
        self.read_only = f"read-only: {why}"
        self._desk = ReadingAdapter(cast("Engine", engine))
        return self._desk

    async def owner_left(self) -> None:
        """Return once the app that has the store open leaves it; at once if none has it."""
        if self._connection is not None:
            await self._connection.ended()

    async def close(self) -> None:
        await super().close()
        self._connection, self.read_only = None, ""


class ReadingAdapter(EngineAdapter):
    """The desk of a store that another app has open; changes raise ``DomainError``."""

    def __init__(self, engine: "Engine") -> None:
        super().__init__(engine)
        self.digests = ReadingDigests(engine)

    @cached_property
    def skills(self) -> EngineSkills:
        """The skills; the other app watches their folders."""
        return ReadingSkills(self._engine)

    @cached_property
    def safety(self) -> EngineSafety:
        """The safety settings; the other app asks about them."""
        return ReadingSafety(self._engine)


class ReadingSkills(EngineSkills):
    """Skills that nobody syncs from here."""

    async def sync(self) -> int:
        """Do nothing: the owner of the store does it."""
        return 0

    def watch(self, changed: "Callable[[int], None]") -> None:
        """Do nothing: the owner of the store does it."""


class ReadingSafety(EngineSafety):
    """Safety settings about which nothing is asked or remembered here."""

    async def loosened(self) -> "tuple[Loosened, ...]":
        """Return nothing: the owner of the store asks."""
        return ()

    async def told(self, last: int) -> None:
        """Remember nothing."""


class ReadingDigests(EngineDigests):
    """Digests whose tokens are counted in this process."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens, by the rule for agents whose model isn't known."""
        from synthorg_tui.memory.injection import DefaultTokenEstimator

        return DefaultTokenEstimator().estimate_tokens(text)
