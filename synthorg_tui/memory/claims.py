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
from typing import Final, NamedTuple

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


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_HYPOTHETICAL: Final = _any(
    *(
        "if",
        "suppose",
        "imagine",
        "what if",
        "for (?:example|instance)",
        r"e\.g",
        "would",
        "pretend",
    ),
    *("assum(?:e|ing)", "such as", "hypothetically"),
)
_PLANNED: Final = _any(
    *("will", "going to", "tomorrow", "next (?:week|month|quarter|sprint|year|release)", "soon"),
    *("later", "plan(?:s|ned|ning)? to", "in q[1-4]", "eventually", "someday", "once we", "todo"),
)
_UNSURE: Final = _any(
    *("think", "maybe", "might", "may", "perhaps", "probably", "guess", "believe", "could"),
    *("should", "ought", "looks like", "seems?", "let us", "not sure", "possibly", "apparently"),
    *("propos(?:e|al)", "consider", "when", "only", "hmm", "suggest"),
)
_PAST: Final = _any(
    *("used to", "was", "were", "had", "formerly", "previously", "back then", "at the time"),
    *("originally", "initially", "in the past", "at first", "last year", "in the first"),
    "before (?:january|february|march|april|may|june|july|august|september|october|november"
    "|december|the migration|that)",
)
_BESIDE: Final = _any(
    "also", "too", "as well", "additionally", "both", "another", "besides", "plus"
)
_EXCEPTION: Final = _any("except", "unless", "apart from")
_CHANGE: Final = (
    r"(?:mov|switch|renam|replac|migrat|chang|upgrad|bump|rais|lower|increas|decreas|reduc|updat"
    r"|convert|transition)(?:e|es|ed|ing|s)?"
)
_NO_CHANGE: Final = re.compile(rf"\bnot\b(?: \S+){{0,2}} {_CHANGE}\b|\bnot\b.* yet\b")
_CHANGED: Final = _any(
    *("now", "no longer", "anymore", "instead", "from now on", "these days", "again", "gone"),
    *("dropped", "retired", "deprecated", "got rid of", "handed over", "left", _CHANGE),
)
_PASSIVE: Final = re.compile(rf"\b(?:was|were|has been|have been) {_CHANGE}\b")
_NEGATION: Final = _any("not", "never", "no", "cannot", "without", "neither", "nor")
_ANTONYMS: Final = _any(
    *(
        "disabled?",
        "forbidden",
        "banned",
        "prohibited",
        "disallowed",
        "off",
        "avoid",
        "stop (?=\\w+ing)",
    ),
    "optional",
)
_X: Final = r"(?P<gone>\S+(?: (?!to\b|with\b|by\b|and\b|for\b|in\b|as\b)\S+){0,3})"
_GONE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:no longer|instead of|rather than|in place of|away from|got rid of|over) {_X}",
        rf"\b(?:dropped|abandoned|ditched|retired|removed) {_X}",
        rf"^(?:and )?not (?:in |at |on |to |with )?{_X}",
        r"\bfrom (?P<gone>\S+(?: (?!to\b)\S+){0,3}) to\b",
        r"(?P<gone>\S+) (?:->|=>|→)",
        rf"\breplac(?:e|ed|ing) {_X} (?:with|by)\b",
        rf"\breplaces? {_X}",
        rf"\bused to be (?:in |at |on )?{_X}",
        r"^(?P<gone>\S+(?: \S+)?) (?:is|are|has|have)? ?(?:now )?"
        r"(?:gone|dead|deprecated|retired|removed|obsolete|left)\b",
        rf"\brename (?:\S+ ){{0,3}}?{_X} to\b",
        r"(?P<gone>\S+) (?:was|were|is|has been) renamed\b",
    )
)
_TO: Final = re.compile(rf"\b{_CHANGE}\b.* to (\S+(?: \S+)?)$")
_IS: Final = re.compile(r".* (?:is|are) (\S+(?: \S+)?)")
_CLAUSES: Final = re.compile(r"[,;:!?\u2014]\s+|\.\s+|\s-\s|\n+|\s+but\s+|[?!.]+$")
_STATES: Final = re.compile(
    r"(?:(?:we|i)(?: (?:have|has|just|now|decided to))* (?!(?:want|need|would|do|am|get|see)\b)\w+"
    r"|(?:the|our|this|all) (?:[\w./-]+ ){1,6}?"
    r"(?:is|are|was|were|has been|have been|moved|lives?|runs?|uses?|goes?|listens?)\b)"
)
_OBSERVED: Final = _any(
    *("fail(?:s|ed|ing|ures?)?", "errors?", "broken?", "works?", "working", r"crash\w*", "slow"),
    *(
        "bugs?",
        "tried",
        "see",
        "seems?",
        "got",
        "shows?",
        "stuck",
        "missing",
        "you",
        "pass(?:es|ed)?",
    ),
)
"""Words of what somebody saw, which says little of what holds."""
_LABEL: Final = re.compile(r"(?<=\w): (?=\S)")
_SENTENCES: Final = re.compile(r"[;!?]\s+|\.\s+|\n+|[?!.]+$")
_REASONS: Final = re.compile(r" (?:because|since|so that|due to)\b.*")
_PLAIN: Final = (
    (re.compile(r"[\u2019]"), "'"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"'s\b"), " is"),
    (re.compile(r"\bno need to\b"), "not"),
    (re.compile(r"(?<=\w)\s?=\s?(?=[\w\"'/])"), " is "),
)
_SMALL: Final = (STOP_WORDS - {"up", "down"}) | _set("""
    remember note notice mind keep please always never now longer instead anymore again used fine ok
    okay allowed enabled enable disabled disable forbidden heads yes
    decision decided agreed future reference actually hey well us let like get gets got going today
    yesterday currently yet still even maybe perhaps may think should avoid gone retired
    deprecated optional required rather than place days these cannot ought could must
    looks guess seems believe directly really ever
    """)
