"""Reading a settings file: YAML with safe types, and the line on which each setting stands."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from synthorg_tui.core.errors import ConfigError

MAX_BYTES: Final = 256 * 1024
_MAP_TAG: Final = "tag:yaml.org,2002:map"
_SEQUENCE_TAG: Final = "tag:yaml.org,2002:seq"

SettingPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed settings; ``lines`` maps the path of each setting to its 1-based line."""

    data: dict[str, object]
    lines: dict[SettingPath, int] = field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    """Refuses aliases: a few of them can stand for gigabytes."""

    def compose_node(
        self, parent: yaml.Node | None, index: yaml.Node | int | None
    ) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", mark)
        return super().compose_node(parent, index)  # type: ignore[arg-type]


class _Builder:
    def __init__(self, loader: _Loader) -> None:
        self._loader = loader
        self.lines: dict[SettingPath, int] = {}

    def build(self, node: yaml.Node, path: SettingPath) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode) and node.tag == _MAP_TAG:
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _SEQUENCE_TAG:
            return [self.build(item, (*path, i)) for i, item in enumerate(node.value)]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> object:
        try:
            return self._loader.construct_object(node, deep=True)
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            # 2026-02-30 looks like a date and "!!timestamp x" claims to be one.
            kind = node.tag.rpartition(":")[2]
            raise _problem(f"{str(node.value)[:60]!r} is not a valid {kind}", node) from error

    def _mapping(self, node: yaml.MappingNode, path: SettingPath) -> dict[str, object]:
        built: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _problem("a key must be a plain word", key_node)
            key = key_node.value
            if key in built:
                raise _problem(f"{key!r} is set twice", key_node)
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            built[key] = self.build(value_node, (*path, key))
        return built


def read_document(path: Path) -> Document:
    """The settings in a file; raises ``ConfigError`` that names the file and the line."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror or error}") from error
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES // 1024} KiB; not read")
    return parse_document(text, str(path))


def parse_document(text: str, name: str) -> Document:
    """Settings from YAML text; ``name`` stands for the file in errors."""
    document = _parse(text, name)
    if document.data is None:
        return Document({})
    if not isinstance(document.data, dict):
        raise ConfigError(f"{name}:1: settings must be a mapping like 'memory: ...'")
    return document


def parse_value(text: str, name: str) -> object:
    """One value as YAML types it: ``30``, ``true``, ``null``, ``daily``, ``[a, b]``."""
    return _parse(text, name).data


def _parse(text: str, name: str) -> Document:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            builder = _Builder(loader)
            data = builder.build(node, ()) if node is not None else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}" if mark else name
        raise ConfigError(f"{where}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{name}: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply") from error
    return Document(data, builder.lines)  # type: ignore[arg-type]


def _problem(message: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)
