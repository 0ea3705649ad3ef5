"""Whether of two statements the newer takes the place of the older: by words and values alone.

A statement is read as clauses of words and values (numbers, places, names). It takes another's
place if it says the same of the same thing but for one value or its polarity, or names the old
value as gone ("no longer", "from X to Y"). What is past, planned, an example or in addition takes
no place; what is unsure, or the same in part only, contradicts: a person has to say.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from synthorg_tui.core.languages import in_english
from synthorg_tui.core.patterns import Patterns
from synthorg_tui.memory.retrieval.sparse import STOP_WORDS

MAX_STATEMENT: Final = 600
"""Characters of a statement: a longer text is a story and isn't compared."""
_MAX_CLAUSES: Final = 8
_MAX_VALUE: Final = 3
"""Words of a value."""
_MAX_MORE: Final = 2
"""Words that the newer of two statements may have besides those of the older and its value."""
_LEAST_SHARED: Final = 0.6
_LEAST_ALIKE: Final = 0.75


class Relation(StrEnum):
    """How a newer statement stands to an older one that it isn't compatible with."""

    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"


_P: Final = Patterns(Path(__file__).with_name("claims.toml"))
_GONE: Final = tuple(f"cue {at}" for at, _ in enumerate(_P.data["cues"]))
"""Names of the ways to say that a value is gone, each with a group of that name."""
_PLAIN: Final = tuple((re.compile(way), plain) for way, plain in _P.data["plain"].items())
_SETS: Final = {name: frozenset(words.split()) for name, words in _P.data["words"].items()}
_SMALL: Final = (STOP_WORDS - {"up", "down"}) | _SETS["small"]
_GENERIC: Final = _SETS["units"] | _SETS["generic"]
LABELLED: Final = _SETS["labelled"]
"""Words after which a number is a name, so that another one is something else."""
_SAME: Final = {"are": "is", "be": "is", "uses": "use", "using": "use"}


class _Token(NamedTuple):
    text: str
    kind: str = ""

    @property
    def is_small(self) -> bool:
        """Whether the token says nothing by itself."""
        return not self.kind and self.text in _SMALL


class _ClaimPart(NamedTuple):
    """A part of a statement: its tokens, and where and how those stand that say something."""

    text: str
    tokens: tuple[_Token, ...]
    places: tuple[int, ...]
    content: tuple[_Token, ...]
    is_positive: bool
    """Whether it says that something is so, or is to be done."""

    @classmethod
    def of(cls, text: str) -> "_ClaimPart":
        tokens = _tokens(text)
        places = tuple(at for at, token in enumerate(tokens) if not token.is_small)
        turns = len(_P["negation"].findall(text)) + len(_P["antonyms"].findall(text))
        content = tuple(_root(tokens[at]) for at in places)
        return cls(text, tokens, places, content, turns % 2 == 0)


class _Statement(NamedTuple):
    text: str
    clauses: tuple[_ClaimPart, ...]
    gone: frozenset[_Token]
    content: frozenset[_Token]
    is_change: bool


def relation(newer: str, older: str) -> Relation | None:
    """Return how a newer statement stands to an older one; ``None`` if both can hold."""
    if max(len(newer), len(older)) > MAX_STATEMENT or _P["markup"].search(newer):
        return None
    new, old = _read(newer), _read(older)
    if new.content.isdisjoint(old.content) or _is_the_same(new, old):
        return None
    if _is_of_no_weight(new, old):
        return None
    found = _gone_of(new, old) or next(filter(None, _of_clauses(new, old)), None)
    if found is Relation.SUPERSEDES and _only_new(_P["unsure"], new, old):
        return Relation.CONTRADICTS
    return found


def subject_of(statement: str) -> frozenset[str]:
    """Return the words and values of a statement, by which others of the same thing are found."""
    return frozenset(token.text for token in _read(statement).content)


def tells_change(statement: str) -> bool:
    """Return whether a sentence says by itself that something has another value now."""
    read = _read(statement)
    vague = ("hypothetical", "planned", "unsure", "no_change", "observed")
    states = _P["states" if in_english(statement) == statement else "put_states"]
    if not read.is_change or not states.match(read.text):
        return False
    if any(_P[name].search(read.text) for name in vague):
        return False
    named = any(token.kind for token in read.content)
    return bool(read.content - read.gone) and (bool(read.gone) or named)


def lost_by(newer: str, older: str) -> frozenset[str]:
    """Return the words and values of the older statement that the newer one no longer states."""
    new, old = _read(newer), _read(older)
    return frozenset(token.text for token in old.content - (new.content - new.gone))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without what ends them."""
    return [part.strip() for part in _P["sentences"].split(text) if part.strip()]


def _is_the_same(new: _Statement, old: _Statement) -> bool:
    turns = [[clause.is_positive for clause in each.clauses] for each in (new, old)]
    return (new.content, new.gone) == (old.content, old.gone) and turns[0] == turns[1]


def _only_new(pattern: re.Pattern[str], new: _Statement, old: _Statement) -> bool:
    return pattern.search(new.text) is not None and pattern.search(old.text) is None


def _is_of_no_weight(new: _Statement, old: _Statement) -> bool:
    """Whether one of the two doesn't say how things are now."""
    if _P["hypothetical"].search(old.text) and not _P["hypothetical"].search(new.text):
        return True
    return _P["no_change"].search(new.text) is not None or any(
        _only_new(pattern, new, old)
        for pattern in (_P["hypothetical"], _P["planned"], _P["beside"])
    )


