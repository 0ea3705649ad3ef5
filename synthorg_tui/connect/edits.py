"""The edits that add this program's entries to a client's configuration, and remove them.

An edit turns text into text and knows no files: reading and writing them is in ``changes``.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from synthorg_tui.connect import (
    DIGEST_EVENTS,
    HINT_EVENTS,
    HINT_TOOLS,
    HOOK_EVENTS,
    IMPORT_EVENTS,
    toml_edit,
)
from synthorg_tui.connect.json_edit import JsonText

NAME: Final = "synthorg"
"""The name of the MCP server in every client's configuration."""

_HOOK: Final = re.compile(r"synthorg.*\bhook\s+claude-code\s")
_SECONDS: Final = {
    **dict.fromkeys(DIGEST_EVENTS, 5),
    **dict.fromkeys(HINT_EVENTS, 2),
    **dict.fromkeys(IMPORT_EVENTS, 10),
}
"""After how many seconds Claude Code gives up on a hook, which does so itself long before."""


class Edit(Protocol):
    """Adds one entry to the text of a configuration file, or removes it.

    Both methods return the new text, and raise ``ClientConfigError`` for one they can't change.
    """

    def added(self, text: str) -> str:
        """Return the text with this program's entry; an entry that is there is replaced."""

    def removed(self, text: str, before: str | None) -> str:
        """Return the text without this program's entry.

        ``before`` is the text before the entry was added, ``None`` if unknown. With it, containers
        that were created for the entry are removed too.
        """


@dataclass(frozen=True, slots=True)
class JsonServerEdit:
    """Edits the entry of the MCP server in a JSON file.

    ``path`` are the keys that lead to it. A file without content gets ``preamble`` first.
    ``lenient`` allows comments and trailing commas.
    """

    path: tuple[str, ...]
    value: Mapping[str, Any]
    lenient: bool
    preamble: Mapping[str, str] = field(default_factory=dict)

    def added(self, text: str) -> str:
        document = JsonText(text, lenient=self.lenient)
        if not document.root.value:
            for key, value in self.preamble.items():
                document = document.put((key,), value)
        return document.put(self.path, dict(self.value)).text

    def removed(self, text: str, before: str | None) -> str:
        document = JsonText(text, lenient=self.lenient)
        if document.find(self.path) is None:
            return text
        document = document.remove(self.path)
        return _pruned(document, self.path[:-1], before, self.lenient).text


@dataclass(frozen=True, slots=True)
class TomlServerEdit:
    """Edits the entry of the MCP server, a table at ``path``, in a TOML file."""

    path: tuple[str, ...]
    values: Mapping[str, str | Sequence[str]]

    def added(self, text: str) -> str:
        if toml_edit.has_table(text, self.path):
            text = toml_edit.without_table(text, self.path)
        return toml_edit.with_table(text, self.path, self.values)

    def removed(self, text: str, before: str | None) -> str:
        if not toml_edit.has_table(text, self.path):
            return text
        return toml_edit.without_table(text, self.path)


@dataclass(frozen=True, slots=True)
class ClaudeHooksEdit:
    """Edits the hooks in Claude Code's settings; each hook runs ``command`` with its event.

    Hints have a matcher, so that no process is started for tools that there is no hint for.
    """

    command: tuple[str, ...]
    options: tuple[str, ...]
    events: tuple[str, ...] = HOOK_EVENTS

    def added(self, text: str) -> str:
        document = JsonText(self.removed(text, None), lenient=False)
        for event in self.events:
            words = (*self.command, "hook", "claude-code", event, *self.options)
            hook = {"type": "command", "command": shlex.join(words), "timeout": _SECONDS[event]}
            matcher = {"matcher": "|".join(HINT_TOOLS)} if event in HINT_EVENTS else {}
            document = document.append(("hooks", event), {**matcher, "hooks": [hook]})
        return document.text

    def removed(self, text: str, before: str | None) -> str:
        document = JsonText(text, lenient=False)
        if _our_hook(document.root.value) is None:
            return text
        while (place := _our_hook(document.root.value)) is not None:
            document = document.remove(place)
        for event in HOOK_EVENTS:
            document = _pruned(document, ("hooks", event), before, lenient=False)
        return _pruned(document, ("hooks",), before, lenient=False).text


def missing_hooks(text: str) -> tuple[str, ...]:
    """Return the events that a settings file with hooks of ours has none for; empty without any.

    Raises ``ClientConfigError`` for a file that is no JSON.
    """
    document = JsonText(text, lenient=False)
    present = set[str | int]()
    while (place := _our_hook(document.root.value)) is not None:
        present.add(place[1])
        document = document.remove(place)
    return tuple(event for event in HOOK_EVENTS if event not in present) if present else ()


def _our_hook(settings: Any) -> tuple[str | int, ...] | None:
    """Where a hook of ours stands; with the entry around it when nothing else is in that."""
    events = settings.get("hooks") if isinstance(settings, dict) else None
    for event, entries in events.items() if isinstance(events, dict) else ():
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            hooks = entry.get("hooks") if isinstance(entry, dict) else None
            ours = [
                index
                for index, hook in enumerate(hooks if isinstance(hooks, list) else ())
                if isinstance(hook, dict) and _HOOK.search(str(hook.get("command")))
            ]
            if hooks and len(ours) == len(hooks):
                return ("hooks", event, number)
            if ours:
                return ("hooks", event, number, "hooks", ours[0])
    return None


def _pruned(
    document: JsonText, path: tuple[str, ...], before: str | None, lenient: bool
) -> JsonText:
    """Without the empty containers on the way to ``path`` that weren't there before."""
    if before is None:
        return document
    earlier = JsonText(before, lenient=lenient)
    while path:
        node = document.find(path)
        if node is not None and (node.value or earlier.find(path) is not None):
            break
        if node is not None:
            document = document.remove(path)
        path = path[:-1]
    return document
