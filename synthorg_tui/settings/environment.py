"""Settings from environment variables such as ``SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES=30``.

The name is the setting's path in upper case, parts joined by two underscores. The value is read
like a YAML value. An empty value counts as not set; ``null`` sets nothing explicitly.
"""

from collections.abc import Mapping
from typing import Final

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.settings.document import SettingPath, parse_value

PREFIX: Final = "SYNTHORG__"
CONFIG_FILE_VARIABLE: Final = "SYNTHORG_CONFIG"
_SEPARATOR: Final = "__"


def apply_environment(
    data: dict[str, object], environ: Mapping[str, str]
) -> tuple[dict[str, object], dict[SettingPath, str]]:
    """``data`` with the variables applied, and which variable set which path.

    Raises ``ConfigError`` for a name without a path, for a value that is no YAML, and for a path
    that leads through a list or a plain value.
    """
    origins: dict[SettingPath, str] = {}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or not environ[name].strip():
            continue
        path = tuple(name.removeprefix(PREFIX).lower().split(_SEPARATOR))
        if not all(path):
            raise ConfigError(f"{name}: not a setting; write SYNTHORG__SECTION__FIELD")
        data = _set(data, path, parse_value(environ[name], name), name)
        origins[path] = name
    return data, origins


def _set(
    data: dict[str, object], path: tuple[str, ...], value: object, name: str
) -> dict[str, object]:
    head, *rest = path
    if not rest:
        return {**data, head: value}
    inner = data.get(head)
    if inner is None:
        inner = {}
    if not isinstance(inner, dict):
        kind = "a list, set it whole" if isinstance(inner, list) else "not a section"
        raise ConfigError(f"{name}: {head} is {kind}")
    return {**data, head: _set(inner, tuple(rest), value, name)}
