"""Kill switches: settings that stop one thing at once, whatever it is doing, and start it again.

Each is a setting like any other, with one value for off. What they have in common is that they hold
without a restart, have a command and a key of their own, and are told in the app's header.
"""

from typing import Final, NamedTuple

from synthorg_tui.core.errors import DomainError
from synthorg_tui.settings.changes import SettingChange, SettingChanges
from synthorg_tui.settings.kept import with_kept
from synthorg_tui.settings.root import RootConfig


class Switch(NamedTuple):
    """One switch: ``off`` is the value of the setting at ``path`` that stops it.

    ``on`` is the value that starts it where neither file nor default says another; ``badge`` is
    what the header shows while it is off.
    """

    name: str
    path: str
    title: str
    badge: str
    off: str = "false"
    on: str = "true"


SWITCHES: Final = (
    Switch("injection", "memory.injection_enabled", "Agents are given memories", "nothing given"),
    Switch("learning", "memory.procedural.enabled", "Lessons are drawn", "no learning"),
    Switch("writes", "agent_access.writes", "Agents may write", "no writes", "off", "direct"),
    Switch("consolidation", "memory.consolidation.enabled", "Memory is consolidated", "no merging"),
    Switch("following", "ingest.follow", "New sessions are imported", "not following"),
    Switch("runtime", "runtime.enabled", "Agents run here", "no runs"),
)
"""Every switch, in the order in which they are shown; one whose setting isn't there is left out."""


def switches(settings: RootConfig) -> tuple[tuple[Switch, bool], ...]:
    """Return the switches that there are, each with whether it is on."""
    found = []
    for switch in SWITCHES:
        value: object = settings
        for name in switch.path.split("."):
            value = getattr(value, name, None)
        if value is not None:
            found.append((switch, value is not False and value != switch.off))
    return tuple(found)


def switch_named(settings: RootConfig, name: str) -> Switch:
    """Return a switch by its name; raises ``DomainError`` naming those there are."""
    known = {switch.name: switch for switch, _ in switches(settings)}
    if name not in known:
        raise DomainError(f"there is no switch {name!r}", remedy=f"There are {', '.join(known)}.")
    return known[name]


def switch_badge(settings: RootConfig) -> str:
    """Return what the header shows of the switches that are off; empty when none is."""
    return " · ".join(switch.badge for switch, is_on in switches(settings) if not is_on)


async def turned(
    changes: SettingChanges, settings: RootConfig, name: str, *, on: bool, actor: str
) -> SettingChange | None:
    """Turn a switch on or off; ``None`` when it is so already.

    ``settings`` are those of the file and the environment. On again means what they say, where
    that is on. Raises ``DomainError`` for a name that is no switch's.
    """
    switch = switch_named(settings, name)
    kept = {each.path: each for each in await changes.kept()}
    if dict(switches(with_kept(settings, kept).settings))[switch] is on:
        return None
    if on and dict(switches(settings))[switch] and switch.path in kept:
        return await changes.unset(switch.path, actor=actor)
    return await changes.set(switch.path, switch.on if on else switch.off, actor=actor)