_CHANGES: Final = _set("move switch renam replac chang upgrad bump rais lower increas reduc updat")
_MEASURES: Final = _set("port version timeout limit size ttl interval replicas workers retries")
"""Words after which a number is a value, though nothing else says so."""
_PLACING: Final = _set("live run put store belong")
_UNITS: Final = _set("second minut hour day week mb gb kb ms percent time charact")
_GENERIC: Final = _UNITS | _set("""
project repo repositori code codebas use app applic here thing file us
""")
_VERBS: Final = _set("use prefer ask is are called")
_SAME: Final = {"are": "is", "be": "is", "uses": "use", "using": "use"}
_TYPED: Final = _set("number place")
_PLACES_OF_VALUES: Final = _set("""
is at in on to with by from through via under into as above below every over use prefer ask
called named than become becomes
""")
_ARTICLES: Final = _set("a an the our your my its")
_OWNS: Final = _set(
    "owns own leads lead maintains maintain handles handle approves reviews runs responsible"
)
_MANY: Final = _any(
    *("supports?", "ha(?:s|ve)", "contains?", "includes?", "accepts?", "fails?", "breaks?"),
    *("crash(?:es)?", "there (?:is|are)", "can", "fix(?:es|ed)?"),
)
"""Verbs of what may hold of several things at once."""
_ACTS: Final = _set("""
add remove fix run update read refactor rename move see test delete create implement close closes
check handle improve clean merge revert import install write open look try start stop build
""")
"""Verbs of what is done once: a clause that begins with one states nothing that another changes."""
_MARKUP: Final = re.compile(r"</?[a-z]")
LABELLED: Final = _set("""
rule step phase section part chapter level item point issue ticket adr decision sprint milestone day
week number table figure pr bug task line note memory entry record example sample
fact session run attempt
""")
"""Words after which a number is a name, so that another one is something else."""
_SCOPES: Final = _set("""
test tests testing staging stage production prod dev development local locally ci preview sandbox
linux macos mac windows docker weekdays weekends laptops demo beta canary qa
""")


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
        turns = len(_NEGATION.findall(text)) + len(_ANTONYMS.findall(text))
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
    if max(len(newer), len(older)) > MAX_STATEMENT or _MARKUP.search(newer):
        return None
    new, old = _read(newer), _read(older)
    if new.content.isdisjoint(old.content) or _is_the_same(new, old):
        return None
    if _is_of_no_weight(new, old):
        return None
    found = _gone_of(new, old) or next(filter(None, _of_clauses(new, old)), None)
    if found is Relation.SUPERSEDES and _only_new(_UNSURE, new, old):
        return Relation.CONTRADICTS
    return found


