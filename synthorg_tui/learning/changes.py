"""The difference between a command that failed and the one that worked, word by word.

What the difference means is for ``mistakes``, which also knows the error and what was done between
the two.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

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
    before it (variables, ``sudo``, ``uv run``). ``directory`` is where the working one ran, if only
    that one changed directory. ``other_program`` is set when another program was run.
    """

    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    lead_dropped: tuple[str, ...] = ()
    lead_added: tuple[str, ...] = ()
    directory: str = ""
    other_program: bool = False

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
        return bool(self.dropped) and not (self.added or self.in_lead or self.directory)

    @property
    def only_names(self) -> bool:
        """True when only names (of files, branches, services) were replaced by others."""
        words = (*self.dropped, *self.added)
        elsewhere = self.in_lead or self.directory or self.other_program
        return bool(words) and not (elsewhere or any(word.startswith("-") for word in words))

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
    same = {
        word
        for before in dropped
        for after in added
        if directory and before.endswith(f"/{after.removeprefix('./')}")
        for word in (before, after)
    }
    dropped = tuple(word for word in dropped if word not in same)
    added = tuple(word for word in added if word not in same)
    lead = (word for word in (*lead_dropped, *lead_added) if not word.startswith("PATH="))
    words = (*dropped, *added, *lead)
    if len(words) > MAX_WORDS or any(_made_up(word) for word in words):
        return None
    other = failed.words[:1] != worked.words[:1]
    return CallChange(dropped, added, lead_dropped, lead_added, directory, other)


def same_step(
    before: Sequence[Step], after: Sequence[Step], output: str
) -> tuple[Step, Step] | None:
    """Return the step that failed and the one that took its place; ``None`` where none has it.

    Of a command with several, that is the one whose words the error repeats, else one that was
    changed.
    """
    pairs = [
        (
            sum(named(word, output) for word in step.words[1:]),
            step.words != other.words,
            len({*step.words} & {*other.words}),
            place,
            step,
            other,
        )
        for place, step in enumerate(before)
        for other in after
        if step.intent == other.intent
    ]
    return max(pairs, key=lambda pair: pair[:4])[4:] if pairs else None


def named(word: str, output: str) -> bool:
    """Tell whether an output mentions a word of a command, or the folder that contains it."""
    if word.startswith("-"):
        return is_said(word, output)
    if len(word) <= 2:
        return False
    names = filter(None, re.split(r"[\s'\"`:,()]+", output))
    return any(name == word or word.startswith(f"{name.rstrip('/')}/") for name in names)


def is_said(word: str, output: str) -> bool:
    """Tell whether an output holds a word of a command, with its value or without."""
    bare = word.partition("=")[0] if word.startswith("--") else word
    return re.search(rf"(?<![\w-]){re.escape(bare)}(?![\w-])", output) is not None


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


def _made_up(word: str) -> bool:
    """Inline code, messages and the like: nothing of it holds for the next time."""
    return len(word) > _MAX_WORD * 2 or any(mark in word for mark in "\n\r;{}()$`") or " " in word
