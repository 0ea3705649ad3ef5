"""Loads the settings from their layers: the shipped defaults, a file, the environment.

``SHIPPED`` is the one place where this program's defaults differ from those of the models. The
models define the meaning of values; ``explain`` words what is wrong with one.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.types import warn
from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.settings import environment
from synthorg_tui.settings.document import Document, SettingPath, dotted, read_document
from synthorg_tui.settings.environment import Layers, read_layers
from synthorg_tui.settings.explain import Explainer
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.settings.safety import SAFETY, SafetyValues, loosened, values_of, with_values

_Model = TypeVar("_Model", bound=BaseModel)

SHIPPED: Final[Mapping[str, Any]] = {
    "memory": {
        # Imported sessions are over: at level session no agent would ever see their memories.
        "level": MemoryLevel.PROJECT,
        # The local backend searches by meaning and by keyword; this fuses both best. Being recent
        # settles near ties, so that a memory a week old isn't lost.
        "retrieval": {
            "fusion_strategy": FusionStrategy.SCORE,
            "relevance_weight": 0.98,
            "recency_weight": 0.02,
            "recency_decay_rate": 0.0005,
        },
        # The digest would take the place of that retrieval: changing a budget mustn't enable it.
        "v1": {"enabled": False},
    }
}
"""Where this application's defaults deliberately differ from the models' own."""
KEPT: Final = "kept in the app"
"""How a value is called that was changed in the app or by ``config set``."""


def load_settings(
    path: Path | None = None, *, environ: Mapping[str, str] = os.environ
) -> RootConfig:
    """Load the settings in force.

    ``path`` wins over ``SYNTHORG_CONFIG``, which wins over the user's ``company.yaml``; without
    any the shipped defaults hold. ``SYNTHORG__...`` variables override single settings. A safety
    setting that is looser there than in the user's own ``company.yaml`` is ignored with a warning.

    Raises ``ConfigError`` with one line for each problem: file and line (or variable), setting,
    value, and what is allowed.
    """
    return settings_of(read_layers(path, environ), {})


def settings_of(layers: Layers, kept: Mapping[SettingPath, object]) -> RootConfig:
    """Return the settings that files and variables give, with the ``kept`` values among them.

    A kept value takes the place of the file's; who calls this leaves out what a variable sets.
    Raises ``ConfigError`` as ``load_settings`` does; a kept value is told as ``KEPT``.
    """
    given, own = dict(layers.given), _own_safety(layers.source, layers.document)
    for path, value in kept.items():
        given = with_value(given, path, value)
        own = {**own, **({dotted(path): value} if dotted(path) in SAFETY else {})}
    layers = replace(layers, kept=frozenset(map(dotted, kept)))
    changes = _drop_empty_sections(RootConfig, given)
    if not changes:
        return _as_strict(shipped_settings(), own, lambda _: "").read_from(layers)
    report = _Report(layers, kept)
    try:
        settings = RootConfig.model_validate(_merge(SHIPPED, changes))
    except ValidationError as error:
        problems = sorted(error.errors(), key=report.position)
        raise ConfigError("\n".join(dict.fromkeys(map(report.line, problems)))) from None
    return _as_strict(settings, own, report.origin).read_from(layers)


def with_value(data: Mapping[str, Any], path: SettingPath, value: object) -> dict[str, Any]:
    """Return a copy of the data with a value at a path; what is no section there gives way."""
    head, *rest = path
    inner = data.get(str(head))
    below = inner if isinstance(inner, Mapping) else {}
    return {**data, str(head): with_value(below, tuple(rest), value) if rest else value}


def _own_safety(source: Path | None, document: Document) -> SafetyValues:
    """The safety settings of the user's own file, of which ``document`` may be what was read.

    Where it can't be read, or doesn't say, the shipped ones.
    """
    usual = environment.default_config_file()
    if source is None or source.resolve() != usual.resolve():
        try:
            document = read_document(usual) if usual.is_file() else Document({})
        except ConfigError:  # told when it is the file in force
            document = Document({})
    given: dict[str, Any] = {}
    for path in SAFETY:
        section: object = document.data
        for name in path.split("."):
            section = section.get(name) if isinstance(section, dict) else None
        given = _merge(given, _nested(path.split("."), section)) if section is not None else given
    try:
        settings = RootConfig.model_validate(given) if given else shipped_settings()
    except ValidationError:
        settings = shipped_settings()
    return values_of(settings)


def _nested(path: list[str], value: object) -> dict[str, Any]:
    return {path[0]: _nested(path[1:], value) if len(path) > 1 else value}


def _as_strict(
    settings: RootConfig, own: SafetyValues, origin: Callable[[SettingPath], str]
) -> RootConfig:
    """The settings, in safety settings no looser than the user's own file is."""
    for found in loosened(values_of(settings), own):
        where = origin(tuple(found.path.split(".")))
        ignored = f"{json.dumps(found.wanted)} from {where or 'the defaults'} is ignored"
        reason = (
            f"{ignored}: it can make this stricter only; {json.dumps(found.holds)} holds, of "
            f"{environment.default_config_file()} or its default"
        )
        warn(found.path, found.wanted, reason)
        settings = with_values(settings, {found.path: found.holds})
    return settings.read_beside(own)


