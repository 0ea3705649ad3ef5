"""The filter language: words, ``-words`` and operators are parsed into criteria and chips.

There is one grammar; each pane has its own table of operators. Nothing here knows what a filter is
applied to: the store, or rows in memory.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.projects import project_name, repository_of
from synthorg_tui.core.text import read_bound
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import (
    MEMORY_STATES,
    BrowseFilter,
    ListedMemory,
    owner_named,
    owner_words,
    projects_named,
)
from synthorg_tui.tui.base.lines import Line, line

_TOKEN = re.compile(r'(-?)((?:[a-z]+:)?)(?:"([^"]*)"?|(\S+))|(-)')
_AGE = re.compile(r"(\d{1,5})([hdwmy])")
_MAX_NAMED = 6
"""Projects that are named to whoever names another."""
_MAX_SESSION = 13
"""Characters of a session's id in a chip: the first two parts of a UUID."""
_UNITS = {"h": 1, "d": 24, "w": 24 * 7, "m": 24 * 30, "y": 24 * 365}


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


def parse_query(
    text: str, *, now: datetime, agents: Iterable[str] = (), projects: Iterable[str] = ()
) -> Query:
    """Parse the filter or search text of the Memories pane.

    ``agents`` are the known agent ids and ``projects`` the known paths; relative dates count from
    ``now``.
    """
    groups: Mapping[str, tuple[str, Finder, Labels]] = {
        "project:": ("projects", partial(_projects_named, tuple(projects)), _project_chip),
        "kind:": ("kinds", partial(_choices_named, "kind:", MemoryKind), _kind_chip),
        "agent:": ("agents", partial(_agents_named, tuple(agents)), _agent_chip),
        "cat:": ("categories", partial(_choices_named, "cat:", MemoryCategory), _category_chip),
        "tag:": ("tags", _tags_named, _tag_chip),
        "session:": ("sessions", _sessions_named, _session_chip),
    }
    operators: dict[str, Operator] = {
        operator: partial(_with_group, *group) for operator, group in groups.items()
    }
    operators["since:"] = partial(_with_time, "since", now)
    operators["until:"] = partial(_with_time, "until", now)
    operators["is:"] = _with_state
    without: dict[str, Operator] = {
        operator: partial(_without_group, *group) for operator, group in groups.items()
    }
    return read_query(text, operators, without)


def read_query(
    text: str, operators: Mapping[str, Operator], without: Mapping[str, Operator] | None = None
) -> Query:
    """Parse a text with the given operators; ``without`` are those that a dash may stand before.

    No text is an error: an invalid part is ignored and explained in ``problems``. Words stand alone
    or in quotes, a dash before one excludes it, and an operator takes the word or the quotes that
    follow its colon. An operator that is not in the table is read as a word.
    """
    excluding = without or {}
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
        elif dash and operator not in excluding:
            also = f" and on {' '.join(excluding)}" if excluding else " only"
            query = _problem(query, f"-{operator} is not possible; - works on words{also}")
        else:
            query = (excluding if dash else operators)[operator](query, value)
    return query


def parse_row_filter(
    text: str, *names: str, states: Sequence[str], bounds: Sequence[str] = ()
) -> Query:
    """Parse a filter of rows in memory, in lower case, with the operators ``names``.

    The operator ``is:`` is added; it takes one of ``states``. Operators in ``bounds`` take a number
    as ``read_bound`` reads it.
    """
    operators: dict[str, Operator] = {f"{name}:": partial(_with_value, name) for name in names}
    operators |= {f"{name}:": partial(_with_bound, name) for name in bounds}
    operators["is:"] = partial(_with_value, "is", choices=states)
    return read_query(text.lower(), operators)


def filter_line(query: Query, *, title: str = "filter ") -> Line:
    """Render the parts of a filter as chips in one line, which who draws it cuts to its width."""
    shown = line((title, "faint"))
    for chip in query.chips:
        shown.add("▐", chip.role).add(chip.label, "strong").add("▌ ", chip.role)
    return shown


