"""What a rule forbids plainly, and the calls of sessions that did it all the same.

A rule is understood only where its whole sentence is one of the forms in here: "never" with a push,
a command, an option, a file or a tool, and nothing that makes it depend on something. Any other
rule forbids nothing as far as this tells, and a call counts only when it surely ran: an accusation
that is wrong costs more than one that isn't made.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import folders_of
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.organisation.findings import Breach
from synthorg_tui.organisation.forbidden_commands import (
    forbidden_words,
    git_folder,
    has_option,
    is_force_push,
    is_run_of,
    pushed_branches,
)
from synthorg_tui.organisation.shell_runs import UNTOLD, ProgramRun, ShellWord, sure_runs

_MAX_SHOWN: Final = 200
_MAX_RULE: Final = 2_000

_NEVER: Final = (
    r"(?:please\s+|(?:all\s+)?(?:agents?|you|we|one)\s+)?(?:(?:must|should|shall)\s+never"
    r"|(?:must|should|shall|may|can)\s*(?:not|n't)|cannot|do\s*(?:not|n't)|never)"
    r"(?:\s+(?:ever|manually|directly))?\s+"
)
_HOW: Final = r"(?:\s+(?:directly|straight|by\s+hand|manually|yourself|ever|at\s+all|anywhere))*"
_WHY: Final = (
    r"(?:\s*(?:[;,:]|\s[-\u2013\u2014]+|\()\s*(?:(?:please\s+)?(?:always\s+)?"
    r"(?:use|prefer|open|create|make|work|run|let)|(?:it|they|these|those|this|that)\s+"
    r"(?:is|are|was|were|will|would|comes?|breaks?))\b[^.!?]*)?"
)
_LISTED: Final = r"(?:\s*,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+|\s*/\s*)"
_BRANCH: Final = (
    r"(?:`(?:origin[ /])?[\w./-]+`|(?:origin[ /])?"
    r"(?:main|master|trunk|develop|production|staging|release|stable)(?![\w/-]))"
)
_QUOTED: Final = r"`[^`\n]{1,120}`"
_NAMED: Final = (
    r"(?:npm|npx|yarn|pnpm|bun|pip|pip3|pipenv|poetry|conda|brew|sudo|docker|podman|kubectl|helm"
    r"|terraform|ansible|curl|wget|rm|git|gh|rsync|scp|systemctl)(?![\w/-])"
)
_ITEM: Final = rf"(?:{_QUOTED}|{_NAMED})"
_BRANCHES: Final = rf"(?P<branches>{_BRANCH}(?:{_LISTED}{_BRANCH})*)"
_FORMS: Final = tuple(
    re.compile(rf"{_NEVER}{form}{_HOW}{_WHY}[\s.!)]*", re.IGNORECASE)
    for form in (
        r"(?:commit\s*(?:or|and|/)\s*)?(?P<force>force[\s-]+)?push(?:\s+(?:commits|changes|code"
        r"|anything))?(?:\s+(?:directly|straight))?\s+(?:to|into|on)\s+(?:the\s+)?"
        rf"{_BRANCHES}(?:\s+branch(?:es)?)?",
        r"(?P<any_force>force[\s-]+push)(?:\s+(?:commits|changes|code|anything|branches))?",
        r"(?:use|pass|add|set)\s+(?:the\s+)?(?P<options>`?--[a-z][\w-]+`?"
        rf"(?:{_LISTED}`?--[a-z][\w-]+`?)*)(?:\s+(?:flags?|options?))?",
        r"(?:(?P<verb>run|use|call|execute|invoke)\s+)?(?:the\s+)?"
        rf"(?P<commands>{_ITEM}(?:{_LISTED}{_ITEM})*)(?:\s+commands?)?",
        r"(?:edit|modify|change|touch|overwrite|write\s+to)\s+(?:the\s+|any\s+)?"
        r"(?:(?:files?|anything|code)\s+(?:in|under|inside|below)\s+)?(?:the\s+)?"
        rf"(?P<files>{_QUOTED}(?:{_LISTED}{_QUOTED})*)(?:\s+(?:files?|folder|directory))?",
        rf"(?:use|call)\s+(?:the\s+)?(?P<tools>{_QUOTED}(?:{_LISTED}{_QUOTED})*)\s+tools?",
    )
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*_\"(-])|\n+")
_LIST_ITEM: Final = re.compile(r"\A\s*(?:[-*+]|\d+[.)])\s+")
_EMPHASIS: Final = re.compile(r"\*\*|__|(?<![\w*])[*_](?=\w)|(?<=\w)[*_](?![\w*/.])")
_LABEL: Final = re.compile(
    r"(?:important|note|rule|policy|warning|security|git)\s*:\s*", re.IGNORECASE
)
_EXCEPTION: Final = re.compile(
    r"\b(?:unless|except(?:ion)?s?|only|but|however|although|though|may|can|allowed|permitted"
    r"|fine|okay?|if|when|temporar\w*|deprecated|obsolete)\b",
    re.IGNORECASE,
)
"""Words of another sentence of a rule by which it may not hold always."""
_PATH: Final = re.compile(r"[\w.@+*?-]+(?:/[\w.@+*?-]+)*/?")


_ENDED: Final = {True: "it worked", False: "it failed", None: "how it ended isn't known"}


class BanKind(StrEnum):
    """What kind of act a rule forbids."""

    PUSH = "push"
    FORCE_PUSH = "force push"
    OPTION = "option"
    COMMAND = "command"
    FILE = "file"
    TOOL = "tool"


_DID: Final[Mapping[BanKind, Callable[[Sequence[ShellWord], tuple[str, ...]], bool]]] = {
    BanKind.PUSH: lambda words, values: not pushed_branches(words).isdisjoint(values),
    BanKind.FORCE_PUSH: is_force_push,
    BanKind.OPTION: lambda words, values: has_option(words, values[0]),
    BanKind.COMMAND: is_run_of,
}
"""Tells whether the words of a program did what a ban of the kind forbids."""


@dataclass(frozen=True, slots=True)
class Ban:
    """One thing that a rule forbids; ``values`` are branches, words of a command, or one name."""

    kind: BanKind
    values: tuple[str, ...] = ()


def bans_of(rule: str) -> tuple[Ban, ...]:
    """Return what a rule forbids in all cases; empty where that isn't plain."""
    if len(rule) > _MAX_RULE or "```" in rule:
        return ()
    sentences = [_plain(sentence) for sentence in _SENTENCE.split(rule) if sentence.strip()]
    found = [tuple(_sentence_bans(sentence)) for sentence in sentences]
    others = [text for text, bans in zip(sentences, found, strict=True) if not bans]
    if any(_EXCEPTION.search(text) for text in others):
        return ()
    return tuple(dict.fromkeys(ban for bans in found for ban in bans))


