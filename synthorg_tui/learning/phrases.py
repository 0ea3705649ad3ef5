"""Phrases of lessons: names of commands, clean lines, and joined lists.

Phrases of a memory, about one run as it was, are in ``ingest.extract.phrases``. Names of commands
are part of a lesson's key: other words would make the same mistake another lesson.
"""

import re
from collections.abc import Iterable

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.output_lines import one_line
from synthorg_tui.learning.failure_words import FAILURES

_MEANING = {
    "branch": "the name of the branch you are on",
    "path": "the path or paths you mean",
    "message": "your message",
    "text": "your text",
    "url": "the address in question",
    "email": "your e-mail address",
    "hash": "the hash in question",
    "name": "the name in question",
    "script": "your edit script",
}


def name_of(step: Step) -> str:
    """Return a program with its subcommands: ``gh pr create``, ``npm run build``."""
    if step.words[0].startswith("."):
        return step.words[0]
    words = [step.intent]
    if FAILURES["nested"].fullmatch(step.intent):
        place = step.words.index(step.intent.split()[-1]) + 1
        following = step.words[place : place + 1]
        words += [word for word in following if re.fullmatch(r"[a-z][\w:-]*", word)]
    return " ".join(words)


def is_path(word: str) -> bool:
    """Whether a word of a command is a path or the name of a file."""
    return FAILURES["path"].fullmatch(word) is not None


def clean(text: str, limit: int) -> str:
    """Return ``text`` on one line of at most ``limit`` characters, without hidden characters."""
    return safe_text(one_line(text, limit))


def stored(text: str, limit: int) -> str:
    """Return a recorded text as it may be stored: as ``clean`` has it, and without secrets."""
    return clean(redact_text(text, RedactionTally()), limit)


def explained(text: str) -> str:
    """Return a sentence that explains the placeholders in a text; empty when it has none."""
    names = [name for name in dict.fromkeys(re.findall(r"<([a-z]+)>", text)) if name in _MEANING]
    return f"Here {joined(f'`<{name}>` is {_MEANING[name]}' for name in names)}." if names else ""


def joined(parts: Iterable[str], last: str = "and") -> str:
    """Join non-empty parts as in prose: ``a``, ``a and b``, ``a, b and c``.

    ``last`` replaces ``and``; any other word gets a comma before it: ``a, then b``.
    """
    *others, end = [part for part in parts if part] or [""]
    between = ", " if last != "and" else " "
    return f"{', '.join(others)}{between}{last} {end}" if others else end
