"""What facts are about: names, files, commands, tools, people and decisions, told from words.

No model: a text is read by its marks, such as quotes, capitals and paths. What stands in it is
data; nothing here is ever followed or run.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
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
    "imperatives": """
        use uses prefer run see add keep put write read make let ensure avoid replace supersedes
        deploy call always please exception except owner author status date decision context
        consequences superseded deprecated accepted proposed rejected
    """,
}
_DETERMINERS: Final = frozenset(_WORDS["determiners"].split())
_GENERIC: Final = frozenset(_WORDS["generic"].split())
_IMPERATIVES: Final = frozenset(_WORDS["imperatives"].split())


class EntityKind(StrEnum):
    """What sort of thing a name stands for."""

    NAME = "name"
    FILE = "file"
    COMMAND = "command"
    TOOL = "tool"
    PERSON = "person"
    DECISION = "decision"


@dataclass(frozen=True, slots=True)
class OrgEntity:
    """A thing that facts name; ``key`` is the same however it is written, ``name`` as it was."""

    key: str
    name: str
    kind: EntityKind = EntityKind.NAME


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as keys have them, so that a name is found in a question.

    Case, quotes, hyphens and the form of a decision's number make no difference.
    """
    return tuple(word for word, _, _ in placed_words(plainly(text)))


def plainly(text: str) -> str:
    """Return a text without the differences of spelling that ``words_of`` doesn't make."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return re.sub(r"'s\b", " ", _DECISION.sub(r"adr \1", plain))


def placed_words(plain: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word of what ``plainly`` returned, with where it starts and ends there."""
    for found in re.finditer(r"[^\s_,;()\u2013\u2014-]+", plain):
        word = found[0].strip(_EDGES)
        if word:
            yield word, found.start(), found.end()


def entity_of(phrase: str, kind: EntityKind | None = None) -> OrgEntity | None:
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
    kind = kind or _kind(name, words, quoted=quoted)
    return OrgEntity(" ".join(words), truncate(name, MAX_NAME_CHARS), kind)


def decision(number: str) -> OrgEntity:
    """Return the decision with a number."""
    plain = number.lstrip("0") or "0"
    return OrgEntity(f"adr {plain}", f"ADR-{plain}", EntityKind.DECISION)


def decisions_in(text: str) -> tuple[OrgEntity, ...]:
    """Return the decisions that a text names by number, each once."""
    return tuple(dict.fromkeys(decision(found[1]) for found in _DECISION.finditer(text)))


def named_in(sentence: str) -> tuple[OrgEntity, ...]:
    """Return what a sentence names by quotes, a path, or capitals, each once, in that order.

    A capital that begins the sentence is none, unless more of them are in the word.
    """
    found = list(_marked(sentence))
    return tuple({entity.key: entity for entity in found if entity is not None}.values())


def _marked(sentence: str) -> Iterator[OrgEntity | None]:
    for quoted in _QUOTED.finditer(sentence):
        yield entity_of(f"`{quoted[1]}`")
    rest = _QUOTED.sub(lambda found: " " * len(found[0]), sentence)
    yield from decisions_in(rest)
    rest = _DECISION.sub(lambda found: " " * len(found[0]), rest)
    for path in _FILE.finditer(rest):
        yield entity_of(path[0], EntityKind.FILE)
    rest = _FILE.sub(lambda found: " " * len(found[0]), rest)
    start = len(rest) - len(rest.lstrip(_EDGES + "#-"))
    for name in _NAME.finditer(rest):
        first, _, others = name[0].partition(" ")
        is_word = name.start() <= start and not any(map(str.isupper, first[1:]))
        if is_word and (not others or first.casefold() in STOP_WORDS | _IMPERATIVES):
            yield entity_of(others)
        else:
            yield entity_of(name[0])


def _without_determiner(name: str) -> str:
    words = name.split()
    while len(words) > 1 and words[0].casefold() in _DETERMINERS:
        words = words[1:]
    return " ".join(words)


def _kind(name: str, words: tuple[str, ...], *, quoted: bool) -> EntityKind:
    if name.startswith("@"):
        return EntityKind.PERSON
    if re.fullmatch(r"adr \d+", " ".join(words)):
        return EntityKind.DECISION
    if _FILE.fullmatch(name):
        return EntityKind.FILE
    if quoted:
        return EntityKind.COMMAND if " " in name else EntityKind.TOOL
    return EntityKind.NAME
