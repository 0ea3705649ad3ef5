"""From the text of a task to the terms its keyword search looks for."""

import re
from dataclasses import dataclass
from typing import Final

MOST_CHARS: Final = 1024
MOST_TERMS: Final = 12
MOST_TERM_CHARS: Final = 64
EVERYTHING: Final = "*"

# As in later versions of the design: punctuation at a word must not keep it from being found.
_TERM = re.compile(r"[\w-]*\w[\w-]*")
_COMMAND = re.compile(r"/[A-Za-z][\w-]*(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Terms:
    """What to look for; nothing at all when ``words`` is empty and not ``everything``.

    ``refusal`` says in words why a text can't be looked for.
    """

    words: tuple[str, ...] = ()
    everything: bool = False
    refusal: str = ""


def terms_of(text: str) -> Terms:
    """The different lower-case words of a text; ``*`` is everything."""
    text = text.strip()
    if len(text) > MOST_CHARS:
        return Terms(refusal=f"keyword search takes {MOST_CHARS} characters, not {len(text)}")
    if text == EVERYTHING:
        return Terms(everything=True)
    words = tuple(dict.fromkeys(_TERM.findall(text.lower())))
    if len(words) > MOST_TERMS:
        return Terms(refusal=f"keyword search takes {MOST_TERMS} different words, not {len(words)}")
    if any(len(word) > MOST_TERM_CHARS for word in words):
        return Terms(refusal=f"keyword search takes words of {MOST_TERM_CHARS} characters at most")
    return Terms(words=words)


def is_command(text: str) -> bool:
    """Whether the turn is a slash command, such as ``/help``; a path isn't one."""
    return _COMMAND.match(text.lstrip()) is not None