def breaches_of(bans: Iterable[Ban], execution: Execution) -> tuple[Breach, ...]:
    """Return the calls of a session that surely did what one of the bans forbids, one a call.

    A run that its agent told of itself has none: nothing of it was recorded.
    """
    bans = tuple(bans)
    if not bans or execution.is_reported:
        return ()
    found = (_breach(bans, execution, call) for call in execution.calls)
    return tuple(breach for breach in found if breach is not None)


def _plain(sentence: str) -> str:
    """A sentence without what only sets it off: signs of a list, bold type, a label."""
    text = _LIST_ITEM.sub("", sentence.replace("\u2019", "'"), count=1)
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [_EMPHASIS.sub("", part) for part in parts[::2]]
    text = "".join(parts).strip()
    return _LABEL.sub("", text, count=1) if _LABEL.match(text) else text


def _sentence_bans(sentence: str) -> Iterator[Ban]:
    for form in _FORMS:
        if found := form.fullmatch(sentence):
            if not _EXCEPTION.search(sentence[found.end(found.lastgroup or 0) :]):
                yield from _bans_in(found.groupdict())
            return


def _bans_in(said: dict[str, str | None]) -> Iterator[Ban]:
    if branches := said.get("branches"):
        kind = BanKind.FORCE_PUSH if said["force"] else BanKind.PUSH
        names = (re.sub(r"^origin[ /]", "", name) for name in _items(branches))
        yield Ban(kind, tuple(names))
    elif said.get("any_force"):
        yield Ban(BanKind.FORCE_PUSH)
    elif options := said.get("options"):
        yield from (Ban(BanKind.OPTION, (option,)) for option in _items(options))
    elif files := said.get("files"):
        paths = _items(files)
        if all(_PATH.fullmatch(path) and ("/" in path or "." in path) for path in paths):
            yield from (Ban(BanKind.FILE, (path,)) for path in paths)
    elif tools := said.get("tools"):
        yield from (Ban(BanKind.TOOL, (tool.casefold(),)) for tool in _items(tools))
    elif commands := said.get("commands"):
        yield from _command_bans(_items(commands), is_run=(said["verb"] or "run") != "use")


