"""Which programs a shell call surely ran: read strictly, and nothing where it isn't sure.

``executions.commands`` names what a command was for and guesses where it must. Here a guess would
accuse somebody of what was never run: text that is quoted, commented out, written to a file, or
behind a condition. So a command with any construct that isn't understood ran nothing, as far as
this tells.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.models import ToolCall

MAX_COMMAND: Final = 20_000
_MAX_NESTED: Final = 8
_OPERATORS: Final = re.compile(r"&&|\|\||\|&|;;|[;|&\n]")
_REDIRECTION: Final = re.compile(r"(?:\d*|&)(?:<<<|<<-?|>>|>\||[<>]&|<>|[<>])")
_PIECE: Final = re.compile(
    r"'(?P<raw>[^']*)'|\\(?P<escaped>.?)|(?P<opens>\$\()"
    r"|(?P<other>`[^`]*`|\$\{[^}]*\}|\$(?=[\w?!#@*$-])|[*?\[\]{}~])"
    r"|(?P<plain>\$(?![{'])|[^'\"`$\\])",
    re.DOTALL,
)
"""A piece of a word; ``other`` is what the shell puts something else for."""
_IN_QUOTES: Final = re.compile(r"\\(?P<escaped>.?)|(?P<plain>[^\"\\$`]+)", re.DOTALL)
_RESERVED: Final = frozenset(
    "if then elif else fi for while until do done case esac select function { } [[ ! coproc".split()  # noqa: SIM905
)
_LEAVES: Final = frozenset({"exit", "return", "exec", "alias", "unalias", "break", "continue"})
"""After one of them in a command it isn't sure what runs, or what it is."""
_SETS: Final = re.compile(r"-[a-zA-Z]*e[a-zA-Z]*")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_PLAIN_FLAGS: Final = {
    "sudo": frozenset({"-n", "-E", "-H", "-S", "-i", "-b"}),
    "env": frozenset({"-i", "-"}),
    "time": frozenset({"-p"}),
    "nohup": frozenset[str](),
    "nice": frozenset[str](),
    "command": frozenset({"-p"}),
    "timeout": frozenset({"--foreground", "--preserve-status"}),
    "npx": frozenset({"-y", "--yes"}),
    "bunx": frozenset[str](),
}
"""Programs that run another one, with their options that take no value."""
_RUNNERS: Final = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("pnpm", "exec")}
)


UNTOLD: Final = "?"
"""Takes the place of a folder that isn't told."""


class _UnsureError(Exception):
    """The command has something in it whose meaning isn't told here."""


@dataclass(frozen=True, slots=True)
class ShellWord:
    """A word as the program gets it; not ``is_plain`` if the shell puts something else there."""

    text: str
    is_plain: bool = True


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program that ran with its arguments; ``worked`` is ``None`` where that isn't known.

    ``folder`` is where an earlier ``cd`` of the call went, empty without one, ``UNTOLD`` where that
    isn't plain.
    """

    words: tuple[ShellWord, ...]
    worked: bool | None
    folder: str = ""

    @property
    def shown(self) -> str:
        """The words as one types them."""
        return " ".join(
            shlex.quote(word.text) if word.is_plain else word.text for word in self.words
        )

    def forms(self) -> Iterator[tuple[ShellWord, ...]]:
        """The words, then without what runs another program: ``sudo``, ``env A=1``, ``uv run``."""
        words: tuple[ShellWord, ...] | None = _unassigned(self.words)
        while words:
            yield words
            words = _inner(words)


@dataclass(slots=True)
class _Chain:
    """Pipelines joined by ``&&`` and ``||``; ``joints`` has what stands before each but the first.

    ``is_behind`` says that nobody waits for it.
    """

    pipelines: list[list[list[ShellWord]]] = field(default_factory=lambda: [[[]]])
    joints: list[str] = field(default_factory=list)
    is_behind: bool = False

    @property
    def commands(self) -> list[list[ShellWord]]:
        return [words for pipeline in self.pipelines for words in pipeline if words]


def sure_runs(call: ToolCall) -> tuple[ProgramRun, ...]:
    """Return the programs that a shell call surely ran; none when it was stopped or isn't sure."""
    ran = call.outcome in (CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN)
    if not call.is_shell or not ran or call.result_line is None:
        return ()
    if len(call.arguments) > MAX_COMMAND:
        return ()
    try:
        chains = _ShellReader(call.arguments).chains()
    except _UnsureError:
        return ()
    return tuple(_surely(chains, call.outcome))