def _gone_of(new: _Statement, old: _Statement) -> Relation | None:
    """What follows from a value that the newer statement says is gone."""
    stated, told = old.content - old.gone, new.content - new.gone
    lost = _weighty(new.gone & stated)
    shared, rest = _weighty(told & stated), {t for t in _weighty(stated - lost) if not t.kind}
    typed = {token for token in stated if token.kind in _SETS["typed"]}
    left = typed - new.gone - new.content
    if lost and old.gone & told:
        return Relation.SUPERSEDES
    if not lost or (typed and not typed & new.gone) or (left and not shared):
        return None
    is_renamed = "renam" in new.text and any(t.kind in {"name", "place"} for t in lost)
    is_same = bool(shared) or is_renamed or (not rest and bool(told & stated))
    if is_same and any(token.kind == "number" for token in left):
        return Relation.CONTRADICTS
    is_close = 2 * len(shared & rest) >= len(rest) or any(token.kind == "place" for token in lost)
    return Relation.SUPERSEDES if is_same and (is_close or is_renamed) else None


def _of_clauses(new: _Statement, old: _Statement) -> Iterator[Relation | None]:
    for mine in new.clauses:
        for other in old.clauses:
            yield _turned(mine, other) or _other_value(mine, other, new) or _moved(mine, other, new)


def _turned(new: _ClaimPart, old: _ClaimPart) -> Relation | None:
    """Whether the clauses say the opposite of the same."""
    mine, other = _weighty(new.content), _weighty(old.content)
    if not mine or not other or new.is_positive == old.is_positive:
        return None
    alike = len(mine & other) / len(mine | other)
    if (
        alike < _LEAST_ALIKE
        or {t for t in mine ^ other if t.kind}
        or _P["exception"].search(new.text)
    ):
        return None
    return Relation.SUPERSEDES


class _ValueRun(NamedTuple):
    """The tokens of a clause that another one has others for."""

    clause: _ClaimPart
    start: int
    end: int

    @property
    def tokens(self) -> tuple[_Token, ...]:
        return self.clause.content[self.start : self.end]

    @property
    def before(self) -> str:
        """The word before it, articles left out; empty where the clause begins with it."""
        words = self.clause.tokens[: self.clause.places[self.start]]
        left = [token.text for token in words if token.text not in _SETS["articles"]]
        is_scope = len(left) == 1 and left[0] not in _SETS["verbs"]
        return "" if is_scope or not left else _SAME.get(left[-1], left[-1])

    @property
    def _label(self) -> str:
        at = self.clause.places[self.start]
        return self.clause.tokens[at - 1].text if at else ""

    @property
    def after(self) -> str:
        """The word after it."""
        following = self.clause.tokens[self.clause.places[self.end - 1] + 1 :]
        left = [token.text for token in following if not _P["changed"].fullmatch(token.text)]
        return left[0] if left else ""

    @property
    def is_one(self) -> bool:
        """Whether it is one value, be it of several words, and no label."""
        inside = self.clause.places[self.start : self.end]
        words = self.clause.tokens[inside[0] : inside[-1]]
        is_whole = not any(t.is_small and t.text not in _SETS["articles"] for t in words)
        is_told = self.end < len(self.clause.places) or self._label in _SETS["measures"]
        is_whole = is_whole and (is_told or any(token.is_small for token in self.clause.tokens))
        return is_whole and len(inside) <= _MAX_VALUE and self._label not in LABELLED


def _other_value(new: _ClaimPart, old: _ClaimPart, whole: _Statement) -> Relation | None:
    """Whether the clauses are the same but for one value."""
    mine, other = new.content, old.content
    steps = SequenceMatcher(None, other, mine, autojunk=False).get_opcodes()
    changed = [step for step in steps if step[0] == "replace"]
    if len(changed) != 1 or new.is_positive != old.is_positive:
        return None
    _, old_at, old_end, new_at, new_end = changed[0]
    come, gone = _ValueRun(new, new_at, new_end), _ValueRun(old, old_at, old_end)
    more = [token for kind, _, _, at, end in steps if kind == "insert" for token in mine[at:end]]
    is_other = any(
        kind == "delete" or (kind == "insert" and at < new_at) for kind, _, _, at, _ in steps
    )
    shared = _weighty(token for token in other if token in mine and token.text != "go")
    if is_other or not shared or not _is_value(come, gone, is_change=whole.is_change):
        return None
    if any(token.text in _SETS["scopes"] for token in more):
        return None
    is_sure = len(shared) > 1 or gone.tokens[0].kind in _SETS["typed"] or gone.before != "is"
    if whole.is_change or (is_sure and len(more) <= _MAX_MORE):
        return Relation.SUPERSEDES
    return Relation.CONTRADICTS


