"""How a call that worked differs from the one that had failed."""

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from synthorg_tui.core.commands import Step

MAX_WORDS = 6
"""A call that differs in more words is another call, not a correction."""
_MAX_WORD = 80


@dataclass(frozen=True, slots=True)
class Change:
    """What was done differently in a step.

    ``prefix`` is what paths of the failed step begin with and those of the working one don't.
    ``directory`` is where the working one ran, when only that one went there; ``other_program``
    says that another program did it.
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
        """Whether the two steps are the same call."""
        return self == Change()

    @property
    def only_names(self) -> bool:
        """Whether nothing but names (of files, branches, services) was put in place of others."""
        words = (*self.dropped, *self.added)
        flags = any(word.startswith("-") for word in words)
        elsewhere = self.lead_added or self.lead_dropped or self.directory or self.other_program
        return bool(words) and not (flags or self.prefix or elsewhere)


def change_between(failed: Step, worked: Step) -> Change | None:
    """The change, or ``None`` when the calls differ too much, or in text that was made up."""
    dropped, added = _difference(failed.words, worked.words)
    lead_dropped, lead_added = _difference(failed.lead, worked.lead)
    prefix = _common_prefix(dropped, added)
    if prefix:
        dropped = tuple(word for word in dropped if word.startswith(prefix))
        added = tuple(word for word in added if f"{prefix}{word}" in dropped)
    words = (*dropped, *added, *lead_dropped, *lead_added)
    if len(words) > MAX_WORDS or any(_made_up(word) for word in words):
        return None
    directory = worked.directory if worked.directory != failed.directory else ""
    other = failed.words[:1] != worked.words[:1]
    return Change(dropped, added, lead_dropped, lead_added, directory, prefix, other)


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