def _command_bans(commands: list[str], *, is_run: bool) -> Iterator[Ban]:
    every = [forbidden_words(command, is_run=is_run) for command in commands]
    if not all(every):
        return
    for words in every:
        run = ProgramRun(tuple(ShellWord(word) for word in words), None)
        branches = pushed_branches(run.words)
        if branches and not is_force_push(run.words):
            yield Ban(BanKind.PUSH, tuple(sorted(branches)))
        elif is_force_push(run.words):
            yield Ban(BanKind.FORCE_PUSH, tuple(sorted(branches)))
        else:
            yield Ban(BanKind.COMMAND, words)


def _items(text: str) -> list[str]:
    return [
        quoted or plain
        for quoted, plain in re.findall(r"`([^`]+)`|((?:origin )?[^\s,`]+)", text)
        if (quoted or plain) not in ("or", "and", "/")
    ]


def _breach(bans: tuple[Ban, ...], execution: Execution, call: ToolCall) -> Breach | None:
    if call.is_shell:
        for run in sure_runs(call):
            forms = tuple(run.forms())
            is_one = any(
                _DID[ban.kind](words, ban.values)
                for ban in bans
                for words in forms
                if ban.kind in _DID
            )
            if is_one and _is_here(run, execution):
                return _as_breach(execution, call, run.shown, _ENDED[run.worked])
        return None
    for ban in bans:
        if ban.kind is BanKind.FILE and (path := _edited(ban.values[0], execution, call)):
            return _as_breach(execution, call, f"edited {path}", "it worked")
        if ban.kind is BanKind.TOOL and call.tool.casefold() in ban.values and _ran(call):
            return _as_breach(execution, call, call.tool, _ENDED[call.outcome is CallOutcome.OK])
    return None


def _is_here(run: ProgramRun, execution: Execution) -> bool:
    """Whether a program ran in the session's project: what is done elsewhere may be allowed."""
    told = list(filter(None, map(git_folder, run.forms())))
    if UNTOLD in (run.folder, *told):
        return False
    project = execution.project or ""
    whole = posixpath.normpath(posixpath.join(project, run.folder, *told[:1]))
    if not project:
        return not whole.startswith(("/", ".."))
    return any(f"{whole}/".startswith(f"{place.rstrip('/')}/") for place in folders_of(project))


def _ran(call: ToolCall) -> bool:
    return call.result_line is not None and call.outcome in (CallOutcome.OK, CallOutcome.FAILED)


def _edited(pattern: str, execution: Execution, call: ToolCall) -> str:
    """The file that a call changed and the pattern names; a pattern is of the project's files."""
    if not call.changed_path or not execution.project:
        return ""
    for path in call.changed_path.split(", "):
        whole = posixpath.normpath(posixpath.join(execution.project, path))
        own = posixpath.relpath(whole, execution.project)
        if own.startswith("../"):
            continue
        pattern = pattern.removeprefix("./")
        if pattern.endswith(("/", "/**", "/*")) and not pattern.startswith("*"):
            is_one = own.startswith(f"{pattern.rstrip('*').rstrip('/')}/")
        elif "/" in pattern:
            is_one = fnmatchcase(own, pattern) or own.startswith(f"{pattern}/")
        else:
            is_one = fnmatchcase(posixpath.basename(own), pattern)
        if is_one:
            return own
    return ""


def _as_breach(execution: Execution, call: ToolCall, did: str, ended: str) -> Breach:
    at = call.at or execution.ended_at
    return Breach(execution.id, call.call_line, one_line(did, _MAX_SHOWN), ended, at)
