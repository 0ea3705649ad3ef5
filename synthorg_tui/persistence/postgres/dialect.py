"""DuckDB's SQL as PostgreSQL understands it, each text translated once.

sqlglot knows most of it; what it doesn't is in this module's rules and, where PostgreSQL only lacks
a function, among those of ``server.sql``, which a store's database has. The rest of the program
knows one dialect.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.generators.postgres import PostgresGenerator

from synthorg_tui.persistence.migrations import schema_text

_MAX_KNOWN: Final = 2048
_PIECES: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\?", re.DOTALL)
OVERRIDES: Final[dict[str, str]] = {}
"""Whole statements that no rule gets right, in DuckDB's words and PostgreSQL's."""


@dataclass(frozen=True, slots=True)
class Translated:
    """What the server is sent; a script is several statements, which take no parameters."""

    sql: str
    is_script: bool


@lru_cache(_MAX_KNOWN)
def translated(sql: str) -> Translated:
    """Return one or several statements of DuckDB's dialect in PostgreSQL's."""
    known = OVERRIDES.get(sql)
    if known is not None:
        return Translated(known, is_script=False)
    trees = [tree for tree in sqlglot.parse(_numbered(sql), read="duckdb") if tree is not None]
    told = [_told(_adapted(tree)) for tree in trees]
    return Translated(";\n".join(told), is_script=len(told) > 1)


def _told(tree: exp.Expr) -> str:
    return _Numbering(dialect="postgres", comments=False).generate(tree)


def _numbered(sql: str) -> str:
    """Number the placeholders, so that they stay with their values where a rule moves them."""
    number = 0

    def named(match: "re.Match[str]") -> str:
        nonlocal number
        if match[0] != "?":
            return "" if match[0].startswith(("--", "/*")) else match[0]
        number += 1
        return f"${number}"

    return _PIECES.sub(named, sql)


def _adapted(tree: exp.Expr) -> exp.Expr:
    """Apply the rules for what has another meaning, or another shape, in PostgreSQL."""
    if isinstance(tree, exp.Insert):
        _conflicts(tree)
    return tree.transform(_node)


def _node(node: exp.Expr) -> exp.Expr:
    rule = _RULES.get(type(node))
    return rule(node) if rule is not None else node


def _column_def(node: exp.Expr) -> exp.Expr:
    """Sort and compare texts by their bytes, as DuckDB does, whatever the server's language."""
    kind = node.args.get("kind")
    if kind is not None and _is_text(kind):
        collation = exp.CollateColumnConstraint(this=exp.to_identifier("C", quoted=True))
        node.append("constraints", exp.ColumnConstraint(kind=collation))
    return node


def _is_text(kind: exp.Expr) -> bool:
    if kind.args.get("this") in exp.DataType.TEXT_TYPES:
        return True
    return any(_is_text(part) for part in kind.expressions if isinstance(part, exp.DataType))


def _column(node: exp.Expr) -> exp.Expr:
    """``rowid`` is where the row lies; it stays so until the row is changed."""
    if node.name.lower() == "rowid" and not node.this.quoted:
        node.this.set("this", "ctid")
    return node


def _is(node: exp.Expr) -> exp.Expr:
    """``? IS NULL`` says nothing of its type."""
    if isinstance(node.this, exp.Placeholder):
        node.set("this", exp.cast(node.this, "TEXT"))
    return node


_RULES: Final[dict[type[exp.Expr], Any]] = {
    exp.ColumnDef: _column_def,
    exp.Column: _column,
    exp.Is: _is,
}


def _conflicts(tree: exp.Insert) -> None:
    """``INSERT OR REPLACE`` and ``OR IGNORE`` by the key of the table."""
    what = str(tree.args.get("alternative") or "").upper()
    if what not in ("REPLACE", "IGNORE"):
        return
    tree.set("alternative", None)
    table = tree.find(exp.Table)
    assert table is not None  # an INSERT without a table doesn't parse
    columns, keys = _tables()[table.name]
    rest = [name for name in columns if name not in keys]
    action = "DO NOTHING"
    if what == "REPLACE" and rest:
        action = "DO UPDATE SET " + ", ".join(f'"{name}" = excluded."{name}"' for name in rest)
    key = ", ".join(f'"{name}"' for name in keys)
    sample = f"INSERT INTO t VALUES (1) ON CONFLICT ({key}) {action}"
    tree.set("conflict", sqlglot.parse_one(sample, read="postgres").args["conflict"])


@lru_cache(1)
def _tables() -> dict[str, tuple[list[str], list[str]]]:
    """The columns and the key's columns of each table of the schema."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for tree in sqlglot.parse(schema_text(), read="duckdb"):
        if isinstance(tree, exp.Create) and tree.kind == "TABLE":
            columns = [each.name for each in tree.this.find_all(exp.ColumnDef)]
            keys = [
                each.name
                for each in tree.this.find_all(exp.ColumnDef)
                if each.find(exp.PrimaryKeyColumnConstraint)
            ]
            for key in tree.this.find_all(exp.PrimaryKey):
                keys += [each.name for each in key.expressions]
            found[tree.this.this.name] = (columns, keys)
    return found


class _Numbering(PostgresGenerator):
    """PostgreSQL with the server's own placeholders."""

    TRANSFORMS = {  # noqa: RUF012 - as sqlglot has it
        **PostgresGenerator.TRANSFORMS,
        exp.Placeholder: lambda self, node: f"${node.name}",
    }