def subject_of(statement: str) -> frozenset[str]:
    """Return the words and values of a statement, by which others of the same thing are found."""
    return frozenset(token.text for token in _read(statement).content)


def tells_change(statement: str) -> bool:
    """Return whether a sentence says by itself that something has another value now."""
    read = _read(statement)
    is_vague = any(
        pattern.search(read.text)
        for pattern in (_HYPOTHETICAL, _PLANNED, _UNSURE, _NO_CHANGE, _OBSERVED)
    )
    if is_vague or not read.is_change or not _STATES.match(read.text):
        return False
    named = any(token.kind for token in read.content)
    return bool(read.content - read.gone) and (bool(read.gone) or named)


def lost_by(newer: str, older: str) -> frozenset[str]:
    """Return the words and values of the older statement that the newer one no longer states."""
    new, old = _read(newer), _read(older)
    return frozenset(token.text for token in old.content - (new.content - new.gone))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without what ends them."""
    return [part.strip() for part in _SENTENCES.split(text) if part.strip()]


def _is_the_same(new: _Statement, old: _Statement) -> bool:
    turns = [[clause.is_positive for clause in each.clauses] for each in (new, old)]
    return (new.content, new.gone) == (old.content, old.gone) and turns[0] == turns[1]


def _only_new(pattern: re.Pattern[str], new: _Statement, old: _Statement) -> bool:
    return pattern.search(new.text) is not None and pattern.search(old.text) is None


def _is_of_no_weight(new: _Statement, old: _Statement) -> bool:
    """Whether one of the two doesn't say how things are now."""
    if _HYPOTHETICAL.search(old.text) and not _HYPOTHETICAL.search(new.text):
        return True
    return _NO_CHANGE.search(new.text) is not None or any(
        _only_new(pattern, new, old) for pattern in (_HYPOTHETICAL, _PLANNED, _BESIDE)
    )


def _gone_of(new: _Statement, old: _Statement) -> Relation | None:
    """What follows from a value that the newer statement says is gone."""
    stated, told = old.content - old.gone, new.content - new.gone
    lost = _weighty(new.gone & stated)
    shared, rest = _weighty(told & stated), {t for t in _weighty(stated - lost) if not t.kind}
    typed = {token for token in stated if token.kind in _TYPED}
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
    if alike < _LEAST_ALIKE or {t for t in mine ^ other if t.kind} or _EXCEPTION.search(new.text):
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
        left = [token.text for token in words if token.text not in _ARTICLES]
        is_scope = len(left) == 1 and left[0] not in _VERBS
        return "" if is_scope or not left else _SAME.get(left[-1], left[-1])

    @property
    def _label(self) -> str:
        at = self.clause.places[self.start]
        return self.clause.tokens[at - 1].text if at else ""

    @property
    def after(self) -> str:
        """The word after it."""
        following = self.clause.tokens[self.clause.places[self.end - 1] + 1 :]
        left = [token.text for token in following if not _CHANGED.fullmatch(token.text)]
        return left[0] if left else ""

    @property
    def is_one(self) -> bool:
        """Whether it is one value, be it of several words, and no label."""
        inside = self.clause.places[self.start : self.end]
        words = self.clause.tokens[inside[0] : inside[-1]]
        is_whole = not any(t.is_small and t.text not in _ARTICLES for t in words)
        is_told = self.end < len(self.clause.places) or self._label in _MEASURES
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
    if any(token.text in _SCOPES for token in more):
        return None
    is_sure = len(shared) > 1 or gone.tokens[0].kind in _TYPED or gone.before != "is"
    if whole.is_change or (is_sure and len(more) <= _MAX_MORE):
        return Relation.SUPERSEDES
    return Relation.CONTRADICTS


def _weighty(tokens: Iterable[_Token]) -> set[_Token]:
    """The tokens that say what is spoken of."""
    return {t for t in tokens if t.text not in _GENERIC and t.text not in _CHANGES | _PLACING}


