"""The difference between a command that failed and the one that worked, word by word.

What the difference means is for ``mistakes``, which also knows the error and what was done between
the two.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from synthorg_tui.executions.commands import Step

MAX_WORDS = 6
"""A call that differs in more words is another call, not a correction."""
_MAX_WORD = 80
_ELSEWHERE = ("-C", "--prefix", "--cwd", "--dir", "--directory", "--manifest-path", "--project")
"""Options that run a program in another directory."""


@dataclass(frozen=True, slots=True)
class CallChange:
    """The difference between a failed step and the one that worked.

    ``dropped`` and ``added`` are words of the command, ``lead_dropped`` and ``lead_added`` words
    before it (variables, ``sudo``, ``uv run``). ``prefix`` is what paths of the failed step begin
    with and those of the working one don't. ``directory`` is where the working one ran, if only
    that one changed directory: relative to the project, whose own directory is ``.``.
    ``other_program`` is set when another program was run.
    """

    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    lead_dropped: tuple[str, ...] = ()
    lead_added: tuple[str, ...] = ()
    directory: str = ""
    prefix: str = ""
    other_program: bool = False

    @property
    def is_empty(self) -> bool:
        """True when the two steps are the same call."""
        return self == CallChange()

    @property
    def in_words(self) -> bool:
        """True when words of the command itself were left out or put in."""
        return bool(self.dropped or self.added)

    @property
    def in_lead(self) -> bool:
        """True when what stands before the command is another: variables, ``sudo``, a runner."""
        return bool(self.lead_dropped or self.lead_added)

    @property
    def only_left_out(self) -> bool:
        """True when words were left out and nothing else changed."""
        others = self.added or self.in_lead or self.directory or self.prefix
        return bool(self.dropped) and not others

    @property
    def only_names(self) -> bool:
        """True when only names (of files, branches, services) were replaced by others."""
        words = (*self.dropped, *self.added)
        flags = any(word.startswith("-") for word in words)
        elsewhere = self.in_lead or self.directory or self.other_program
        return bool(words) and not (flags or self.prefix or elsewhere)

    @property
    def goes_elsewhere(self) -> bool:
        """True when all that was put in is an option naming another directory: ``-C sub``."""
        options = {word.partition("=")[0] for word in self.added if word.startswith("-")}
        return bool(options) and options <= {*_ELSEWHERE} and len(self.added) <= 2


def change_between(failed: Step, worked: Step) -> CallChange | None:
    """Compare a failed step with the one that worked, word by word.

    Paths that are only written as seen from another directory count as that directory, not as
    words. Returns ``None`` when the two differ in more than ``MAX_WORDS`` words, or in made-up text
    such as messages and inline code.
    """
    dropped, added = _difference(failed.words, worked.words)
    lead_dropped, lead_added = _difference(failed.lead, worked.lead)
    directory = worked.directory if worked.directory != failed.directory else ""
    if directory:
        dropped, added = _without_relocated(dropped, added, directory)
    prefix = _common_prefix(dropped, added)
    if prefix:
        dropped = tuple(word for word in dropped if word.startswith(prefix))
        added = tuple(word for word in added if f"{prefix}{word}" in dropped)
    words = (*dropped, *added, *lead_dropped, *lead_added)
    if len(words) > MAX_WORDS or any(_made_up(word) for word in words):
        return None
    other = failed.words[:1] != worked.words[:1]
    return CallChange(dropped, added, lead_dropped, lead_added, directory, prefix, other)


def _difference(
    before: tuple[str, ...], after: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words left out and words put in; a word that only moved is neither."""
    dropped: list[str] = []
    added: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            dropped += before[first:last]
            added += after[start:end]
    return (
        tuple(word for word in dropped if word not in added),
        tuple(word for word in added if word not in dropped),
    )


def _without_relocated(
    dropped: tuple[str, ...], added: tuple[str, ...], directory: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both without the paths that name the same file as seen from outside and inside."""
    same = [
        (before, after)
        for before in dropped
        for after in added
        if before != after
        and before.endswith(f"/{after.removeprefix('./')}")
        and _ends_with(directory, before.removesuffix(after.removeprefix("./")))
    ]
    gone, come = {before for before, _ in same}, {after for _, after in same}
    return (
        tuple(word for word in dropped if word not in gone),
        tuple(word for word in added if word not in come),
    )


def _ends_with(directory: str, prefix: str) -> bool:
    parts = [part for part in PurePosixPath(prefix).parts if part != "."]
    return bool(parts) and list(PurePosixPath(directory).parts[-len(parts) :]) == parts


def _made_up(word: str) -> bool:
    """Inline code, messages and the like: nothing of it holds for the next time."""
    return len(word) > _MAX_WORD * 2 or any(mark in word for mark in "\n\r;{}()$`") or " " in word


def _common_prefix(dropped: tuple[str, ...], added: tuple[str, ...]) -> str:
    """What all paths that were written otherwise begin with too much."""
    prefixes = {
        before[: -len(after)]
        for before in dropped
        for after in added
        if before != after and "/" in before and before.endswith(f"/{after}")
    }
    whole = {prefix for prefix in prefixes if PurePosixPath(prefix).parts}
    return next(iter(whole)) if len(whole) == 1 else ""
