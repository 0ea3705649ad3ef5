"""YAML with safe types, and the line on which each value stands."""

from typing import Final

import yaml

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.yaml_bounds import BoundedLoader
from synthorg_tui.settings.document import SettingPath

_MAP_TAG: Final = "tag:yaml.org,2002:map"
_SEQUENCE_TAG: Final = "tag:yaml.org,2002:seq"


class _Loader(BoundedLoader):
    """Refuses aliases: a few of them can stand for gigabytes."""

    def compose_node(
        self, parent: yaml.Node | None, index: yaml.Node | int | None
    ) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", mark)
        return super().compose_node(parent, index)


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


def parse(text: str, name: str) -> tuple[object, dict[SettingPath, int]]:
    """The value that YAML text stands for, and the line of each setting in it.

    Raises ``ConfigError``; ``name`` stands for the file in it.
    """
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
    return data, builder.lines


def _problem(message: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)