def _surely(chains: list[_Chain], outcome: CallOutcome) -> Iterator[ProgramRun]:
    stops_at_errors, folder = False, ""
    alone = len(chains) == 1 and len(chains[0].commands) == 1
    for number, chain in enumerate(chains):
        is_last = number == len(chains) - 1
        if stops_at_errors and outcome is not CallOutcome.OK:
            return
        waited = is_last and not chain.is_behind
        went_well = outcome is CallOutcome.OK and waited and "||" not in chain.joints
        ran = chain.pipelines if went_well else chain.pipelines[:1]
        for pipeline in ran:
            for place, words in enumerate(pipeline):
                worked = True if went_well and place == len(pipeline) - 1 else None
                if alone and waited and outcome is CallOutcome.FAILED:
                    worked = False
                yield ProgramRun(tuple(words), worked, folder)
                folder = _folder_after(words, folder)
        if any(_folder_after(words, "") for words in chain.commands) and ran != chain.pipelines:
            folder = UNTOLD
        first = {words[0].text for words in chain.commands}
        if first & _LEAVES:
            return
        stops_at_errors |= any(
            words[0].text == "set" and any(_SETS.fullmatch(word.text) for word in words[1:])
            for words in chain.commands
        )


def _folder_after(words: list[ShellWord], folder: str) -> str:
    """Where the shell is after a command."""
    if not words or words[0].text not in ("cd", "pushd", "popd"):
        return folder
    is_plain = len(words) == 2 and words[1].is_plain and words[1].text != "-"
    return posixpath.join(folder, words[1].text) if is_plain and folder != UNTOLD else UNTOLD


