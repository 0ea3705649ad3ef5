"""Gives the running services settings that changed, as far as they can take them without a restart.

``_MIRRORS`` is the whole list of what holds at once; anything else holds from the next start on.
A service that isn't built yet is built with the new values, so it is asked nothing.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel

from synthorg_tui.settings.agreed import AgreedSettings
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.settings.safety import loosened, values_of, with_values

if TYPE_CHECKING:
    from synthorg_tui.persistence.repositories import SettingsRepository
    from synthorg_tui.settings.changes import SettingChanges
    from synthorg_tui.wiring.foundation import Foundation


class Mirror(NamedTuple):
    """How the engine's service named ``service`` takes changed settings without a restart.

    ``give`` hands it the wanted settings; without a service they are read each time. ``waits``
    tells, from the settings of the start and the wanted ones, whether they need a restart after
    all.
    """

    service: str = ""
    give: Callable[[Any, RootConfig], None] = lambda service, wanted: None
    waits: Callable[[RootConfig, RootConfig], bool] = lambda started, wanted: False


_INJECTION: Final = Mirror(
    "injection", lambda service, wanted: service.mirror(wanted.memory, wanted.own_settings())
)
_MIRRORS: Final[Mapping[str, Mirror]] = {
    "memory.injection_enabled": _INJECTION,
    "memory.retrieval": _INJECTION,
    "memory.v1": _INJECTION,
    "memory.self_editing": _INJECTION,
    "memory.options.shared_knowledge_base": _INJECTION,
    "memory.procedural.enabled": Mirror(),
    "memory.procedural.evolver": Mirror(),
    "memory.consolidation.enabled": Mirror(
        "consolidation",
        lambda service, wanted: service.mirror(wanted.memory.consolidation.enabled),
        # Its job was made as one that never runs.
        lambda started, wanted: (
            wanted.memory.consolidation.enabled and not started.memory.consolidation.enabled
        ),
    ),
    "ingest.follow": Mirror(
        "following",
        lambda service, wanted: service.mirror(wanted.ingest.follow),
        # Its job was made as one that never runs.
        lambda started, wanted: wanted.ingest.follow and not started.ingest.follow,
    ),
    "agent_access.writes": Mirror(
        "gateway",
        lambda service, wanted: service.mirror(wanted.agent_access.writes),
        # The tools were built for another way of writing.
        lambda started, wanted: (
            wanted.agent_access.writes not in ("off", started.agent_access.writes)
        ),
    ),
    "runtime.enabled": Mirror(),
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
        taken: set[Mirror] = set()
        for path in differing(self._base.settings, wanted):
            mirror = None if path in _ONLY_AT_START else _mirror_of(path)
            if mirror is None or mirror.waits(self._started, wanted):
                waiting.append(path)
            elif mirror not in taken:
                taken.add(mirror)
                if (service := self._attributes.get(mirror.service)) is not None:
                    mirror.give(service, wanted)
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
