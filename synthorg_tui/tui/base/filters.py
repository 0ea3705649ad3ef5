"""The filter language: words, ``-words`` and operators are parsed into criteria and chips.

There is one grammar; each pane has its own table of operators. Nothing here knows what a filter is
applied to: the store, or rows in memory.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.listing import BrowseFilter, ListedMemory
from synthorg_tui.tui.base.lines import Line, line

_TOKEN = re.compile(r'(-?)((?:[a-z]+:)?)(?:"([^"]*)"?|(\S+))|(-)')
_AGE = re.compile(r"(\d{1,5})([hdwmy])")
_UNITS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}
_CATEGORY_NAMES = ", ".join(category.value for category in MemoryCategory)


@dataclass(frozen=True, slots=True)
class Chip:
    """A part of a query for display: its kind, its text and a style role."""

    kind: str
    label: str
    role: str = "accent"


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed filter.

    ``criteria`` are what the store is asked for. ``values`` are pairs of operator and value that a
    pane applies to its rows in memory. ``chips`` show the parts of the filter, and ``problems``
    explain parts that were ignored.
    """

    criteria: BrowseFilter = field(default_factory=BrowseFilter)
    values: tuple[tuple[str, str], ...] = ()
    chips: tuple[Chip, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The words without operators, separated by spaces, for a search."""
        return " ".join(self.criteria.words)

    def has_words(self, text: str) -> bool:
        """Return whether ``text``, in lower case, has all of the words and no excluded one."""
        what = self.criteria
        return all(word.lower() in text for word in what.words) and not any(
            word.lower() in text for word in what.without
        )


Operator: TypeAlias = Callable[[Query, str], Query]
"""Returns the query with the operator's value applied, or with a problem added."""


def parse_query(text: str, *, now: datetime, agents: Iterable[str] = ()) -> Query:
    """Parse the filter or search text of the Memories pane.

    ``agents`` are the known agent ids; relative dates count from ``now``.
    """
    known = tuple(agents)
    operators: Mapping[str, Operator] = {
        "agent:": lambda query, value: _with_agent(query, value, known),
        "cat:": _with_category,
        "tag:": _with_tag,
        "since:": lambda query, value: _with_since(query, value, now),
    }
    return read_query(text, operators)


def read_query(text: str, operators: Mapping[str, Operator]) -> Query:
    """Parse a text with the given operators.

    No text is an error: an invalid part is ignored and explained in ``problems``. Words stand alone
    or in quotes, a dash before one excludes it, and an operator takes the word or the quotes that
    follow its colon. An operator that is not in the table is read as a word.
    """
    query = Query()
    for match in _TOKEN.finditer(text.strip()):
        dash, operator, quoted, word, lone_dash = match.groups()
        value = quoted if quoted is not None else (word or "")
        if lone_dash:
            continue
        if not operator and word in operators:
            operator, value = word, ""
        if operator and operator not in operators:
            operator, value = "", operator + value
        if not operator:
            query = _with_word(query, value, without=bool(dash))
        elif dash:
            query = _problem(query, f"-{operator} is not possible; - works on words only")
        else:
            query = operators[operator](query, value)
    return query


def parse_row_filter(text: str, *names: str, states: Sequence[str]) -> Query:
    """Parse a filter of rows in memory, in lower case, with the operators ``names``.

    The operator ``is:`` is added; it takes one of ``states``.
    """
    operators: dict[str, Operator] = {f"{name}:": partial(_with_value, name) for name in names}
    operators["is:"] = partial(_with_value, "is", choices=states)
    return read_query(text.lower(), operators)


def filter_line(query: Query, width: int, *, title: str = "filter ") -> Line:
    """Render the parts of a filter as chips in one line."""
    shown = line((title, "faint"))
    for chip in query.chips:
        shown.add("▐", chip.role).add(chip.label, "strong").add("▌ ", chip.role)
    return shown.fit(width)


def matches(what: BrowseFilter, row: ListedMemory) -> bool:
    """Return whether the row meets the criteria, apart from the criterion on deleted memories."""
    return (
        (not what.agents or row.agent_id in what.agents)
        and (not what.categories or row.category in what.categories)
        and set(what.tags) <= set(row.tags)
        and (what.since is None or row.created_at >= what.since)
        and Query(what).has_words(row.content.lower())
    )


def toggle_operator(text: str, operator: str, value: str) -> str:
    """Return the query text with the operator set to ``value``.

    If it has that value already, the operator is removed.
    """
    spelled = operator + (f'"{value}"' if re.search(r"\s", value) else value)
    rest = re.sub(rf'{operator}("[^"]*"?|\S*)\s*', "", text).strip()
    if spelled in text.split() or spelled in text:
        return rest
    return f"{spelled} {rest}".strip()


def _with_word(query: Query, word: str, *, without: bool) -> Query:
    if not word:
        return query
    what = query.criteria
    if without:
        what = replace(what, without=(*what.without, word))
        return _extended(query, what, Chip("without", f"without {word}", "warn"))
    return _extended(query, replace(what, words=(*what.words, word)), Chip("word", word, "match"))


def _with_value(name: str, query: Query, value: str, choices: Sequence[str] = ()) -> Query:
    if not value or (choices and value not in choices):
        takes = f"one of {', '.join(choices)}" if choices else "a word"
        return _problem(query, f"{name}:{value} says nothing; {name}: takes {takes}")
    chips = (*query.chips, Chip(name, f"{name}:{value}"))
    return replace(query, values=(*query.values, (name, value)), chips=chips)


def _with_tag(query: Query, value: str) -> Query:
    if not value:
        return _problem(query, "tag: needs a tag, as in tag:git")
    what = replace(query.criteria, tags=(*query.criteria.tags, value))
    return _extended(query, what, Chip("tag", f"#{value}"))


def _with_category(query: Query, value: str) -> Query:
    named = [c for c in MemoryCategory if c.value.startswith(value.lower())]
    if not value:
        return _problem(query, f"cat: needs one of {_CATEGORY_NAMES}")
    if not named:
        return _problem(query, f"cat:{value} is none of {_CATEGORY_NAMES}")
    what = replace(query.criteria, categories=(*query.criteria.categories, *named))
    return _extended(query, what, *(Chip("cat", c.value, f"cat-{c.value}") for c in named))


def _with_since(query: Query, value: str, now: datetime) -> Query:
    since = read_since(value, now)
    if not value:
        return _problem(query, "since: needs a time, as in since:12h, 7d, 2w or 2026-01-31")
    if since is None:
        return _problem(query, f"since:{value} is no time; write 12h, 7d, 2w or 2026-01-31")
    what = replace(query.criteria, since=since)
    return _extended(query, what, Chip("since", f"since {value}"))


def _with_agent(query: Query, value: str, agents: tuple[str, ...]) -> Query:
    exact = [agent for agent in agents if agent.lower() == value.lower()]
    named = exact or [agent for agent in agents if value and value.lower() in agent.lower()]
    if not value:
        such = f" such as {agents[0]}" if agents else ""
        return _problem(query, f"agent: needs an agent{such}, or a part of its name")
    if agents and not named:
        return _problem(query, f"agent:{value} is none of {', '.join(agents)}")
    named = named or [value]
    what = replace(query.criteria, agents=tuple(dict.fromkeys((*query.criteria.agents, *named))))
    return _extended(query, what, *(Chip("agent", f"@{agent}") for agent in named))


def read_since(value: str, now: datetime) -> datetime | None:
    """Return the instant named by ``7d`` (an age), ``today``, ``yesterday`` or an ISO 8601 date.

    Returns ``None`` for any other text.
    """
    if value.lower() in ("today", "yesterday"):
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight if value.lower() == "today" else midnight - timedelta(days=1)
    if age := _AGE.fullmatch(value.lower()):
        try:
            return now - timedelta(hours=int(age[1]) * _UNITS[age[2]])
        except OverflowError:
            return None
    try:
        day = datetime.fromisoformat(value)
    except ValueError:
        return None
    return day if day.tzinfo else day.replace(tzinfo=now.tzinfo)


def _extended(query: Query, what: BrowseFilter, *chips: Chip) -> Query:
    return replace(query, criteria=what, chips=(*query.chips, *chips))


def _problem(query: Query, message: str) -> Query:
    return replace(query, problems=(*query.problems, message))