def _weighty(tokens: Iterable[_Token]) -> set[_Token]:
    """The tokens that say what is spoken of."""
    return {
        t
        for t in tokens
        if t.text not in _GENERIC and t.text not in _SETS["changes"] | _SETS["placing"]
    }


def _is_value(come: _ValueRun, gone: _ValueRun, *, is_change: bool) -> bool:
    """Whether what differs is what the clauses say of something, and not what they speak of."""
    kinds = _kinds(come.tokens)
    if kinds != _kinds(gone.tokens) and come.before == gone.before == "is" and gone.start > 1:
        kinds = {"word"}  # a name may be written like a place
    elif kinds != _kinds(gone.tokens):
        return False
    if len(kinds) > 1 or not (come.is_one and gone.is_one):
        return False
    is_many = any(_P["many"].search(run.clause.text) for run in (come, gone))
    if not is_change and (is_many or come.clause.tokens[0].text in _SETS["acts"]):
        return False
    if kinds != {"word"}:
        one, other = (" ".join(token.text for token in run.tokens) for run in (come, gone))
        return kinds == {"number"} or not (one in other or other in one)
    if come.start == gone.start == 0 and not come.before:
        is_owner = not _SETS["owns"].isdisjoint(token.text for token in come.clause.tokens)
        return is_change and is_owner and come.clause.is_positive and come.after == gone.after
    is_alike = (come.before, come.after) == (gone.before, gone.after)
    return come.clause.is_positive and is_alike and come.before in _SETS["places_of_values"]


def _kinds(tokens: Iterable[_Token]) -> set[str]:
    """Of what kind a value is; what has a word in it is words."""
    kinds = {
        t.kind if t.kind in _SETS["typed"] else "word"
        for t in tokens
        if t.text not in _SETS["units"]
    }
    return {"word"} if "word" in kinds else kinds


def _moved(new: _ClaimPart, old: _ClaimPart, whole: _Statement) -> Relation | None:
    """Whether the clause tells of a change of the older's subject to another value."""
    if not whole.is_change or new.is_positive != old.is_positive:
        return None
    mine, other = set(new.content), set(old.content)
    values = [{t for t in tokens if t.kind in _SETS["typed"]} for tokens in (mine, other)]
    if (
        not values[0]
        and (come := _P["to"].search(new.text))
        and (said := _P["is"].fullmatch(old.text))
    ):
        values = [
            {_root(t) for t in _tokens(text) if not t.is_small} for text in (come[1], said[1])
        ]
    if not values[0] or not values[1] or values[0] & values[1]:
        return None
    if _kinds(values[0]) != _kinds(values[1]):
        return None
    subject = other - values[1]
    shared, lacking = _weighty(subject & mine), _weighty(subject - mine)
    more = _weighty(mine - subject - values[0])
    if (
        not {t for t in shared if t.text != "go"}
        or (lacking and more)
        or len(shared) < _LEAST_SHARED * len(_weighty(subject))
    ):
        return None
    return Relation.SUPERSEDES if len(more) <= _MAX_MORE else Relation.CONTRADICTS


@lru_cache(maxsize=4_096)
def _read(statement: str) -> _Statement:
    text = in_english(statement).casefold()
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    parts = [_P["reasons"].sub("", part).strip() for part in _P["clauses"].split(text)]
    parts = [part for part in parts if part][:_MAX_CLAUSES]
    parts += [_P["label"].sub(" is ", part) for part in sentences(text) if _P["label"].search(part)]
    gone = {
        _root(token)
        for part in parts
        for pattern in _GONE
        for found in _P[pattern].finditer(part)
        for token in _tokens(found["gone"])
        if not token.is_small
    }
    found = (_ClaimPart.of(part) for part in parts if not _is_past(part))
    clauses = tuple(clause for clause in found if clause.content)
    content = frozenset(token for clause in clauses for token in clause.content)
    is_change = bool(gone) or _P["changed"].search(text) is not None
    return _Statement(text, clauses, frozenset(gone), content, is_change)


def _is_past(clause: str) -> bool:
    return _P["past"].search(clause) is not None and _P["passive"].search(clause) is None


def _tokens(text: str) -> tuple[_Token, ...]:
    found = (chunk.strip("\"'`()[]<>{}*,;:!?").rstrip(".") for chunk in text.split())
    return tuple(_Token(chunk, _kind(chunk)) for chunk in found if chunk.strip(".-=>"))


def _kind(chunk: str) -> str:
    for kind in ("number", "place", "name"):
        if _P[kind].fullmatch(chunk):
            return kind
    return ""


@lru_cache(maxsize=16_384)
def _root(token: _Token) -> _Token:
    if token.kind == "number":
        return token._replace(text=token.text.lstrip("v"))
    if token.kind:
        return token
    from Stemmer import Stemmer  # a new one each time, as threads can't share one

    return _Token(Stemmer("english").stemWord(token.text))
