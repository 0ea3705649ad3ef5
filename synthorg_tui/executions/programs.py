"""What is known of other programs: which start another, and which run a project's scripts.

The table is ``programs.toml``; what the settings add to it (``ingest.commands``) comes first. It is
read once.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

STARTS: Final = "starts"
"""The purpose of an entry of the settings for a program that only starts another."""
PURPOSES: Final = (
    *("test", "check", "build", "format", "run", "migrate", "generate", "release"),
    STARTS,
)
_own: Final[list[str]] = []
_NOTHING: Final[frozenset[str]] = frozenset()
_FOLDERS: Final = frozenset({"-C", "-f", "--file", "--filter", "-F", "--dir", "--prefix", "-w"})
"""Options with a value that may stand between the words of a program's name."""
_NAME: Final = re.compile(r"[A-Za-z:][\w:./@+-]*")
_FILE: Final = re.compile(r".*\.(?:[cm]?[jt]sx?|py|rb|sh|go|rs|php|exs?|json|toml|ya?ml|html?|md)")
_MENDING: Final = frozenset({"fix", "write"})
"""Parts of the name of a script that mends what it finds."""
_PARTS: Final = re.compile(r"[:._/-]|(?<=[a-z0-9])(?=[A-Z])")
_SUFFIX: Final = re.compile(r"\.(?:exe|cmd|bat|ps1)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that starts another: after its options and ``takes`` words comes the command.

    One that starts it ``inside`` of something is a command of its own.
    """

    words: tuple[str, ...]
    values: frozenset[str] = _NOTHING
    takes: int = 0
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Runner:
    """A program that runs scripts by name; ``programs.toml`` says what each field means."""

    verbs: frozenset[str] = _NOTHING
    bare: bool = False
    values: frozenset[str] = _NOTHING
    builtin: frozenset[str] = _NOTHING
    named: frozenset[str] = _NOTHING
    prefixes: frozenset[str] = _NOTHING
    ignored: frozenset[str] = _NOTHING
    targets: bool = False
    default: str = ""

    def script(self, words: Sequence[str]) -> tuple[str, int]:
        """Return the name of the script that a command runs, and the place after it."""
        is_asked, place = self.bare, 1
        while place < len(words):
            word = words[place]
            option, _, value = word.partition("=")
            if option in self.named:
                return (value, place + 1) if value else ("".join(words[place + 1 : place + 2]), 9)
            if word[:1] in {"-", "+"}:
                place += 1 + (word in self.values)
            elif word in self.verbs:
                is_asked, place = True, place + 1
            elif word in self.prefixes:
                place += 2
            elif word in self.ignored or (value and option.isidentifier()):
                place += 1
            else:
                known = is_asked and (word not in self.builtin or self._ran(words[:place]))
                is_name = _NAME.fullmatch(word) and not _FILE.fullmatch(word)
                return (word, place + 1) if known and is_name else ("", len(words))
        return "", len(words)

    def _ran(self, words: Sequence[str]) -> bool:
        return not self.verbs.isdisjoint(words)


@dataclass(slots=True)
class Programs:
    """The whole table. ``roles`` are in the order in which work is done."""

    wrappers: dict[str, list[Wrapper]] = field(default_factory=dict)
    runners: dict[str, Runner] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    scripts: dict[str, str] = field(default_factory=dict)
    programs: dict[str, list[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def unwrapped(self, words: Sequence[str], *, inside: bool = False) -> Sequence[str]:
        """Return a command without what only starts it, such as ``sudo`` or ``uv run``."""
        for wrapper in self.wrappers.get(program_name(words[0]), ()) if words else ():
            if wrapper.inside and not inside:
                continue
            end = _matched(wrapper.words, words, wrapper.values | _FOLDERS)
            if end:
                while end < len(words) and words[end].startswith("-"):
                    end += 1 + (words[end] in wrapper.values)
                end += wrapper.takes
                return words[end + ("".join(words[end : end + 1]) == "--") :]
        return words

    def of_program(self, words: Sequence[str]) -> tuple[str, int]:
        """Return what a program is for, and the place of its first argument."""
        runs_scripts = words[0] in self.runners
        for role, pattern in self.programs.get(words[0], ()):
            end = _matched(pattern, words, _FOLDERS)
            more = len(pattern) > 1 or not runs_scripts or not any(_operands(words[1:]))
            if end and more:
                return role, end
        return "", 0

    def of_script(self, name: str) -> str:
        """Return what a script is for by a part of its name; a format that is checked is one."""
        parts = [part.lower() for part in _PARTS.split(name)]
        found = [self.scripts[each] for each in (name, *parts) if each in self.scripts]
        if not _MENDING.isdisjoint(parts):
            return "format"
        role = next(iter(found), "")
        return "check" if role == "format" and "check" in found else role


@lru_cache(maxsize=1)
def known_programs() -> Programs:
    """Return the table."""
    table = tomllib.loads(files(__package__).joinpath("programs.toml").read_text("utf-8"))
    known = Programs(roles=tuple(table["roles"]), options=table["options"])
    for entry in table["wrappers"]:
        values = frozenset(entry.get("values", ()))
        for name in entry["words"]:
            words = tuple(name.split())
            known.wrappers.setdefault(words[0], []).append(
                Wrapper(words, values, entry.get("takes", 0), entry.get("inside", False))
            )
    for entry in table["runners"]:
        runner = Runner(**{key: _field(value) for key, value in entry.items() if key != "words"})
        known.runners |= dict.fromkeys(entry["words"], runner)
    for role, entry in table["roles"].items():
        known.scripts |= dict.fromkeys(entry.get("names", ()), role)
        for pattern in entry["programs"]:
            first, *rest = pattern.split()
            for name in first.split("|"):
                known.programs.setdefault(name, []).append((role, (name, *rest)))
    for entry in reversed(_own):
        purpose, words = read_own(entry)
        if purpose == STARTS:
            known.wrappers.setdefault(words[0], []).insert(0, Wrapper(words))
        else:
            known.programs.setdefault(words[0], []).insert(0, (purpose, words))
    return known


def read_own(entry: str) -> tuple[str, tuple[str, ...]]:
    """Return the purpose and the words of a person's entry, such as ``check: bin/verify``.

    Raises ``ValueError`` for one of another form.
    """
    purpose, _, command = (part.strip() for part in entry.partition(":"))
    words = command.split()
    if purpose not in PURPOSES or not words:
        raise ValueError(f"not PURPOSE: COMMAND with one of {', '.join(PURPOSES)}")
    return purpose, (program_name(words[0]), *words[1:])


def set_own_programs(entries: Iterable[str]) -> bool:
    """Set what the settings add to the table; return whether that differs from before."""
    if _own == [*entries]:
        return False
    _own[:] = entries
    known_programs.cache_clear()
    return True


def program_name(word: str) -> str:
    """Return the name of a program without its folder and the ending of an executable file."""
    return _SUFFIX.sub("", word.replace("\\", "/").rstrip("/").rpartition("/")[2])


def _field(value: object) -> Any:
    return frozenset(value) if isinstance(value, list) else value


def _operands(words: Iterable[str]) -> Iterator[str]:
    return (word for word in words if word[:1] not in {"-", ""} and "=" not in word)


def _matched(pattern: Sequence[str], words: Sequence[str], values: frozenset[str]) -> int:
    """The place after the words of a pattern, which options may stand between; 0 without them.

    A word of a pattern that begins with ``-`` may stand anywhere, ``*`` is any word.
    """
    place = 0
    for number, wanted in enumerate(pattern):
        if wanted[0] == "-":
            if wanted not in words:
                return 0
            continue
        while number and place < len(words) and words[place][:1] == "-":
            place += 1 + (words[place] in values)
        given = program_name(words[place]) if number == 0 else "".join(words[place : place + 1])
        if not given or (wanted != "*" and given not in wanted.split("|")):
            return 0
        place += wanted != "*"
    return place
