"""The filter language: words, ``-words`` and operators, read into criteria and chips.

One grammar; a pane brings the table of its operators. What a filter is applied to, the store or
rows at hand, isn't known here.
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
    """One part of a query as shown: what kind it is and what it says."""

    kind: str
    label: str
    role: str = "accent"


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed filter. ``problems`` explain parts that were left out.

    ``criteria`` are what the store lists by; ``values`` are operators with their values for rows
    at hand, which a pane compares itself.
    """

    criteria: BrowseFilter = field(default_factory=BrowseFilter)
    values: tuple[tuple[str, str], ...] = ()
    chips: tuple[Chip, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The plain words, for a search."""
        return " ".join(self.criteria.words)

    def has_words(self, text: str) -> bool:
        """Whether a text in lower case has all of the words and none of those excluded."""
        what = self.criteria
        return all(word.lower() in text for word in what.words) and not any(
            word.lower() in text for word in what.without
        )


Operator: TypeAlias = Callable[[Query, str], Query]
"""Puts the value of an operator into a query, or adds what is wrong with it."""


def parse_query(text: str, *, now: datetime, agents: Iterable[str] = ()) -> Query:
    """Read the filter or search of the Memories pane; ``agents`` are those there are."""
    known = tuple(agents)
    operators: Mapping[str, Operator] = {
        "agent:": lambda query, value: _with_agent(query, value, known),
        "cat:": _with_category,
        "tag:": _with_tag,
        "since:": lambda query, value: _with_since(query, value, now),
    }
    return read_query(text, operators)


def read_query(text: str, operators: Mapping[str, Operator]) -> Query:
    """Read what a person typed, by a table of operators.

    Nothing typed is an error: at most a part is left out of the criteria and explained. Words
    stand alone or in quotes, a dash before one excludes it, an operator takes the word or the
    quotes that follow its colon. What looks like an operator and is none in the table is a word.
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
    """Read a filter of rows at hand, in lower case, for operators with these names.

    ``is:`` is one more, which takes one of ``states``.
    """
    operators: dict[str, Operator] = {f"{name}:": partial(_with_value, name) for name in names}
    operators["is:"] = partial(_with_value, "is", choices=states)
    return read_query(text.lower(), operators)


def filter_line(query: Query, width: int, *, title: str = "filter ") -> Line:
    """The parts of a filter as chips."""
    shown = line((title, "faint"))
    for chip in query.chips:
        shown.add("▐", chip.role).add(chip.label, "strong").add("▌ ", chip.role)
    return shown.fit(width)


def matches(what: BrowseFilter, row: ListedMemory) -> bool:
    """Whether the criteria list the row; deletion is not looked at."""
    return (
        (not what.agents or row.agent_id in what.agents)
        and (not what.categories or row.category in what.categories)
        and set(what.tags) <= set(row.tags)
        and (what.since is None or row.created_at >= what.since)
        and Query(what).has_words(row.content.lower())
    )


def toggle_operator(text: str, operator: str, value: str) -> str:
    """The query text with ``operator value`` put in, or taken out when it is there alone."""
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
    """The instant that ``7d`` or ``2026-01-31`` names, or ``None``."""
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