def shipped_settings() -> RootConfig:
    """Return the settings of a new installation; files and variables are ignored.

    They are not validated: building pydantic's validator takes longer than all the rest.
    """
    return _constructed(RootConfig, SHIPPED)


def _constructed(model: type[_Model], values: Mapping[str, Any]) -> _Model:
    """A model of values that need no validation; sections that are left out have their defaults."""
    fields = dict(values)
    for name, value in values.items():
        if isinstance(value, Mapping):
            section = model.model_fields[name].annotation
            assert isinstance(section, type)
            fields[name] = _constructed(section, value)
    return model.model_construct(**fields)


@cache
def explainer() -> Explainer:
    """Return what explains these settings; it is made once, as that takes a tenth of a second."""
    from synthorg_tui.settings.explain import Explainer

    return Explainer(RootConfig)


class _Report:
    """Problems as lines that say where each comes from."""

    def __init__(self, layers: Layers, kept: Mapping[SettingPath, object]) -> None:
        self._source = layers.source
        self._lines = layers.document.lines
        self._origins = {**layers.variables, **dict.fromkeys(kept, KEPT)}

    @property
    def _explainer(self) -> Explainer:
        return explainer()

    def position(self, details: ErrorDetails) -> int:
        """The line of the setting, 0 when it stands in no file."""
        return self._line(self._explainer.path(details)) or 0

    def line(self, details: ErrorDetails) -> str:
        """One line for a problem."""
        path = self._explainer.path(details)
        field = dotted(path) or "settings"
        return f"{self.origin(path)}: {field}: {self._explainer.reason(details)}"

    def origin(self, path: SettingPath) -> str:
        """File and line, or the variable, that a setting comes from."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._origins:
                return self._origins[path[:length]]
        line = self._line(path)
        here = f"{self._source}:{line}" if line else None
        inside = [name for at, name in self._origins.items() if at[: len(path)] == path]
        return " with ".join([*([here] if here else []), *inside]) or str(self._source or KEPT)

    def _line(self, path: SettingPath) -> int | None:
        prefixes = (path[:length] for length in range(len(path), 0, -1))
        return next((self._lines[at] for at in prefixes if at in self._lines), None)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _drop_empty_sections(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """``memory:`` with every line below commented out means the defaults, not ``null``."""
    given: dict[str, Any] = {}
    for key, value in data.items():
        info = model.model_fields.get(key)
        default = info.get_default(call_default_factory=True) if info else None
        if value is None and isinstance(default, BaseModel | tuple | dict):
            continue
        if isinstance(default, BaseModel) and isinstance(value, dict):
            value = _drop_empty_sections(type(default), value)
        given[key] = value
    return given