def matches(what: BrowseFilter, row: ListedMemory, *, now: datetime | None = None) -> bool:
    """Return whether the row meets the criteria, apart from the criterion on deleted memories.

    Whether it is expired is told by ``now``; without it nothing is.
    """
    tags = {tag.lower() for tag in row.tags}
    return (
        _is_in_groups(what, row)
        and {tag.lower() for tag in what.tags} <= tags
        and tags.isdisjoint(tag.lower() for tag in what.unwanted.tags)
        and (not what.sessions or any(map(row.is_of, what.sessions)))
        and not any(map(row.is_of, what.unwanted.sessions))
        and (what.since is None or row.created_at >= what.since)
        and (what.until is None or row.created_at < what.until)
        and _has_states(what, row, now)
        and Query(what).has_words(row.content.lower())
    )


def _is_in_groups(what: BrowseFilter, row: ListedMemory) -> bool:
    unwanted = what.unwanted
    return all(
        (not wanted or value in wanted) and value not in left_out
        for value, wanted, left_out in (
            (row.agent_id, what.agents, unwanted.agents),
            (repository_of(row.project or ""), what.projects, unwanted.projects),
            (row.kind, what.kinds, unwanted.kinds),
            (row.category, what.categories, unwanted.categories),
        )
    )


def _has_states(what: BrowseFilter, row: ListedMemory, now: datetime | None) -> bool:
    ended = now is not None and row.expires_at is not None and row.expires_at <= now
    is_archived = row.archived_at is not None
    return (
        (is_archived or ended is ("expired" in what.states and now is not None))
        and ("edited" not in what.states or row.edited)
        and ("shared" not in what.states or row.shared)
        and ("expiring" not in what.states or row.expires_at is not None)
        and (row.deleted_at is not None or is_archived is ("archived" in what.states))
    )


def completed(text: str, values: Mapping[str, Sequence[str]]) -> str:
    """Return the text with its last word completed; unchanged if there is nothing to complete.

    ``values`` are what each operator can take. As in a shell, what several have in common is
    filled in first, and then the first of them.
    """
    start, blank, last = text.rpartition(" ")
    dash, word = ("-", last[1:]) if last.startswith("-") else ("", last)
    operator, colon, begun = word.partition(":")
    if not colon:
        found = _extended_by(word, list(values)) if word else ""
        return f"{start}{blank}{dash}{found}" if found else text
    known = [_quoted(value) for value in values.get(f"{operator}:", ())]
    if begun in known:
        return f"{text} "
    found = _extended_by(begun, known)
    end = " " if found in known and found else ""
    return f"{start}{blank}{dash}{operator}:{found}{end}" if found else text


def _extended_by(begun: str, known: Sequence[str]) -> str:
    folded = begun.lower().strip('"')
    fitting = [value for value in known if value.lower().strip('"').startswith(folded)]
    if not fitting:
        return ""
    first = fitting[0]
    for end in range(len(first), len(begun), -1):
        if all(value.lower().startswith(first[:end].lower()) for value in fitting):
            return first[:end]
    return first


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value


def toggle_operator(text: str, operator: str, value: str) -> str:
    """Return the query text with the operator set to ``value``.

    If it has that value already, the operator is removed.
    """
    spelled = operator + _quoted(value)
    rest = re.sub(rf'(?<!\S)-?{operator}("[^"]*"?|\S*)\s*', "", text).strip()
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


def _with_bound(name: str, query: Query, value: str) -> Query:
    if read_bound(value) is None:
        return _problem(query, f"{name}:{value} says nothing; write {name}:0.8 or {name}:<0.5")
    return _with_value(name, query, value)


Finder: TypeAlias = Callable[[str], Sequence[str] | str]
"""Returns the groups that a value names, or says in words why it names none."""
Labels: TypeAlias = Callable[[str], Chip]
"""Returns the chip of a group."""


def _with_group(field: str, find: Finder, chip: Labels, query: Query, value: str) -> Query:
    found, what = find(value), query.criteria
    if isinstance(found, str):
        return _problem(query, found)
    changed: dict[str, Any] = {field: _both(getattr(what, field), found)}
    return _extended(query, replace(what, **changed), *map(chip, found))


