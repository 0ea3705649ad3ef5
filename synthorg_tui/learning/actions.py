"""Calls as agents make them, and the form in which a command is known to fail.

Plain data with comparisons: whether two commands are written alike, lie in one project, or run in
one folder. What of it makes a lesson come up is for ``triggers``.
"""

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a digest is prepared without what reads commands
    from synthorg_tui.executions.commands import Step


@dataclass(frozen=True, slots=True)
class AgentAction:
    """A call that an agent is about to make, or that just failed with ``error``.

    ``command`` is the shell command and ``file`` the path, whichever the tool has; ``cwd`` is the
    folder it runs in and ``project`` the project's.
    """

    tool: str = "bash"
    command: str = ""
    file: str = ""
    error: str = ""
    cwd: str = ""
    project: str | None = None

    @property
    def steps(self) -> "tuple[Step, ...]":
        """The programs that it runs; none for tools that run no command."""
        from synthorg_tui.executions.commands import command_steps

        return command_steps(self.command) if self.command else ()

    @property
    def verb(self) -> str:
        """The kind of file tool: ``edit``, ``write``, ``read``, or the tool's own name."""
        from synthorg_tui.executions.commands import call_intent
        from synthorg_tui.executions.models import is_shell

        if self.command or is_shell(self.tool):
            return ""
        return call_intent(self.tool, {"file_path": "x"}).partition(" ")[0]

    @property
    def path(self) -> str:
        """The file as an absolute path, as far as that is known; empty without one."""
        return in_folder(self.file, self.cwd, self.project) if self.file else ""

    @property
    def where(self) -> str:
        """The folder that tells which project it is made in."""
        return self.project or self.cwd


@dataclass(frozen=True, slots=True)
class FailingForm:
    """How a command was written that failed, as against the one that worked.

    ``dropped`` are words that had to go and ``added`` those that were missing, before the program
    (``lead``) or after it; ``names`` are its other words and ``flags`` its options, and
    ``names_matter`` says that the error spoke of them; ``told`` that it named all options that had
    to go, so that nothing else matters. ``directory`` is where alone it works; ``replaced`` that
    another program has to be run instead.
    """

    words: tuple[str, ...]
    lead: frozenset[str]
    dropped: frozenset[str]
    added: frozenset[str]
    lead_dropped: frozenset[str]
    lead_added: frozenset[str]
    names: tuple[str, ...]
    flags: tuple[str, ...]
    names_matter: bool = False
    told: bool = False
    directory: str = ""
    replaced: bool = False

    @property
    def differs(self) -> bool:
        """Whether the command that worked was written otherwise at all."""
        words = self.dropped or self.added or self.lead_added or self.lead_dropped
        return self.replaced or bool(words)

    def is_of(self, step: "Step") -> bool:
        """Tell whether a step is written in the failing form, and in no other way different."""
        words, lead = frozenset(step.words), frozenset(step.lead)
        if not (self.dropped <= words and self.lead_dropped <= lead):
            return False
        if self.added & words or self.lead_added & lead:
            return False
        names, flags = arguments(step)
        if self.told:
            return True
        if self.names_matter and names != self.names:
            return False
        return flags == self.flags and len(names) == len(self.names)

    def is_answered_by(self, step: "Step") -> bool:
        """Tell whether a step is written as the one that worked, names aside."""
        words = frozenset(step.words)
        wanted = [word for word in self.added if word.startswith("-")] or list(self.added)
        if not (self.added or self.lead_added) or self.dropped & words:
            return False
        has_all = all(any(stands_for(word, given) for given in words) for word in wanted)
        return has_all and self.lead_added <= frozenset(step.lead)


def stands_for(option: str, given: str) -> bool:
    """Whether an option was given, be it by a letter that a word of it begins with."""
    is_letter = re.fullmatch(r"-\w", given) is not None and option.startswith("--")
    initials = {word[:1] for word in option.strip("-").partition("=")[0].split("-")}
    return given == option or (is_letter and given[1] in initials)


def in_folder(path: str, *folders: str | None) -> str:
    """Return a path as it is from the first of these folders that is known."""
    base = next(filter(None, folders), "")
    return posixpath.normpath(posixpath.join(base, path))


def arguments(step: "Step") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that a step is given, and its options in order of the alphabet."""
    program = set(step.intent.split())
    rest = [word for word in step.words[1:] if word not in program]
    flags = sorted(word for word in rest if word.startswith("-") and len(word) > 1)
    return tuple(word for word in rest if word not in flags), tuple(flags)
