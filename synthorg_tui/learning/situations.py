"""Situations: what a failed command ran into, in the few words that a skill is called and found by.

Well-known errors of common tools have a name and words of their own; of any other the telling
words of its error are picked. Both are made of the program and of the error's signature alone, so
that the same failure has the same name in every run, and none that only one run had.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from synthorg_tui.learning.failure_words import FAILURES
from synthorg_tui.learning.phrases import is_path

MAX_NAME_WORDS = 5
_MAX_PROGRAM_WORDS = 3
_MAX_WORD = 20


class Situation(NamedTuple):
    """What is known of a failure.

    ``name`` is two to five words joined by hyphens. ``when`` goes on after "Use when" and ``why``
    is the reason; both are empty when only the error itself can say it. ``title`` and ``do`` are
    what to do where that is known. With ``is_plain`` anybody knows it, so that only coming again
    makes it a lesson.
    """

    name: str
    when: str = ""
    why: str = ""
    title: str = ""
    do: str = ""
    is_plain: bool = False


_MISSING = (
    r"no module named ['\"]?(\w+)",
    r"(?:cannot find|could ?n[o']t resolve|module not found:?.*) (?:module |package )?['\"`]"
    r"(@?[\w-]+)['\"`]",
    r"\bno :?([a-z]+_\w+)\b",
    r"\brequires (\w[\w-]*) (?:as a|to be installed|in your)\b",
    r"\bplease install (\w[\w-]*)",
    r"no such (?:sub)?command:? ['\"`]?(\w[\w-]*)",
    r"\b(\w[\w-]*)['\"`]? is not installed",
    r"(?:^|: )(\w[\w-]*): not found$",
    r"environment variable ['\"`]?(\w+)['\"`]? is (?:missing|not set)",
)
"""Errors that say what is missing: its name tells more than any word of the sentence."""
_SMALL = frozenset(
    """
    a about all an and any are as at be because been before but by can cannot can't could couldn't
    did didn't do does doesn't during each either error errors exit exited fail failed fails fatal
    file files for from get give had has have here how if in into invalid is isn't it its make may
    more must need needs of on one only or other our out over please refuses refusing run see should
    so some such than that the their them then there these this those to too true try unable up us
    use used using was wasn't we were what when where which while will with won't would you your
    following warning line code returned status
    """.split()  # noqa: SIM905  a list of single strings is harder to read
)
_NEGATED = {"no", "not", "without", "never"}


def situation_of(program: str, error: str, own: Iterable[str] = ()) -> Situation:
    """Return what is known of a failure, by the ``program`` with its subcommand that failed.

    ``error`` is the signature of its error line; words of ``own`` (arguments of the call) get into
    no name.
    """
    known = next((each for each in FAILURES.data["errors"] if _fits(each, program, error)), None)
    words = program_words(program)
    if known is None:
        values = _lower(word for word in own if not word.startswith("-"))
        return Situation(_joined(words, _telling(error, {*words, *values})))
    rest = known["name"].replace("{p}-", "").count("-") + 1
    shown = " ".join(program.split()[:3])
    plain = shown if re.fullmatch(r"[\w .:-]+", shown) and shown.isascii() else words[0]
    return Situation(
        name=known["name"].replace("{p}", "-".join(words[: MAX_NAME_WORDS - rest])),
        when=known.get("when", "").replace("{p}", plain),
        why=known.get("why", ""),
        title=known.get("title", ""),
        do=known.get("do", ""),
        is_plain=known.get("is_plain", False),
    )


def program_words(program: str) -> tuple[str, ...]:
    """Return a program with its subcommands as one to three words of a name.

    A script of the project is only ``script``: its path is the project's own.
    """
    first, *more = program.split() or [""]
    path = PurePosixPath(first)
    if "/" in first:
        is_tool = "bin" in path.parts or (len(path.parts) == 1 and not path.suffix)
        first, more = (path.name if is_tool else "script"), more * is_tool
    words = [word for part in (first, *more) if not is_path(part) for word in _slugs(part)]
    return tuple(words[:_MAX_PROGRAM_WORDS]) or ("command",)


def _fits(known: dict[str, str], program: str, error: str) -> bool:
    """Whether this is the well-known error."""
    return bool(re.fullmatch(known["program"], program) and re.search(known["error"], error))


def _telling(error: str, own: set[str]) -> Iterator[str]:
    """The words of an error that tell most, in their order."""
    for pattern in _MISSING:
        if (found := re.search(pattern, error)) and not found[1].startswith("-"):
            yield from ("missing", *_slugs(found[1]))
            return
    bare = FAILURES["quoted"].sub(" ", error)
    options = [word for name in FAILURES["option"].findall(error) for word in _slugs(name)]
    negation: list[str] = []
    for word in (*FAILURES["plain"].findall(FAILURES["option"].sub(" ", bare)), *options):
        if word in _NEGATED:
            negation = [word]
        elif word in _SMALL or word in own or len(word) <= 2:
            negation = []
        else:
            yield from (*negation, *_slugs(word))
            negation = []


def _joined(program: tuple[str, ...], telling: Iterable[str]) -> str:
    """Two to five words: the program, and as many telling ones as fit."""
    words = list(program)
    for word in telling:
        if len(words) < MAX_NAME_WORDS and word not in words:
            words.append(word)
    while len(words) > len(program) and words[-1] in _NEGATED:
        words.pop()
    return "-".join(words if len(words) > 1 else [*words, "fails"])


def _slugs(text: str) -> list[str]:
    words = re.findall(r"[a-z0-9]+", text.lower().replace("'", "")) if text.isascii() else []
    return [word[:_MAX_WORD] for word in words]


def _lower(words: Iterable[str]) -> set[str]:
    return {part for word in words for part in _slugs(word)}
