"""Which settings keep agents in check, and which of two values is the stricter one.

What a program can set for a command that it runs, the environment or another file, makes these
stricter, never looser. What the store remembers of them is in ``agreed``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel

_Settings = TypeVar("_Settings", bound=BaseModel)
SafetyValues: TypeAlias = Mapping[str, Any]
"""The value of each safety setting, by its path."""


@dataclass(frozen=True, slots=True)
class SafetySetting:
    """One setting: of two values the one with the higher ``strictness`` is the stricter.

    ``badge`` is what the app's header shows while the value is looser than the shipped one; empty
    where it shows nothing.
    """

    strictness: Callable[[Any], float]
    badge: str = ""


_WRITES: Final = ("direct", "approval", "off")
_REVIEWED: Final = ("uncertain", "all")

SAFETY: Final[Mapping[str, SafetySetting]] = MappingProxyType(
    {
        "approvals.allow_cli": SafetySetting(lambda on: not on, "commands may approve"),
        "approvals.review": SafetySetting(_REVIEWED.index, "approval eased"),
        "approvals.certain_from": SafetySetting(float),
        "agent_access.writes": SafetySetting(_WRITES.index, "agents write unasked"),
        "agent_access.writes_per_minute": SafetySetting(lambda count: -count),
        "agent_access.audit_calls": SafetySetting(lambda count: count),
        "agent_access.administrator": SafetySetting(lambda agent: agent is None),
        "memory.procedural.require_approval": SafetySetting(bool, "approval off"),
    }
)
"""Every setting that keeps agents in check, by its path."""

NO_SAFETY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "approvals.expire_after_days": "what expires was not approved, and may be proposed again",
        "approvals.notify": "how a person is called, not who decides",
        "approvals.person": "what a person is called; no name lets an agent decide",
        "approvals.roles": "which of several people decides; agents decide nothing either way",
        "agent_access.digest_token_budget": "how long a digest is; an agent names its own budget",
    }
)
"""The other settings of the same sections, each with the reason why it is none."""


class Loosened(NamedTuple):
    """A safety setting whose ``wanted`` value is looser than the one that ``holds``."""

    path: str
    holds: Any
    wanted: Any


def is_looser(path: str, value: object, than: object) -> bool:
    """Return whether a value of a safety setting is looser than another."""
    strictness = SAFETY[path].strictness
    return strictness(value) < strictness(than)


def strictest(*values: SafetyValues) -> SafetyValues:
    """Return for each safety setting the strictest of its values; some may be left out."""
    found: dict[str, Any] = {}
    for each in values:
        for path in SAFETY.keys() & each.keys():
            if path not in found or is_looser(path, found[path], each[path]):
                found[path] = each[path]
    return {path: found[path] for path in SAFETY if path in found}


def loosened(wanted: SafetyValues, holds: SafetyValues) -> tuple[Loosened, ...]:
    """Return the settings whose wanted value is looser than the one that holds."""
    return tuple(
        Loosened(path, holds[path], wanted[path])
        for path in SAFETY
        if path in wanted and path in holds and is_looser(path, wanted[path], holds[path])
    )


def values_of(settings: BaseModel) -> SafetyValues:
    """Return the safety settings of a company's settings."""
    return {path: _get(settings, path.split(".")) for path in SAFETY}


def with_values(settings: _Settings, values: SafetyValues) -> _Settings:
    """Return a copy of the settings with these safety settings."""
    for path, value in values.items():
        settings = _replaced(settings, path.split("."), value)
    return settings


def badges(held: SafetyValues, shipped: SafetyValues) -> tuple[str, ...]:
    """Return what a header shows of settings that are looser than the shipped ones."""
    return tuple(
        SAFETY[found.path].badge for found in loosened(held, shipped) if SAFETY[found.path].badge
    )


def _get(section: Any, path: list[str]) -> Any:
    for name in path:
        section = getattr(section, name)
    return section


def _replaced(section: Any, path: list[str], value: object) -> Any:
    head, *rest = path
    inner = _replaced(getattr(section, head), rest, value) if rest else value
    return section.model_copy(update={head: inner})
