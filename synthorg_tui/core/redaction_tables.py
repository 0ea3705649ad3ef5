"""Secrets in columns: CSV, Markdown and the tables of database clients, rows of an SQL insert."""

from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

from synthorg_tui.core.redaction_spoken import PASSWORD, is_random, is_weak
from synthorg_tui.core.text import compiled

_ROW_END = r"\r?\n|\\+n"
_WIDEST = 400
_CELL_END = r"[\w \"'`*-]{0,30}(?:[|,;\t\n\\]|$)"
_HEADER = r"[^\n(){}=<>]{3,400}"
_RULE = r"[ \t|:+-]+"
_INSERT = r"(?i)\(([^()]{3,600})\)\s{0,4}values\s{0,4}"
_TUPLE = r"\s{0,4},?\s{0,4}\(((?:'(?:[^'\n]|'')*'|[^()'\n]){1,4000})\)"
_FIELD = r"\s*((?:N?'(?:[^'\n]|'')*'|[^,'\n]+))"
_EDGES = " \\\t\"'`*"

Span = tuple[str, int, int]
_KindOf: TypeAlias = Callable[[str], str | None]


def redact_tables(
    text: str,
    mark: Callable[[str, str], str],
    triggers: tuple[str, ...],
    kind_of: _KindOf,
) -> str:
    """Replace secrets in the columns of ``text`` that are named after secrets.

    Args:
        text: The text.
        mark: Called with the kind of each secret and the secret; returns its replacement.
        triggers: Texts of which one is in the name of such a column.
        kind_of: Returns the kind of secret that a name indicates.
    """
    spans = list(_in_rows(text, triggers, kind_of))
    if "VALUES" in text or "values" in text:
        spans += _in_inserts(text, kind_of)
    parts: list[str] = []
    done = 0
    for kind, first, last in sorted(spans, key=lambda span: span[1:]):
        if first >= done:
            parts += [text[done:first], mark(kind, text[first:last])]
            done = last
    return "".join([*parts, text[done:]]) if parts else text


def _in_rows(text: str, triggers: tuple[str, ...], kind_of: _KindOf) -> Iterator[Span]:
    lowered, done = text.lower(), 0
    for trigger in triggers:
        done, place = 0, lowered.find(trigger)
        while place >= 0:
            last = place + len(trigger)
            if compiled(_CELL_END).match(lowered, last):
                first, last = _line(text, place)
                if first >= done:
                    done = yield from _rows_under(text, first, last, kind_of)
            place = lowered.find(trigger, max(done, last))


def _line(text: str, place: int) -> tuple[int, int]:
    """Return where the line of a place begins and ends, or a part of it that is too long."""
    lowest = max(0, place - _WIDEST)
    breaks = (text.rfind("\n", lowest, place) + 1, text.rfind("\\n", lowest, place) + 2)
    end = compiled(_ROW_END).search(text, place, place + _WIDEST)
    return max(lowest, *breaks), end.start() if end else min(len(text), place + _WIDEST)


def _rows_under(text: str, first: int, last: int, kind_of: _KindOf) -> Generator[Span, None, int]:
    """Yield the secrets under a line that may be a header; return where the table ends."""
    line = text[first:last]
    sign = next((each for each in ("|", "\t", "\\t", ";", ",") if each in line), "")
    columns = _columns(line, sign, kind_of) if sign else {}
    while columns:
        begin = compiled(_ROW_END).match(text, last)
        end = compiled(_ROW_END).search(text, begin.end()) if begin else None
        if begin is None:
            break
        row_end = end.start() if end else len(text)
        row = text[begin.end() : row_end]
        if compiled(_RULE).fullmatch(row) is None:
            if row.count(sign) != line.count(sign):
                break
            yield from _row(row, begin.end(), sign, columns)
        last = row_end
    return last


def _columns(line: str, sign: str, kind_of: _KindOf) -> dict[int, str]:
    """Return the columns of a header that are named after secrets, with their kinds."""
    if compiled(_HEADER).fullmatch(line) is None or (
        sign == "," and line[0] + line[-1] != (line[0] + line[-1]).strip(" \t,")
    ):
        return {}
    names = [name.strip(_EDGES) for name in line.split(sign)]
    kinds = {place: kind_of(name.replace(" ", "_")) for place, name in enumerate(names)}
    return {place: kind for place, kind in kinds.items() if kind is not None}


def _row(line: str, start: int, sign: str, columns: dict[int, str]) -> Iterator[Span]:
    for place, cell in enumerate(line.split(sign)):
        if place in columns:
            value = cell.strip(_EDGES)
            first = start + cell.index(value)
            if _is_secret(columns[place], value):
                yield columns[place], first, first + len(value)
        start += len(cell) + len(sign)


def _is_secret(kind: str, value: str) -> bool:
    if len(value) < 4 or len(value) > 4096 or compiled(r"\s").search(value):
        return False
    return is_weak(value) if kind == PASSWORD else is_random(value, 12, hexadecimal=True)


def _in_inserts(text: str, kind_of: _KindOf) -> Iterator[Span]:
    for match in compiled(_INSERT).finditer(text):
        names = [name.strip(_EDGES) for name in match[1].split(",")]
        kinds = {place: kind_of(name) for place, name in enumerate(names)}
        columns = {place: kind for place, kind in kinds.items() if kind is not None}
        row = compiled(_TUPLE).match(text, match.end()) if columns else None
        while row is not None:
            for place, cell in enumerate(compiled(_FIELD).finditer(row[1])):
                value = cell[1].strip("N'")
                if place in columns and cell[1].endswith("'") and _is_secret(columns[place], value):
                    first = row.start(1) + cell.start(1) + cell[1].index(value)
                    yield columns[place], first, first + len(value)
            row = compiled(_TUPLE).match(text, row.end())
