"""Gives the running services settings that changed, as far as they can take them without a restart.

``_MIRRORS`` is the whole list of what holds at once; anything else holds from the next start on.
A service that isn't built yet is built with the new values, so it is asked nothing.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from synthorg_tui.settings.agreed import AgreedSettings
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.settings.safety import loosened, values_of, with_values

if TYPE_CHECKING:
    from synthorg_tui.persistence.repositories import SettingsRepository
    from synthorg_tui.settings.changes import SettingChanges
    from synthorg_tui.wiring.foundation import Foundation

Services = Mapping[str, Any]
"""The services that are built already, by their names in the engine."""
Mirror = Callable[[Services, RootConfig, RootConfig], bool]
"""Gives services the wanted settings; the first settings are those of the start. ``False`` when
they can't be taken without a restart."""


def _injection(services: Services, started: RootConfig, wanted: RootConfig) -> bool:
    if (injection := services.get("injection")) is not None:
        injection.mirror(wanted.memory, wanted.own_settings())
    return True


def _read_each_time(services: Services, started: RootConfig, wanted: RootConfig) -> bool:
    return True


def _consolidation(services: Services, started: RootConfig, wanted: RootConfig) -> bool:
    is_on = wanted.memory.consolidation.enabled
    if is_on and not started.memory.consolidation.enabled:
        return False  # its job was made as one that never runs
    if (runs := services.get("consolidation")) is not None:
        runs.mirror(is_on)
    return True


def _following(services: Services, started: RootConfig, wanted: RootConfig) -> bool:
    if wanted.ingest.follow and not started.ingest.follow:
        return False  # its job was made as one that never runs
    if (following := services.get("following")) is not None:
        following.mirror(wanted.ingest.follow)
    return True


def _writes(services: Services, started: RootConfig, wanted: RootConfig) -> bool:
    writes = wanted.agent_access.writes
    if writes not in ("off", started.agent_access.writes):
        return False  # the tools were built for another way of writing
    if (gateway := services.get("gateway")) is not None:
        gateway.mirror(writes)
    return True


_MIRRORS: Final[Mapping[str, Mirror]] = {
    "memory.injection_enabled": _injection,
    "memory.retrieval": _injection,
    "memory.v1": _injection,
    "memory.self_editing": _injection,
    "memory.options.shared_knowledge_base": _injection,
    "memory.procedural.enabled": _read_each_time,
    "memory.procedural.evolver": _read_each_time,
    "memory.consolidation.enabled": _consolidation,
    "ingest.follow": _following,
    "agent_access.writes": _writes,
    "runtime.enabled": _read_each_time,
}
_ONLY_AT_START: Final = frozenset(
    {"memory.retrieval.rerank_cache_ttl_seconds", "memory.procedural.evolver.enabled"}
)
"""Settings below one in ``_MIRRORS`` that are read when a service is built."""


class Mirrors:
    """Replaces the settings that the services run with.

    ``attributes`` are the engine's: the services that are built, and its ``settings``.
    """

    def __init__(self, base: "Foundation", attributes: MutableMapping[str, Any]) -> None:
        self._base = base
        self._attributes = attributes
        self._started = base.settings

    async def apply(self, wanted: RootConfig) -> RootConfig:
        """Give the services what they can take of the wanted settings; return what they run with.

        A safety setting that is looser than what the person agreed to isn't taken.
        """
        base = self._base
        agreed = AgreedSettings(base.database, wanted.own_safety, clock=base.clock)
        held = await agreed.agreed()
        for found in loosened(values_of(wanted), held):
            wanted = with_values(wanted, {found.path: found.holds})
        waiting = self._waiting(wanted)
        back = {path: _at(base.settings, path) for path in waiting}
        base.settings = self._attributes["settings"] = with_values(wanted, back)
        return base.settings

    def _waiting(self, wanted: RootConfig) -> list[str]:
        """The settings that differ and have to wait, after giving the services the others."""
        waiting: list[str] = []
        taken: dict[Mirror, bool] = {}
        for path in differing(self._base.settings, wanted):
            mirror = None if path in _ONLY_AT_START else _mirror_of(path)
            if mirror is not None and mirror not in taken:
                taken[mirror] = mirror(self._attributes, self._started, wanted)
            if mirror is None or not taken[mirror]:
                waiting.append(path)
        return waiting


def build_kept(
    base: "Foundation", repository: "SettingsRepository", attributes: MutableMapping[str, Any]
) -> "SettingChanges":
    """Build the service by which a person changes settings.

    ``attributes`` are the engine's: the services built so far, and ``settings``, which is replaced.
    """
    from synthorg_tui.settings.changes import SettingChanges

    apply = Mirrors(base, attributes).apply
    return SettingChanges(repository, base.database, base.clock, lambda: base.settings, apply)


def holds_at_once(path: str) -> bool:
    """Return whether a change of a setting holds without a restart, as a rule."""
    return path not in _ONLY_AT_START and _mirror_of(path) is not None


def differing(one: BaseModel, other: BaseModel, at: str = "") -> list[str]:
    """Return the paths of the settings in which two settings differ, or of whole sections.

    A section is named as a whole where it is of another kind in the two.
    """
    found = []
    for name in type(one).model_fields:
        path = f"{at}.{name}" if at else name
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, BaseModel) and type(mine) is type(theirs):
            found += differing(mine, theirs, path)
        elif mine != theirs:
            found.append(path)
    return found


def _at(section: Any, path: str) -> Any:
    for name in path.split("."):
        section = getattr(section, name)
    return section


def _mirror_of(path: str) -> Mirror | None:
    """The mirror of a setting, or of the section it is in."""
    while path:
        if path in _MIRRORS:
            return _MIRRORS[path]
        path = path.rpartition(".")[0]
    return None
