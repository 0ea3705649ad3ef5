"""The safety settings that the person has agreed to, as the store remembers them.

A program of the same user can write the person's settings file. So what is stricter in it holds at
once, but what is looser holds only when the person has taken it in the app; until then the store's
value does, wherever the store is opened.
"""

import json
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.actors import agent_in
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.types import warn
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.persistence.settings_kv import get_facts, kept_settings, put_facts
from synthorg_tui.settings.environment import default_config_file
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.settings.safety import (
    SAFETY,
    Loosened,
    SafetyValues,
    loosened,
    strictest,
    values_of,
    with_values,
)

if TYPE_CHECKING:
    from synthorg_tui.approvals.person import Person

_PREFIX: Final = "safety:"
_SEEN: Final = "the settings file"

_log = logging.getLogger(__name__)


class AgreedSettings:
    """What the person agreed to, and what their settings file says beyond that.

    ``own`` are the safety settings of the person's own file; ``None`` for settings made by a
    program, which nothing is compared with.
    """

    def __init__(self, database: StoreDatabase, own: SafetyValues | None, *, clock: Clock) -> None:
        self._database = database
        self._own = own
        self._clock = clock

    async def agreed(self) -> dict[str, Any]:
        """Return what the person agreed to, by the setting's path; empty before the first start."""
        return await self._database.read(_agreed)

    async def loosened(self) -> tuple[Loosened, ...]:
        """Return what is looser in the person's file, and isn't taken."""
        return () if self._own is None else loosened(self._own, await self.agreed())

    async def take(self, accepted: tuple[Loosened, ...], person: "Person") -> None:
        """Remember that a person agreed to these values; they hold from the next start on.

        Raises ``DecisionRefusedError`` for anybody but a person at the app.
        """
        from synthorg_tui.approvals.models import DecisionRefusedError
        from synthorg_tui.approvals.person import Person

        if not isinstance(person, Person) or person.via != "tui":
            raise DecisionRefusedError("only a person at the app makes safety settings looser")
        values = {found.path: found.wanted for found in accepted}
        await self._put(values, by=str(person))

    async def settle(
        self, agreed: SafetyValues, *, environ: Mapping[str, str] = os.environ
    ) -> SafetyValues:
        """Compare the person's file with what is ``agreed``, and return what holds.

        What is stricter in the file, or new to this store, is agreed to with that. Not so in an
        agent's environment, where the file may be one that the agent put there.
        """
        own = self._own or {}
        if agent_in(environ) is not None:
            new = {path: value for path, value in own.items() if path not in agreed}
            return strictest(own, agreed, {path: _SHIPPED[path] for path in new})
        found = {
            path: value
            for path, value in strictest(own, agreed).items()
            if path not in agreed or agreed[path] != value
        }
        if found:
            await self._put(found, by=_SEEN)
        return {**agreed, **found}

    async def _put(self, values: SafetyValues, *, by: str) -> None:
        at = self._clock.now().isoformat()
        facts = {
            _PREFIX + path: json.dumps({"value": value, "by": by, "at": at})
            for path, value in values.items()
        }
        await self._database.write(lambda db: put_facts(db, facts))


async def hold(settings: RootConfig, database: StoreDatabase, *, clock: Clock) -> RootConfig:
    """Return the settings with what the store keeps and the safety settings that hold for it.

    Warns of values that don't hold. Settings that a program made are returned as they are.
    """
    if settings.own_safety is None:
        return settings
    kept, agreed = await database.read(lambda db: (kept_settings(db), _agreed(db)))
    if kept:
        from synthorg_tui.settings.kept import taking_kept

        settings = taking_kept(settings, kept)
    held = await AgreedSettings(database, settings.own_safety, clock=clock).settle(agreed)
    for found in loosened(values_of(settings), held):
        warn(found.path, found.wanted, not_taken(found, settings))
        settings = with_values(settings, {found.path: found.holds})
    return settings


def not_taken(found: Loosened, settings: RootConfig) -> str:
    """Return why a looser value of the settings doesn't hold, and what does, for a warning."""
    is_kept = settings.layers is not None and found.path in settings.layers.kept
    where = "kept in the app" if is_kept else f"in {default_config_file()}"
    return (
        f"{said(found.wanted)} {where} is not taken yet; {said(found.holds)} "
        "holds until you say yes when the app opens"
    )


def said(value: object) -> str:
    """Return a value as it is written in the settings file."""
    return value if isinstance(value, str) else json.dumps(value)


_SHIPPED: Final = values_of(shipped_settings())


def _agreed(db: Connection) -> dict[str, Any]:
    """What is stored and still a value of its setting; what isn't counts as never agreed to."""
    found: dict[str, Any] = {}
    for name, text in get_facts(db, _PREFIX).items():
        path = name.removeprefix(_PREFIX)
        try:
            value = json.loads(text)["value"]
            SAFETY[path].strictness(value)
        except (ValueError, KeyError, TypeError):
            _log.warning("the stored %s is no value of a setting", name)
            continue
        found[path] = value
    return found
