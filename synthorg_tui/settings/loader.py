"""Loads the settings from their layers: the shipped defaults, a file, the environment.

``SHIPPED`` is the one place where this program's defaults differ from those of the models. The
models define the meaning of values; ``explain`` words what is wrong with one.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.errors import ConfigError
from synthorg_tui.memory.enums import FusionStrategy
from synthorg_tui.settings.document import Document, SettingPath, read_document
from synthorg_tui.settings.environment import apply_environment, config_file
from synthorg_tui.settings.root import RootConfig

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


def load_settings(
    path: Path | None = None, *, environ: Mapping[str, str] = os.environ
) -> RootConfig:
    """Load the settings in force.

    ``path`` wins over ``SYNTHORG_CONFIG``, which wins over the user's ``company.yaml``; without
    any the shipped defaults hold. ``SYNTHORG__...`` variables override single settings.

    Raises ``ConfigError`` with one line for each problem: file and line (or variable), setting,
    value, and what is allowed.
    """
    source = config_file(path, environ=environ)
    document = read_document(source) if source is not None else Document({})
    given, origins = apply_environment(document.data, environ)
    changes = _drop_empty_sections(RootConfig, given)
    if not changes:
        return shipped_settings()
    data = _merge(SHIPPED, changes)
    try:
        return RootConfig.model_validate(data)
    except ValidationError as error:
        report = _Report(source, document.lines, origins)
        problems = sorted(error.errors(), key=report.position)
        raise ConfigError("\n".join(dict.fromkeys(map(report.line, problems)))) from None


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


class _Report:
    """Problems as lines that say where each comes from."""

    def __init__(
        self, source: Path | None, lines: dict[SettingPath, int], origins: dict[SettingPath, str]
    ) -> None:
        from synthorg_tui.settings.explain import Explainer

        self._source = source
        self._lines = lines
        self._origins = origins
        self._explainer = Explainer(RootConfig)

    def position(self, details: ErrorDetails) -> int:
        """The line of the setting, 0 when it stands in no file."""
        return self._line(self._explainer.path(details)) or 0

    def line(self, details: ErrorDetails) -> str:
        """One line for a problem."""
        path = self._explainer.path(details)
        field = _dotted(path) or "settings"
        return f"{self._origin(path)}: {field}: {self._explainer.reason(details)}"

    def _origin(self, path: SettingPath) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in self._origins:
                return self._origins[path[:length]]
        line = self._line(path)
        here = f"{self._source}:{line}" if line else None
        inside = [name for at, name in self._origins.items() if at[: len(path)] == path]
        return " with ".join([*([here] if here else []), *inside]) or str(self._source)

    def _line(self, path: SettingPath) -> int | None:
        prefixes = (path[:length] for length in range(len(path), 0, -1))
        return next((self._lines[at] for at in prefixes if at in self._lines), None)


def _dotted(path: SettingPath) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


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
