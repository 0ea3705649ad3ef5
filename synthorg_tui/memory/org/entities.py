"""What facts are about: names, files, commands, tools, people and decisions, told from words.

No model: a text is read by its marks, such as quotes, capitals and paths. What stands in it is
data; nothing here is ever followed or run.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from synthorg_tui.core.text import truncate
from synthorg_tui.memory.retrieval.sparse import STOP_WORDS

MAX_NAME_CHARS: Final = 80
MAX_NAME_WORDS: Final = 6
"""Words of a name at most; what is longer is a description."""

_DECISION: Final = re.compile(r"\badr[\s_#-]{0,3}0*(\d{1,6})\b", re.IGNORECASE)
_FILE: Final = re.compile(
    r"[\w.@~-]{0,80}(?:/[\w.@-]{1,80})+/?"
    r"|\b[\w-]{1,80}\.(?:py|pyi|md|toml|ya?ml|json|sql|sh|js|ts|tsx|jsx|rs|go|java|rb|c|h|cpp|css"
    r"|html|txt|cfg|ini|lock|env|xml|proto|tf)\b"
)
_NAME: Final = re.compile(
    r"@[\w-]+|\b(?:[A-Z][\w+#-]*|[a-z]+[A-Z][\w+#-]*)(?: (?:[A-Z][\w+#-]*|\d+))*"
)
_NO_NAME: Final = re.compile(r"['\u2019]|[`|:=<>]|^[\W\d]+$")
"""What no name has, outside of quotes: an apostrophe, half a quote, or nothing but digits."""
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`")
_EDGES: Final = " \t\n.,;:!?()[]{}<>\"'`*_|\u2018\u2019\u201c\u201d"
_WORDS: Final = {
    "determiners": """
        the a an our all every each any this that these those its their your my his her both new
        only
    """,
    "generic": """
        it they we you i he she one someone somebody nobody everyone everybody everything something
        anything nothing them us me who whom which what that this these those there here service
        services system systems code data database databases team teams project projects module
        modules library libraries tool tools file files test tests thing things agent agents people
        person component components app apps application applications package packages
    """,
    "sorts": """
        service team database library store queue api app application module package framework
        cluster server component system pipeline repository repo client frontend backend worker
        table bucket topic index cache gateway proxy registry platform tool plugin sdk department
        guild squad group host job site website dashboard
    """,
    "imperatives": """
        use uses prefer run see add keep put write read make let ensure avoid replace supersedes
        deploy call always please exception except owner author status date decision context
        consequences superseded deprecated accepted proposed rejected
    """,
}
DETERMINERS: Final = frozenset(_WORDS["determiners"].split())
_GENERIC: Final = frozenset(_WORDS["generic"].split())
_IMPERATIVES: Final = frozenset(_WORDS["imperatives"].split())
_SORTS: Final = frozenset(_WORDS["sorts"].split())
_MAX_PLAIN_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class OrgEntity:
    """A thing that facts name; ``key`` is the same however it is written, ``name`` as it was."""

    key: str
    name: str
    is_decision: bool = False


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as keys have them, so that a name is found in a question.

    Case, quotes, hyphens and the form of a decision's number make no difference.
    """
    return tuple(word for word, _, _ in placed_words(plainly(text)))


def plainly(text: str) -> str:
    """Return a text without the differences of spelling that ``words_of`` doesn't make."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    if "adr" in plain:
        plain = _DECISION.sub(r"adr \1", plain)
    return re.sub(r"'s\b", " ", plain) if "'s" in plain else plain


def placed_words(plain: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word of what ``plainly`` returned, with where it starts and ends there."""
    for found in re.finditer(r"[^\s_,;()\u2013\u2014-]+", plain):
        word = found[0].strip(_EDGES)
        if word:
            yield word, found.start(), found.end()


def entity_of(phrase: str) -> OrgEntity | None:
    """Return what a phrase names; ``None`` for one that is too long, or names nothing certain."""
    quoted = phrase.strip().startswith("`")
    name = " ".join(phrase.split()).strip(_EDGES)
    if not quoted:
        name = _without_determiner(name)
    words = words_of(name)
    if not words or len(words) > MAX_NAME_WORDS or len(name) > 2 * MAX_NAME_CHARS:
        return None
    if len(words) == 1 and (words[0] in _GENERIC or not any(map(str.isalnum, words[0]))):
        return None
    if len(words) == 2 and words[0] == "adr" and words[1].isdecimal():
        return decision(words[1])
    return OrgEntity(" ".join(words), truncate(name, MAX_NAME_CHARS))


def certainty(phrase: str, *, begins: bool = False) -> int:
    """Return how surely a phrase is a name: 2 by its marks, 1 by its form, else 0.

    Marks are quotes, a path, digits, inner hyphens, and capitals, except of the first word where
    the phrase ``begins`` its sentence. A form is "the ledger", or "billing service".
    """
    raw = phrase.strip().strip(_EDGES.replace("`", ""))
    if re.fullmatch(_QUOTED, raw):
        return 2
    words = raw.split()
    named = _without_determiner(raw).split()
    function_words = STOP_WORDS | DETERMINERS
    if not named or any(word in function_words for word in named) or _NO_NAME.search(raw):
        return 0
    if any(map(_is_marked, named[1:] if begins else named)) or _is_marked(named[0][1:]):
        return 2
    if len(named) > _MAX_PLAIN_WORDS:
        return 0
    has_form = named != words or named[-1].casefold() in _SORTS or named[0][0].isupper()
    return int(has_form)


def _is_marked(word: str) -> bool:
    letters = word.strip(_EDGES)
    has_mark = any(one.isupper() or one in "-_./@" for one in letters)
    return has_mark or (any(map(str.isdigit, letters)) and any(map(str.isalpha, letters)))


def decision(number: str) -> OrgEntity:
    """Return the decision with a number."""
    plain = number.lstrip("0") or "0"
    return OrgEntity(f"adr {plain}", f"ADR-{plain}", is_decision=True)


def named_in(sentence: str) -> tuple[OrgEntity, ...]:
    """Return what a sentence names by quotes, a path, or capitals, each once, in that order.

    A capital that begins the sentence is none, unless more of them are in the word.
    """
    found = list(_marked(sentence))
    return tuple({entity.key: entity for entity in found if entity is not None}.values())


def _marked(sentence: str) -> Iterator[OrgEntity | None]:
    rest = sentence
    for marks, pattern, made in _MARKS:
        if any(mark in rest for mark in marks):
            yield from map(made, pattern.finditer(rest))
            rest = pattern.sub(lambda found: " " * len(found[0]), rest)
    start = len(rest) - len(rest.lstrip(_EDGES + "#-"))
    for name in _NAME.finditer(rest):
        first, _, others = name[0].partition(" ")
        is_word = name.start() <= start and not any(map(str.isupper, first[1:]))
        if is_word and (not others or first.casefold() in STOP_WORDS | _IMPERATIVES):
            yield entity_of(others)
        else:
            yield entity_of(name[0])


_MARKS: Final[
    tuple[tuple[str, "re.Pattern[str]", Callable[["re.Match[str]"], OrgEntity | None]], ...]
] = (
    ("`", _QUOTED, lambda found: entity_of(found[0])),
    ("dD", _DECISION, lambda found: decision(found[1])),
    ("/.", _FILE, lambda found: entity_of(found[0])),
)
"""What marks a name: characters that such a name has, its form, and what it names."""


def _without_determiner(name: str) -> str:
    words = name.split()
    while len(words) > 1 and words[0].casefold() in DETERMINERS:
        words = words[1:]
    return " ".join(words)
