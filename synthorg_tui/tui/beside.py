"""A second terminal beside the app that owns the store: it shows everything and changes nothing.

The first one answers over its socket as it answers commands. When it leaves, this one takes the
store over.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from synthorg_tui.tui.digest.adapter import EngineDigests
from synthorg_tui.tui.engine_adapter import EngineAdapter
from synthorg_tui.tui.safety import EngineSafety
from synthorg_tui.tui.skills.adapter import EngineSkills

if TYPE_CHECKING:
    from collections.abc import Callable

    from synthorg_tui.engine import Engine
    from synthorg_tui.settings.safety import Loosened


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
