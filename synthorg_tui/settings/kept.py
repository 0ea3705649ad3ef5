"""Settings that were changed in the app and are kept in the store: which of them hold, and why not.

The last word holds: what was changed in the app stands above the file until the file says something
else than it did then; a variable of the environment stands above both. Where the values are stored
and who changed what is in ``changes``.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.types import warn
from synthorg_tui.settings.document import SettingPath, dotted, parse_value
from synthorg_tui.settings.environment import Layers
from synthorg_tui.settings.explain import is_secret
from synthorg_tui.settings.loader import settings_of
from synthorg_tui.settings.root import RootConfig

_log = logging.getLogger(__name__)

FIXED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "memory.backend": "it decides which store is opened, before anything kept can be read",
        "memory.composite": "it decides which store is opened, before anything kept can be read",
        "memory.storage.data_dir": "it says where the store is that would keep it",
        "persistence": "it says where the store is that would keep it",
        "approvals.person": "it says who sits here, and the store may be used by others, too",
        "agents": "an agent's entry is edited as a whole: 9 lists the agents, E edits one",
    }
)
"""Settings that can't be kept in the store, each with the reason; so is what is below them."""
MAX_VALUE: Final = 20_000
"""Most characters of a kept value as JSON."""


@dataclass(frozen=True, slots=True)
class KeptSetting:
    """A value that was changed in the app.

    ``text`` is the value as JSON, ``over`` what the file said at that time, as JSON, empty when it
    said nothing. ``by`` is who changed it.
    """

    path: str
    text: str
    over: str
    by: str
    at: datetime

    @property
    def value(self) -> Any:
        """The value as it goes into the model."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class KeptOutcome:
    """The settings with what is kept, and for each kept value that doesn't hold the reason."""

    settings: RootConfig
    passed_over: Mapping[str, str]


def kept_in(rows: Iterable[tuple[str, str, str]]) -> dict[str, KeptSetting]:
    """Return what is kept, by path, the oldest change first; what can't be read is left out.

    The rows are namespace, key and value.
    """
    found = []
    for namespace, key, value in rows:
        path = f"{namespace}.{key}"
        try:
            said = json.loads(value)
            text = json.dumps(said["value"], ensure_ascii=False)
            at = datetime.fromisoformat(said["at"])
            found.append(KeptSetting(path, text, str(said["over"]), str(said["by"]), at))
        except (ValueError, KeyError, TypeError):
            _log.warning("the kept setting %s can't be read", path)
    return {each.path: each for each in sorted(found, key=lambda each: each.at)}


def taking_kept(settings: RootConfig, rows: Iterable[tuple[str, str, str]]) -> RootConfig:
    """Return the settings with what is kept in the store, and warn of values that aren't taken.

    The rows are those of ``kept_in``.
    """
    kept = kept_in(rows)
    outcome = with_kept(settings, kept)
    for path, why in outcome.passed_over.items():
        warn(path, kept[path].value, f"the value kept in the app is not taken: {why}")
    return outcome.settings


def with_kept(settings: RootConfig, kept: Mapping[str, KeptSetting]) -> KeptOutcome:
    """Return the settings in force with what is kept in the store; a bad value is passed over.

    Settings that a program made are returned as they are. Nothing here raises: what another
    version wrote, or somebody else, must not keep the store from opening.
    """
    layers = settings.layers
    if layers is None or not kept:
        return KeptOutcome(settings, {})
    reasons = {path: _stands_above(layers, each) for path, each in kept.items()}
    values = {split(path): each.value for path, each in kept.items() if not reasons[path]}
    try:
        found = settings_of(layers, values)
    except ConfigError:
        found, bad = _one_by_one(layers, values)
        reasons |= bad
    return KeptOutcome(found, {path: why for path, why in reasons.items() if why})


def _one_by_one(
    layers: Layers, values: Mapping[SettingPath, object]
) -> tuple[RootConfig, dict[str, str]]:
    """The settings with each value that goes with those before it, and why others don't."""
    good: dict[SettingPath, object] = {}
    bad: dict[str, str] = {}
    found = settings_of(layers, good)
    for path, value in values.items():
        try:
            found = settings_of(layers, {**good, path: value})
        except ConfigError as error:
            bad[dotted(path)] = _first(error)
        else:
            good[path] = value
    return found, bad