class _ShellReader:
    """Reads a command into chains of pipelines; raises ``_UnsureError`` when it isn't plain."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._awaited: list[tuple[str, bool]] = []

    def chains(self) -> list[_Chain]:
        found = [_Chain()]
        while self._at < len(self._text):
            self._step(found)
        if self._awaited:
            raise _UnsureError
        whole = [chain for chain in found if chain.commands]
        for words in (words for chain in whole for words in chain.commands):
            first = _unassigned(tuple(words))[:1]
            if first and first[0].is_plain and first[0].text in _RESERVED:
                raise _UnsureError
        return whole

    def _step(self, found: list[_Chain]) -> None:
        here = self._text[self._at]
        words = found[-1].pipelines[-1][-1]
        if here in " \t\r" or self._text.startswith("\\\n", self._at):
            self._at += 2 if here == "\\" else 1
        elif here == "#":
            end = self._text.find("\n", self._at)
            self._at = len(self._text) if end < 0 else end
        elif redirection := _REDIRECTION.match(self._text, self._at):
            self._redirect(redirection)
        elif operator := _OPERATORS.match(self._text, self._at):
            self._at = operator.end()
            self._operator(operator[0], found)
        else:
            words.append(self._word())

    def _operator(self, operator: str, found: list[_Chain]) -> None:
        chain = found[-1]
        if operator == ";;":
            raise _UnsureError
        if operator in ("|", "|&"):
            chain.pipelines[-1].append([])
        elif operator in ("&&", "||"):
            chain.pipelines.append([[]])
            chain.joints.append(operator)
        elif operator == "\n":
            self._skip_documents()
            goes_on = not chain.pipelines[-1][-1] and (
                len(chain.pipelines) > 1 or len(chain.pipelines[-1]) > 1
            )
            if not goes_on:
                found.append(_Chain())
        else:
            chain.is_behind = operator == "&"
            found.append(_Chain())

    def _redirect(self, found: re.Match[str]) -> None:
        self._at = found.end()
        if self._text.startswith("(", self._at):
            raise _UnsureError
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        word = self._word()
        if not word.text and word.is_plain:
            raise _UnsureError
        if found[0].endswith(("<<", "<<-")):
            self._awaited.append((word.text, found[0].endswith("-")))

    def _skip_documents(self) -> None:
        for end, has_tabs in self._awaited:
            while True:
                if self._at >= len(self._text):
                    raise _UnsureError
                stop = self._text.find("\n", self._at)
                stop = len(self._text) if stop < 0 else stop
                line = self._text[self._at : stop]
                self._at = stop + 1
                if (line.lstrip("\t") if has_tabs else line) == end:
                    break
        self._awaited.clear()

    def _word(self) -> ShellWord:
        parts: list[str] = []
        is_plain = True
        while self._at < len(self._text):
            here = self._text[self._at]
            if here in " \t\r\n;|&<>":
                break
            if here in "()":
                raise _UnsureError
            part, plain = self._piece()
            parts.append(part)
            is_plain &= plain
        return ShellWord("".join(parts), is_plain)

    def _piece(self, depth: int = 0) -> tuple[str, bool]:
        """The next piece of a word, and whether it is what it says.

        A variable, or what a command in the word prints, is skipped: its text is as it is written.
        """
        start = self._at
        if self._text[start] == '"':
            return self._quoted(depth)
        found = _PIECE.match(self._text, start)
        if found is None:
            raise _UnsureError
        self._at = found.end()
        if found["opens"]:
            self._substitution(depth + 1)
            return self._text[start : self._at], False
        if found.lastgroup == "escaped":
            return found["escaped"].strip("\n"), True
        return found["raw"] or found["plain"] or found["other"] or "", found["other"] is None

    def _quoted(self, depth: int) -> tuple[str, bool]:
        self._at += 1
        parts: list[str] = []
        is_plain = True
        while not self._text.startswith('"', self._at):
            if found := _IN_QUOTES.match(self._text, self._at):
                self._at = found.end()
                parts.append(found["escaped"] or found["plain"] or "")
            elif self._at < len(self._text):
                part, plain = self._piece(depth)
                parts.append(part)
                is_plain &= plain
            else:
                raise _UnsureError
        self._at += 1
        return "".join(parts), is_plain

    def _substitution(self, depth: int) -> None:
        """Go to the end of a ``$(``; documents in it may have any brackets and quotes."""
        if depth > _MAX_NESTED:
            raise _UnsureError
        outer, self._awaited = self._awaited, []
        opened = 1
        while opened:
            if self._at >= len(self._text):
                raise _UnsureError
            here = self._text[self._at]
            if not self._inside(here, depth):
                self._at += 1
                opened += (here == "(") - (here == ")")
                if here == "\n":
                    self._skip_documents()
        if self._awaited:
            raise _UnsureError
        self._awaited = outer

    def _inside(self, here: str, depth: int) -> bool:
        """Skip what hides brackets in a substitution; whether there was any."""
        found = _REDIRECTION.match(self._text, self._at) if here == "<" else None
        if found is not None and found[0].startswith("<<"):
            self._redirect(found)
            return True
        if here in "'\\\"$`":
            self._piece(depth)
            return True
        return False


def _unassigned(words: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    while words and _ASSIGNMENT.fullmatch(words[0].text):
        words = words[1:]
    return words


def _inner(words: tuple[ShellWord, ...]) -> tuple[ShellWord, ...] | None:
    """What a program such as ``sudo`` runs; ``None`` when it isn't one, or that isn't plain."""
    name = words[0].text.rpartition("/")[2]
    if tuple(word.text for word in words[:2]) in _RUNNERS:
        rest, flags = words[2:], frozenset[str]()
    elif name in _PLAIN_FLAGS and words[0].is_plain:
        rest, flags = words[1:], _PLAIN_FLAGS[name]
    else:
        return None
    while rest and rest[0].text.startswith("-"):
        if rest[0].text not in flags:
            return None
        rest = rest[1:]
    if name == "timeout":
        rest = rest[1:]
    return _unassigned(rest) or None
