"""Every setting in force, with where its value comes from, what is allowed and what it is for.

For a person who looks at them; what a value means is said by the models, and where a fault is, by
the loader.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from synthorg_tui.core.actors import actor_words
from synthorg_tui.settings.about import descriptions
from synthorg_tui.settings.document import SettingPath, dotted
from synthorg_tui.settings.environment import Layers
from synthorg_tui.settings.explain import is_secret, show
from synthorg_tui.settings.kept import (
    KeptOutcome,
    KeptSetting,
    fixed,
    place_in_file,
    said_in_file,
    split,
    with_kept,
)
from synthorg_tui.settings.loader import KEPT, explainer, load_settings, shipped_settings
from synthorg_tui.settings.root import RootConfig

DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class ListedSetting:
    """A setting as shown to a person.

    ``value`` and ``default`` are short texts, hidden when they are secrets; ``written`` is the
    value as one writes it, whole. ``source`` is ``default``, ``kept in the app``, ``file:line`` or
    the name of a variable. ``choices`` are all values it can have, as one writes them, empty where
    there are too many. ``waits`` is whether the running program has another value. ``is_kept``
    tells that a value is kept in the app, also one that doesn't hold; ``notes`` say what else is to
    be known of it. ``fixed`` says why it can't be changed in the app, empty when it can.
    """

    path: str
    value: str
    source: str
    allowed: str
    waits: bool = False
    default: str = ""
    written: str = ""
    about: str = ""
    choices: tuple[str, ...] = ()
    is_kept: bool = False
    notes: tuple[str, ...] = ()
    fixed: str = ""
    at_once: bool = False


def list_settings(
    path: Path | None = None,
    *,
    running: RootConfig | None = None,
    environ: Mapping[str, str] = os.environ,
    kept: Iterable[KeptSetting] = (),
    at_once: Callable[[str], bool] = lambda _: False,
) -> tuple[ListedSetting, ...]:
    """Return all settings as they would be in force after a start now, in the models' order.

    ``path`` is chosen as by ``load_settings``; ``running`` are the settings that the program runs
    with, ``kept`` what is kept in the store; ``at_once`` says which settings hold without a
    restart. A kept value of a setting that there isn't comes last.
    Raises ``ConfigError`` with one line for each problem.
    """
    values = {each.path: each for each in kept}
    outcome = with_kept(load_settings(path, environ=environ), values)
    # Compared as they are: a set has no order, but the list that JSON makes of it does.
    wanted = dict(_leaves(outcome.settings.model_dump()))
    present = dict(_leaves(running.model_dump())) if running is not None else wanted
    listed = _listed_by(outcome, values, at_once)
    found = [
        listed(at, value, present.get(at) != wanted.get(at))
        for at, value in _leaves(outcome.settings.model_dump(mode="json"))
    ]
    names = {each.path for each in found}
    sections = {name[:end] for name in names for end, char in enumerate(name) if char == "."}
    strays = [each for at, each in values.items() if at not in names | sections]
    return (*found, *(_stray(each, outcome) for each in strays))


def _listed_by(
    outcome: KeptOutcome, kept: Mapping[str, KeptSetting], at_once: Callable[[str], bool]
) -> Callable[[SettingPath, object, bool], ListedSetting]:
    """The function that describes one setting, by its path, its value, and whether it waits."""
    layers = outcome.settings.layers
    assert layers is not None
    defaults = dict(_leaves(shipped_settings().model_dump(mode="json")))
    lines = {at: f"{layers.source}:{line}" for at, line in layers.document.lines.items()}
    in_force = {
        split(each.path): KEPT for each in kept.values() if each.path not in outcome.passed_over
    }
    origins = {**lines, **in_force, **layers.variables}
    explains, told = explainer(), descriptions()

    def listed(at: SettingPath, value: object, waits: bool) -> ListedSetting:
        path, each = dotted(at), kept.get(dotted(at))
        return ListedSetting(
            path,
            show(at, value),
            _source(at, origins),
            explains.allowed(at),
            waits=waits,
            default=show(at, defaults[at]) if at in defaults else "",
            written=written(at, value),
            about=told.get(path, ""),
            choices=explains.choices(at),
            is_kept=each is not None,
            notes=_notes(each, layers, outcome.passed_over) if each is not None else (),
            fixed=fixed(path),
            at_once=at_once(path),
        )

    return listed


def written(at: SettingPath, value: Any) -> str:
    """Return a value as one writes it into the settings file; empty for a secret."""
    if is_secret(at):
        return ""
    if isinstance(value, str) and value.strip() == value and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _notes(kept: KeptSetting, layers: Layers, passed_over: Mapping[str, str]) -> tuple[str, ...]:
    """When and by whom a value was kept, and what it stands above, or why it doesn't hold."""
    who = f"{actor_words(kept.by)}, {kept.at.astimezone():%Y-%m-%d %H:%M}"
    if why := passed_over.get(kept.path):
        return (f"{show(split(kept.path), kept.value)} is kept in the app ({who})", why)
    said = said_in_file(layers, split(kept.path))
    place = place_in_file(layers, split(kept.path))
    return (f"changed {who}", *([f"{place} says {said}; R goes back to it"] if said else []))


def _stray(kept: KeptSetting, outcome: KeptOutcome) -> ListedSetting:
    """A kept value of a setting that this version doesn't know."""
    value = show(split(kept.path), kept.value)
    why = outcome.passed_over.get(kept.path, "this version doesn't know the setting")
    return ListedSetting(
        kept.path, value, KEPT, "", is_kept=True, notes=(why.partition(";")[0],), fixed=why
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
    """Where the setting is given, or a section it is in as a whole by a kept value."""
    for length in range(len(at), 0, -1):
        found = origins.get(at[:length])
        if found is not None and (length == len(at) or found == KEPT):
            return found
    return DEFAULT