def _stands_above(layers: Layers, kept: KeptSetting) -> str:
    """What holds instead of a kept value, in words; empty when the kept value does."""
    path = split(kept.path)
    if (name := variable_of(layers, path)) is not None:
        return f"the variable {name} stands above it"
    said = said_in_file(layers, path)
    if said and said != kept.over:
        return f"{place_in_file(layers, path)} was changed since, and says {said}"
    return ""


def variable_of(layers: Layers, path: SettingPath) -> str | None:
    """Return the variable that sets a setting, a section it is in, or a part of it."""
    for at, name in layers.variables.items():
        shorter = min(len(at), len(path))
        if at[:shorter] == path[:shorter]:
            return name
    return None


def said_in_file(layers: Layers, path: SettingPath) -> str:
    """Return what the file says of a setting, as JSON; empty when it says nothing."""
    data: object = layers.document.data
    for name in path:
        if not isinstance(data, Mapping) or name not in data:
            return ""
        data = data[name]
    return json.dumps(data, ensure_ascii=False, default=str)


def place_in_file(layers: Layers, path: SettingPath) -> str:
    """Return the file and the line in which a setting is given, else the file."""
    line = layers.document.lines.get(path)
    return f"{layers.source}:{line}" if line else str(layers.source or "")


def split(path: str) -> SettingPath:
    """Return a written path such as ``memory.level`` as its parts."""
    return tuple(path.split("."))


def fixed(path: str) -> str:
    """Return why a setting isn't kept in the store; empty when it can be."""
    for name, why in FIXED.items():
        if path == name or path.startswith((f"{name}.", f"{name}[")):
            return why
    return "secrets are never stored" if is_secret(split(path)) else ""


class SettingTrial:
    """Checks a value before it is kept, against all that is given and kept otherwise.

    Made once for an edit: each check takes about a millisecond, so that it can follow the keys.
    """

    def __init__(self, settings: RootConfig, kept: Mapping[str, KeptSetting]) -> None:
        layers = settings.layers
        if layers is None:
            raise ConfigError("these settings were made by a program; none can be changed")
        self.layers = layers
        passed_over = with_kept(settings, kept).passed_over
        self._others = {
            split(path): each.value for path, each in kept.items() if path not in passed_over
        }

    def said(self, path: str) -> str:
        """Return what the file says of a setting, as JSON; empty when it says nothing."""
        return said_in_file(self.layers, split(path))

    def parsed(self, path: str, written: str) -> object:
        """Return the value that was written, or raise ``ConfigError`` saying what is allowed.

        A written value is YAML: ``30``, ``true``, ``null``, ``[a, b]`` or text, which needs quotes
        only where it would mean something else.
        """
        if why := fixed(path):
            raise ConfigError(f"{path} can't be changed here: {why}", remedy=_IN_FILE)
        try:
            value = parse_value(written, path)
        except ConfigError:
            value = written
        try:
            self.check(path, value)
        except ConfigError as error:
            if value is None or isinstance(value, str) or not self._fits(path, written):
                raise error from None
            return written  # text that reads as something else, such as a number
        return value

    def _fits(self, path: str, value: object) -> bool:
        try:
            self.check(path, value)
        except ConfigError:
            return False
        return True

    def check(self, path: str, value: object) -> RootConfig:
        """Return the settings as they would be; raises ``ConfigError`` for a value that can't be.

        It is also raised for what looks like a secret, which is never stored.
        """
        text = json.dumps(value, ensure_ascii=False, default=str)
        if len(text) > MAX_VALUE:
            raise ConfigError(f"{path}: longer than {MAX_VALUE:,} characters")
        if redact_text(text, RedactionTally()) != text or _has_secret(value):
            raise ConfigError(
                f"{path}: this looks like a secret, and secrets are never stored",
                remedy="Name the variable that holds it, where the setting takes a name.",
            )
        try:
            return settings_of(self.layers, {**self._others, split(path): value})
        except ConfigError as error:
            raise ConfigError(_first(error)) from None


def _has_secret(value: object, path: SettingPath = ()) -> bool:
    """Whether a section holds a value that its name calls a secret."""
    if isinstance(value, Mapping):
        return any(_has_secret(inner, (str(name),)) for name, inner in value.items())
    return value is not None and is_secret(path)


_IN_FILE: Final = "Write it into the settings file: `synthorg-tui config path` says where it is."


def _first(error: ConfigError) -> str:
    """The first problem, without where it stands."""
    told = error.message.partition("\n")[0]
    return told.partition(": ")[2] or told