def _is_value(come: _ValueRun, gone: _ValueRun, *, is_change: bool) -> bool:
    """Whether what differs is what the clauses say of something, and not what they speak of."""
    kinds = _kinds(come.tokens)
    if kinds != _kinds(gone.tokens) and come.before == gone.before == "is" and gone.start > 1:
        kinds = {"word"}  # a name may be written like a place
    elif kinds != _kinds(gone.tokens):
        return False
    if len(kinds) > 1 or not (come.is_one and gone.is_one):
        return False
    is_many = any(_MANY.search(run.clause.text) for run in (come, gone))
    if not is_change and (is_many or come.clause.tokens[0].text in _ACTS):
        return False
    if kinds != {"word"}:
        one, other = (" ".join(token.text for token in run.tokens) for run in (come, gone))
        return kinds == {"number"} or not (one in other or other in one)
    if come.start == gone.start == 0 and not come.before:
        is_owner = not _OWNS.isdisjoint(token.text for token in come.clause.tokens)
        return is_change and is_owner and come.clause.is_positive and come.after == gone.after
    is_alike = (come.before, come.after) == (gone.before, gone.after)
    return come.clause.is_positive and is_alike and come.before in _PLACES_OF_VALUES


def _kinds(tokens: Iterable[_Token]) -> set[str]:
    """Of what kind a value is; what has a word in it is words."""
    kinds = {t.kind if t.kind in _TYPED else "word" for t in tokens if t.text not in _UNITS}
    return {"word"} if "word" in kinds else kinds


def _moved(new: _ClaimPart, old: _ClaimPart, whole: _Statement) -> Relation | None:
    """Whether the clause tells of a change of the older's subject to another value."""
    if not whole.is_change or new.is_positive != old.is_positive:
        return None
    mine, other = set(new.content), set(old.content)
    values = [{t for t in tokens if t.kind in _TYPED} for tokens in (mine, other)]
    if not values[0] and (come := _TO.search(new.text)) and (said := _IS.fullmatch(old.text)):
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
    text = statement.casefold()
    for pattern, plain in _PLAIN:
        text = pattern.sub(plain, text)
    parts = [_REASONS.sub("", part).strip() for part in _CLAUSES.split(text)]
    parts = [part for part in parts if part][:_MAX_CLAUSES]
    parts += [_LABEL.sub(" is ", part) for part in sentences(text) if _LABEL.search(part)]
    gone = {
        _root(token)
        for part in parts
        for pattern in _GONE
        for found in pattern.finditer(part)
        for token in _tokens(found["gone"])
        if not token.is_small
    }
    found = (_ClaimPart.of(part) for part in parts if not _is_past(part))
    clauses = tuple(clause for clause in found if clause.content)
    content = frozenset(token for clause in clauses for token in clause.content)
    is_change = bool(gone) or _CHANGED.search(text) is not None
    return _Statement(text, clauses, frozenset(gone), content, is_change)


def _is_past(clause: str) -> bool:
    return _PAST.search(clause) is not None and _PASSIVE.search(clause) is None


_NUMBER: Final = re.compile(r"[v~^=<>$\u20ac]*\d[\d.,]*(?:%|[a-z]{1,2})?")
_PLACE: Final = re.compile(
    r"[\w.+-]*@[\w-]+\.\S*|\S*[\w~.]?/\S*|(?=\S*[a-z])\.?[\w-]+(?:\.[\w-]+)+(?::\d+)?|\w+:[\w.]+\S*"
)
_NAME: Final = re.compile(r"@\S+|\S*[\d_+]\S*|\S+-\S+")


def _tokens(text: str) -> tuple[_Token, ...]:
    found = (chunk.strip("\"'`()[]<>{}*,;:!?").rstrip(".") for chunk in text.split())
    return tuple(_Token(chunk, _kind(chunk)) for chunk in found if chunk.strip(".-=>"))


def _kind(chunk: str) -> str:
    for kind, pattern in (("number", _NUMBER), ("place", _PLACE), ("name", _NAME)):
        if pattern.fullmatch(chunk):
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
