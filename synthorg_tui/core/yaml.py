"""YAML from people and strangers: bounded, and with the line on which each thing stands.

A few bytes of YAML can stand for gigabytes, for hours or for a call of any function. So no other
module gives a text to PyYAML: what comes through here is limited in length and nesting before it
costs anything, builds plain values only, and fails with one error that names the line. There are
two readings of the same text: ``load`` gives typed values and is strict, for settings; ``events``
gives what stands there, for those who read leniently. PyYAML takes a while to load, so this module
is imported only once there is a text.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

import yaml

MAX_LENGTH: Final = 256 * 1024
"""Characters of a text."""
MAX_NESTING: Final = 16
"""How deep brackets, lists and maps may be in one another."""

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys of maps and places in lists that lead to a value."""

_MAP_TAG: Final = "tag:yaml.org,2002:map"
_SEQUENCE_TAG: Final = "tag:yaml.org,2002:seq"


class YamlError(ValueError):
    """YAML text was refused.

    ``line`` counts from 1; it is 0 when the error concerns the whole text.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class HiddenCharacterError(YamlError):
    """YAML text contains a control character, or another one that YAML doesn't allow."""


def load(text: str) -> tuple[object, dict[KeyPath, int]]:
    """Parse a YAML document strictly; return its value and the line number of every key.

    The value is ``None`` for an empty text. Lines count from 1 and are given by the path of keys.
    Keys must be strings. Raises ``YamlError`` for syntax errors, duplicate keys and aliases.
    """
    with _errors(text):
        loader = _TreeLoader(text)
        try:
            node = loader.get_single_node()
            builder = _Builder(loader)
            value = builder.build(node, ()) if node is not None else None
        finally:
            loader.dispose()
    return value, builder.lines


def events(text: str) -> Iterator[yaml.Event]:
    """Yield the parser events of a YAML text in order, without building values.

    For lenient readers: aliases are yielded as events and never expanded. Raises ``YamlError`` at
    the point where the text can't be parsed.
    """
    with _errors(text):
        yield from yaml.parse(text, Loader=_BoundedLoader)


def line_of(event: yaml.Event) -> int:
    """Return the line on which an event begins, counted from 1."""
    return event.start_mark.line + 1 if event.start_mark else 1


class _BoundedLoader(yaml.SafeLoader):
    """Refuses deep nesting at its line, before it costs anything.

    The scanner's time grows with the square of open brackets, and composing calls itself.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803
        """Open a bracket, unless too many are open."""
        if self.flow_level >= MAX_NESTING:
            mark = self.get_mark()
            raise yaml.scanner.ScannerError(None, None, "brackets are nested too deeply", mark)
        super().fetch_flow_collection_start(TokenClass)

    def compose_node(
        self, parent: yaml.Node | None, index: yaml.Node | int | None
    ) -> yaml.Node | None:
        """Build a node, unless it is in too many others."""
        if self._depth > MAX_NESTING:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "nested too deeply", mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)  # type: ignore[arg-type]
        finally:
            self._depth -= 1


class _TreeLoader(_BoundedLoader):
    """Refuses aliases: a few of them can stand for gigabytes."""

    def compose_node(
        self, parent: yaml.Node | None, index: yaml.Node | int | None
    ) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not supported", mark)
        return super().compose_node(parent, index)


class _Builder:
    """Builds the values of nodes and notes the line of each key."""

    def __init__(self, loader: _TreeLoader) -> None:
        self._loader = loader
        self.lines: dict[KeyPath, int] = {}

    def build(self, node: yaml.Node, path: KeyPath) -> object:
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

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _problem("a key must be a plain word", key_node)
            key = key_node.value
            if key in values:
                raise _problem(f"{key!r} is set twice", key_node)
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            values[key] = self.build(value_node, (*path, key))
        return values


@contextmanager
def _errors(text: str) -> Iterator[None]:
    """Refuse a text that is too long, and turn PyYAML's errors into ours."""
    if len(text) > MAX_LENGTH:
        raise YamlError(f"longer than {MAX_LENGTH:,} characters", 0)
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "can't be read"
        raise YamlError(message, mark.line + 1 if mark else 0) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise HiddenCharacterError("a control character is not allowed here", line) from error


def _problem(message: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)
