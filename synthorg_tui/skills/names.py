"""Names and descriptions of skills, made from a lesson's own words.

Agents choose a skill by these two alone, and other programs check them: a name is a slug of at
most 64 characters, a description one line of ASCII that begins "Use when". Both come from
transcripts, so they are built from allowed characters and never passed through.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Final

NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 200
USE_WHEN: Final = "Use when "

_FALLBACK = "skill"
_RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in "123456789"
}
_NO_CONDITION = "the situation in the Condition section of this skill comes up"
_PLACEHOLDER = re.compile(r"<([a-z][a-z_-]{0,20})>")
_BOUND = re.compile(r"([<>])=\s*")
_BOUNDS = {">": "at least ", "<": "at most "}
_WHEN = re.compile(
    r"\s*(?:(?:use|apply)\s+(?:this\s+)?)?(?:when(?:ever)?|if)\b[\s,:]*", re.IGNORECASE
)
_FOLDED = str.maketrans(
    {
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{RIGHTWARDS ARROW}": "to",
        "\N{LATIN SMALL LETTER SHARP S}": "ss",
        "<": " ",
        ">": " ",
    }
)
_MAX_WORDS = 5
_EVERYWHERE = frozenset(
    {"with", "when", "from", "that", "then", "this", "what", "here", "instead", "again", "your"}
    | {"before", "after", "first", "fails", "says", "error", "branch", "path", "file", "name"}
    | {"exit", "code", "command", "without", "because", "which", "there"}
)
"""Words that tell no lesson from another."""


def is_name(name: str) -> bool:
    """Whether a name is one that this program writes: lower-case words and single hyphens."""
    return len(name) <= MAX_NAME and NAME.fullmatch(name) is not None


def skill_name(discovery: str, taken: Collection[str] = (), telling: str = "") -> str:
    """Make a name from the words of a discovery: at most 64 characters, and not in ``taken``.

    Where it is taken, a word of the text ``telling`` that isn't in it yet is added to a name of
    fewer than five words, and else a number.
    """
    words = re.sub(r"[^a-z0-9]+", "-", _ascii(discovery).lower().replace("'", "")).strip("-")
    if words in _RESERVED:
        words = f"{_FALLBACK}-{words}"
    names = {name.lower() for name in taken}
    name = _cut_name(words, MAX_NAME) or _FALLBACK
    if name in names:
        free = (longer for longer in _longer(name, telling) if longer not in names)
        name = next(free, name)
    number = 1
    while name in names:
        number += 1
        suffix = f"-{number}"
        name = (_cut_name(words, MAX_NAME - len(suffix)) or _FALLBACK) + suffix
    return name


def _longer(name: str, telling: str) -> Iterator[str]:
    """The name with each of the telling words of a text, which are those that no lesson shares."""
    words = name.split("-")
    if len(words) >= _MAX_WORDS:
        return
    plain = re.findall(r"(?<![\w<./-])[a-z]{4,16}(?![\w>./-])", telling.lower())
    for word in dict.fromkeys(plain):
        if word not in words and word not in _EVERYWHERE and len(name) + len(word) < MAX_NAME:
            yield f"{name}-{word}"


def describe(discovery: str, condition: str) -> str:
    """Make the description that agents choose a skill by: "Use when ..." in plain ASCII.

    At most 200 characters, on one line, and without angle brackets. The condition comes first;
    the ``discovery`` follows where there is room for all of it.
    """
    when = _line(_WHEN.sub("", condition, count=1)).rstrip(".;:, ") or _NO_CONDITION
    text = _cut(USE_WHEN + _lower_first(when), MAX_DESCRIPTION)
    discovery = _line(discovery).rstrip(".")
    whole = f"{text}. {discovery}."
    return whole if discovery and len(whole) <= MAX_DESCRIPTION else text


def clean_description(description: str) -> str:
    """Normalise a description: one line of ASCII that begins with "Use when"."""
    text = _line(description)
    if text.startswith(USE_WHEN) and len(text) <= MAX_DESCRIPTION:
        return text
    return describe("", text)


def _ascii(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.translate(_FOLDED))
    return folded.encode("ascii", "ignore").decode("ascii")


def _line(text: str) -> str:
    """Reduce a text to one line of printable ASCII; ``<name>`` becomes NAME."""
    text = _BOUND.sub(lambda match: _BOUNDS[match[1]], text)  # else the opposite may be left
    spaced = _PLACEHOLDER.sub(
        lambda match: match[1].upper(), re.sub(r"[\s\x00-\x1f\x7f]+", " ", text)
    )
    return " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", _ascii(spaced)).split())


def _lower_first(text: str) -> str:
    first, *_ = text.split(" ", 1)
    is_word = first[:1].isupper() and (len(first) == 1 or first[1:].islower())
    return text[0].lower() + text[1:] if is_word else text


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    cut = text[: room - 3]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > room // 2 else cut).rstrip(" .,;:") + "..."


def _cut_name(words: str, room: int) -> str:
    if len(words) <= room:
        return words
    cut = words[: room + 1]
    at_word = cut.rpartition("-")[0]
    return (at_word if len(at_word) > room // 2 else words[:room]).strip("-")
