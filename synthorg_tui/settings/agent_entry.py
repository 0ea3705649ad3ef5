"""One agent's entry in the settings file, as the text that a person edits.

Only the lines of the entry change; every other byte of the file, comments too, stays. What the new
file would say is checked whole before it is written, so a text can't reach beyond its entry.
"""

import difflib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import ConfigError
from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.settings.document import Document, parse_document
from synthorg_tui.settings.loader import load_settings

TEMPLATE: Final = """\
# What holds for this agent; what is left out, or stays a comment, is the company's. Without any
# value the agent has no entry in the settings.
- id: {id}
#  role: Backend Developer
#  department: Engineering
#  seniority: senior       # junior, mid, senior, lead, principal, director, vp, c_suite
#  level: project          # persistent, project, session, none
#  retrieval: {{max_memories: 5}}
#  digest: {{enabled: true}}
#  self_editing: {{allow_core_writes: false}}
"""
_BY_HAND: Final = "Edit the whole file instead: `synthorg-tui config path` says where it is."


@dataclass(frozen=True, slots=True)
class EntryChange:
    """A change of an agent's entry that was checked and not written yet.

    ``before`` and ``after`` are the texts of the file at ``path``, which needn't exist.
    """

    path: Path
    before: str
    after: str

    @property
    def is_needed(self) -> bool:
        """Whether the file would change."""
        return self.before != self.after

    @property
    def diff(self) -> tuple[str, ...]:
        """The changed lines as a unified diff, without the names of files."""
        texts = self.before.splitlines(), self.after.splitlines()
        return tuple(difflib.unified_diff(*texts, lineterm="", n=1))[2:]


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The settings file: its text, its lines with their ends, and where each agent's begin."""

    path: Path
    text: str
    lines: list[str]
    agents: list[object]
    starts: list[int]

    @property
    def ending(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def place(self, agent_id: str) -> slice | None:
        """The lines of an agent's entry; ``None`` when it has none."""
        for agent, start in zip(self.agents, self.starts, strict=True):
            if isinstance(agent, dict) and agent.get("id") == agent_id:
                return slice(start, self.end(start))
        return None

    def end(self, start: int) -> int:
        """The line behind an entry, whose own lines are all indented further than its first."""
        indent, end = _indent(self.lines[start]), start + 1
        for at in range(start + 1, len(self.lines)):
            bare = self.lines[at].strip()
            if bare and len(_indent(self.lines[at])) > len(indent):
                end = at + 1
            elif bare and not bare.startswith("#"):
                break
        return end


def entry_of(path: Path, agent_id: str) -> str:
    """Return an agent's entry as text to edit, or one with suggestions for an agent without.

    Raises ``ConfigError`` where the file can't be read, or doesn't list its agents by lines.
    """
    file = _parsed(path)
    place = file.place(agent_id)
    if place is None:
        return TEMPLATE.format(id=json.dumps(agent_id))
    indent = _indent(file.lines[place.start])
    rows = (line.removeprefix(indent).rstrip() for line in file.lines[place])
    return "".join(f"{row}\n" for row in rows)


def plan_entry(path: Path, agent_id: str, entry: str) -> EntryChange:
    """Return the change that gives an agent this entry; one without any value removes it.

    Raises ``ConfigError`` with every problem that the settings would have, also for a text that
    says anything beyond this agent's entry.
    """
    file = _parsed(path)
    rows = [row.rstrip() for row in entry.splitlines()]
    values = [row for row in rows if row.strip() and not row.lstrip().startswith("#")]
    wanted = [row for row in rows if row and not row.startswith("#")] if len(values) > 1 else []
    change = EntryChange(path, file.text, _with_entry(file, agent_id, wanted))
    _require_only(change, agent_id, count=1 if wanted else 0)
    _require_valid(change)
    return change


def write_entry(change: EntryChange) -> None:
    """Write a planned change; raises ``ConfigError`` when the file was changed since."""
    if _read(change.path) != change.before:
        raise ConfigError(f"{change.path} was changed meanwhile", remedy="Try again.")
    path = change.path.resolve()  # a link to a file elsewhere stays one
    if not path.parent.is_dir():
        ensure_private_dir(path.parent)
    mode = path.stat().st_mode & 0o777 if path.exists() else PRIVATE_FILE
    write_atomically(path, change.after.encode("utf-8"), mode=mode)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: can't be read: {error}") from error


def _data(text: str, path: Path) -> Document:
    return parse_document(text.removeprefix("\ufeff"), str(path))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _parsed(path: Path) -> _Parsed:
    text = _read(path)
    document, lines = _data(text, path), text.splitlines(keepends=True)
    agents = document.data.get("agents") or []
    if not isinstance(agents, list):
        raise ConfigError(f"{path}: agents must be a list", remedy=_BY_HAND)
    starts = [document.lines[("agents", at)] - 1 for at in range(len(agents))]
    if any(not lines[at].lstrip(" ").startswith("- ") for at in starts):
        raise ConfigError(f"{path}: its agents don't have lines of their own", remedy=_BY_HAND)
    return _Parsed(path, text, lines, agents, starts)


def _with_entry(file: _Parsed, agent_id: str, entry: Sequence[str]) -> str:
    """The text of the file with the entry in its place, else behind the last one."""
    lines, place = list(file.lines), file.place(agent_id)
    if place is None and not entry:
        return file.text
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += file.ending
    indent = _indent(lines[file.starts[-1]]) if file.starts else "  "
    if place is None and file.starts:
        end = file.end(file.starts[-1])
        place = slice(end, end)
    elif place is None:
        heads = [at for at, line in enumerate(lines) if line.startswith("agents:")]
        at = heads[0] if heads else len(lines)
        lines[at : at + 1] = [f"agents:{file.ending}"]
        place = slice(at + 1, at + 1)
    lines[place] = [f"{indent}{row}{file.ending}" for row in entry]
    return "".join(lines)


def _require_only(change: EntryChange, agent_id: str, *, count: int) -> None:
    """Refuse a text that would change anything but the entry of this agent."""

    def split(text: str) -> tuple[object, list[object], int]:
        data = dict(_data(text, change.path).data)
        agents = data.pop("agents", None) or []
        listed = agents if isinstance(agents, list) else [agents]
        others = [
            each
            for each in listed
            if not (isinstance(each, Mapping) and each.get("id") == agent_id)
        ]
        return data, others, len(listed) - len(others)

    rest, others, _ = split(change.before)
    new_rest, new_others, found = split(change.after)
    if (new_rest, new_others) != (rest, others) or found != count:
        raise ConfigError(
            f"{change.path}: the text must be one entry, with id: {agent_id}", remedy=_BY_HAND
        )


def _require_valid(change: EntryChange) -> None:
    """Raise ``ConfigError`` with the problems of the file as it would be."""
    with tempfile.TemporaryDirectory(prefix="synthorg-") as folder:
        trial = Path(folder) / change.path.name
        trial.write_bytes(change.after.encode("utf-8"))
        try:
            load_settings(trial, environ={})
        except ConfigError as error:
            told = error.message.replace(str(trial), str(change.path))
            raise ConfigError(told) from None
