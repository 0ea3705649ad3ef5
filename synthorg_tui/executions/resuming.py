"""The commands that resume a session in the agent's own program.

Only what the program's documentation says is here. An agent that isn't listed can't be told which
of its sessions to go on with.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ID: Final = "{id}"
_FILE: Final = "{file}"
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "aider": ("aider", "--restore-chat-history"),
    "claude_code": ("claude", "--resume", _ID),
    "codex": ("codex", "resume", _ID),
    "copilot": ("copilot", "--resume", _ID),
    "gemini": ("gemini", "--resume", _ID),
    "goose": ("goose", "session", "--resume", "--session-id", _ID),
    "opencode": ("opencode", "--session", _ID),
    "openhands": ("openhands", "--resume", _ID),
    "pi": ("pi", "--session", _FILE),
    "qwen": ("qwen", "--resume", _ID),
}
_IN_EDITOR: Final = frozenset({"cline", "roo", "cursor"})


@dataclass(frozen=True, slots=True)
class Resumption:
    """How to resume a session: ``command``, in ``directory``; without one, ``problem`` says why.

    ``directory`` is empty when the session's project isn't known.
    """

    command: tuple[str, ...] = ()
    directory: str = ""
    problem: str = ""

    @property
    def line(self) -> str:
        """The command as a line for a shell; empty when there is none."""
        if not self.command:
            return ""
        where = f"cd {shlex.quote(self.directory)} && " if self.directory else ""
        return where + shlex.join(self.command)


def resumption(session_id: str, path: str, project: str | None) -> Resumption:
    """Return how to resume a session of ours, whose transcript was read at ``path``.

    A session that an agent started itself is resumed in the one that it is part of.
    """
    reader, _, name = session_id.partition(":")
    command = _COMMANDS.get(reader)
    if command is None:
        return Resumption(problem=_why_not(reader))
    if not Path(path).exists():
        told = f"{command[0]} has deleted its own file of this session: {path}"
        return Resumption(problem=told)
    values = {_ID: name.partition("/")[0], _FILE: path}
    directory = project if project and Path(project).is_absolute() else ""
    if directory and not Path(directory).is_dir():
        return Resumption(problem=f"the folder of its project isn't there any more: {directory}")
    return Resumption(tuple(values.get(part, part) for part in command), directory)


def _why_not(reader: str) -> str:
    if reader in _IN_EDITOR:
        return f"{reader} resumes its sessions in the editor only: look for it in its history there"
    if reader == "generic":
        return "an agent reported this session itself, and no program has it"
    return f"{reader} has no command that resumes a session"
