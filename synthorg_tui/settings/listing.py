"""Every setting in force, with where its value comes from and what is allowed.

For a person who looks at them; what a value means is said by the models, and where a fault is, by
the loader.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.settings.document import Document, SettingPath, dotted, read_document
from synthorg_tui.settings.environment import apply_environment, config_file
from synthorg_tui.settings.explain import Explainer, show
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class ListedSetting:
    """A setting as shown to a person.

    ``value`` is short text, hidden when it is a secret. ``source`` is ``default``, ``file:line`` or
    the name of a variable. ``waits`` is whether the running program has another value.
    """

    path: str
    value: str
    source: str
    allowed: str
    waits: bool = False


def list_settings(
    path: Path | None = None,
    *,
    running: RootConfig | None = None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[ListedSetting, ...]:
    """Return all settings as they would be in force after a start now, in the models' order.

    ``path`` is chosen as by ``load_settings``; ``running`` are the settings that the program runs
    with. Raises ``ConfigError`` with one line for each problem.
    """
    settings = load_settings(path, environ=environ)
    # Compared as they are: a set has no order, but the list that JSON makes of it does.
    wanted = dict(_leaves(settings.model_dump()))
    present = dict(_leaves(running.model_dump())) if running is not None else wanted
    source = config_file(path, environ=environ)
    document = read_document(source) if source is not None else Document({})
    _, variables = apply_environment(document.data, environ)
    lines = {at: f"{source}:{line}" for at, line in document.lines.items()}
    explainer = Explainer(RootConfig)
    return tuple(
        ListedSetting(
            dotted(at),
            show(at, value),
            _source(at, {**lines, **variables}),
            explainer.allowed(at),
            waits=present.get(at) != wanted.get(at),
        )
        for at, value in _leaves(settings.model_dump(mode="json"))
    )


def _leaves(values: object, at: SettingPath = ()) -> Iterator[tuple[SettingPath, object]]:
    if isinstance(values, dict) and values:
        for name, value in values.items():
            yield from _leaves(value, (*at, name))
    elif isinstance(values, (list, tuple)) and values and at == ("agents",):
        for number, agent in enumerate(values):
            yield from _leaves(agent, (*at, number))
    else:
        yield at, values


def _source(at: SettingPath, origins: Mapping[SettingPath, str]) -> str:
    """Where the setting is given, or one that it is part of as a plain value."""
    return origins.get(at, DEFAULT)
