"""DuckDB's SQL as PostgreSQL understands it, each text translated once.

sqlglot knows most of it; what it doesn't is in ``rules`` and, where PostgreSQL only lacks
a function, among those of ``server.sql``, which a store's database has. The rest of the program
knows one dialect.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.generators.postgres import PostgresGenerator

from synthorg_tui.persistence.postgres.rules import LISTS, adapted

_MAX_KNOWN: Final = 2048
_PIECES: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?|\$[a-z]\w*", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Translated:
    """What the server is sent; a script is several statements, which take no parameters."""

    sql: str
    is_script: bool = False
    names: tuple[str, ...] = ()
    """The named parameters, in the order of their numbers."""
    lists: frozenset[int] = frozenset()
    """Places of parameters that are lists of lists, which are sent as JSON."""


@lru_cache(_MAX_KNOWN)
def translated(sql: str) -> Translated:
    """Return one or several statements of DuckDB's dialect in PostgreSQL's."""
    numbered, names = _numbered(sql)
    trees = [tree for tree in sqlglot.parse(numbered, read="duckdb") if tree is not None]
    trees = [adapted(tree) for tree in trees]
    lists = frozenset(
        int(value.name) - 1
        for tree in trees
        for node in tree.find_all(exp.Anonymous)
        if node.name.lower() == LISTS
        for value in node.find_all(exp.Placeholder)
    )
    generator = _Numbering(dialect="postgres", comments=False)
    return Translated(";\n".join(map(generator.generate, trees)), len(trees) > 1, names, lists)


def _numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """Number the placeholders, so that they stay with their values where a rule moves them."""
    count = 0
    names: list[str] = []

    def numbered(match: "re.Match[str]") -> str:
        nonlocal count
        piece = match[0]
        if piece.startswith(("--", "/*")):
            return " "
        if piece.startswith("$"):
            if piece[1:] not in names:
                names.append(piece[1:])
            return f"${names.index(piece[1:]) + 1} "
        if piece != "?":
            return piece
        count += 1
        return f"${count} "  # else "$1,$" of "$1,$2" would begin a text

    # sqlglot takes "$1" for the beginning of a text where quotes end the statement.
    return _PIECES.sub(numbered, sql) + " ", tuple(names)


class _Numbering(PostgresGenerator):
    """PostgreSQL with the server's own placeholders."""

    TRANSFORMS = {  # noqa: RUF012 - as sqlglot has it
        **PostgresGenerator.TRANSFORMS,
        exp.Placeholder: lambda self, node: f"${node.name}",
    }