def _without_group(field: str, find: Finder, chip: Labels, query: Query, value: str) -> Query:
    found, what = find(value), query.criteria
    if isinstance(found, str):
        return _problem(query, found)
    unwanted = replace(what.unwanted, **{field: _both(getattr(what.unwanted, field), found)})
    chips = (replace(chip(each), label=f"not {chip(each).label}", role="warn") for each in found)
    return _extended(query, replace(what, unwanted=unwanted), *chips)


def _both(before: Sequence[str], found: Sequence[str]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*before, *found)))


def _tags_named(value: str) -> Sequence[str] | str:
    return (value,) if value else "tag: needs a tag, as in tag:git"


def _sessions_named(value: str) -> Sequence[str] | str:
    return (value,) if value else "session: needs the id of a session, which 6 shows"


def _choices_named(
    operator: str, choices: type[MemoryKind] | type[MemoryCategory], value: str
) -> Sequence[str] | str:
    names = ", ".join(choice.value for choice in choices)
    if not value:
        return f"{operator} needs one of {names}"
    named = [choice for choice in choices if choice.value.startswith(value.lower())]
    return named or f"{operator}{value} is none of {names}"


def _agents_named(agents: tuple[str, ...], value: str) -> Sequence[str] | str:
    called = {agent: owner_words(agent).lower() for agent in agents}
    exact = [agent for agent in agents if called[agent] == value.lower()]
    named = exact or [agent for agent in agents if value and value.lower() in called[agent]]
    if not value:
        such = f" such as {owner_words(agents[0])}" if agents else ""
        return f"agent: needs an agent{such}, or a part of its name"
    if agents and not named:
        return f"agent:{value} is none of {', '.join(map(owner_words, agents))}"
    return named or (owner_named(value),)


def _projects_named(projects: tuple[str, ...], value: str) -> Sequence[str] | str:
    if not value:
        such = f" such as {project_name(projects[0])}" if projects else ""
        return f"project: needs the name of a folder{such}, or its path"
    named = projects_named(value, projects)
    if projects and not named:
        shown = ", ".join(project_name(path) for path in projects[:_MAX_NAMED])
        return f"project:{value} is none of {shown}{' …' if len(projects) > _MAX_NAMED else ''}"
    return named or (value,)


def _tag_chip(tag: str) -> Chip:
    return Chip("tag", f"#{tag}")


def _session_chip(session: str) -> Chip:
    name = session.partition(":")[2] or session
    shown = name if len(name) <= _MAX_SESSION else f"{name[: _MAX_SESSION - 1]}…"
    return Chip("session", f"session {shown}", "good")


def _agent_chip(agent: str) -> Chip:
    return Chip("agent", f"@{owner_words(agent)}")


def _category_chip(category: str) -> Chip:
    return Chip("cat", str(category), f"cat-{category}")


def _kind_chip(kind: str) -> Chip:
    return Chip("kind", str(kind))


def _project_chip(path: str) -> Chip:
    return Chip("project", f"project {project_name(path)}", "good")


def _with_state(query: Query, value: str) -> Query:
    named = tuple(state for state in MEMORY_STATES if state == value.lower())
    if not named:
        return _problem(query, f"is:{value} says nothing; is: takes {', '.join(MEMORY_STATES)}")
    what = replace(query.criteria, states=(*query.criteria.states, *named))
    return _extended(query, what, Chip("is", named[0]))


def _with_time(name: str, now: datetime, query: Query, value: str) -> Query:
    if not value:
        return _problem(query, f"{name}: needs a time, as in {name}:12h, 7d, 2w or 2026-01-31")
    time = read_since(value, now)
    if time is None:
        return _problem(query, f"{name}:{value} is no time; write 12h, 7d, 2w or 2026-01-31")
    changed: dict[str, Any] = {name: time}
    return _extended(query, replace(query.criteria, **changed), Chip(name, f"{name} {value}"))


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
