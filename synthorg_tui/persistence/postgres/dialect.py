"""DuckDB's SQL as PostgreSQL understands it, each text translated once.

sqlglot knows most of it; what it leaves as it is, the rules here translate: each takes a node of a
parsed statement and returns what stands for it. Where PostgreSQL only lacks a function, it is among
those of ``server.sql``, which a store's database has. The rest of the program knows one dialect.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.generators.postgres import PostgresGenerator

from synthorg_tui.persistence.stored_tables import StoredTable, stored_tables

_LISTS: Final = "unnest_lists"
"""The function of ``server.sql`` whose parameter is JSON of lists."""
_BYTES: Final = "C"
_SERVERS: Final = "default"
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
    trees = [_adapted(tree) for tree in trees]
    lists = frozenset(
        int(value.name) - 1
        for tree in trees
        for node in tree.find_all(exp.Anonymous)
        if node.name.lower() == _LISTS
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


def _adapted(tree: exp.Expr) -> exp.Expr:
    """A statement of DuckDB's with the rules applied; it may be the same, changed."""
    if isinstance(tree, exp.Insert):
        _conflicts(tree)
    _name_columns(tree)
    # The innermost first, so that what a rule takes in is what stands for it.
    for node in reversed(list(tree.find_all(*_RULES))):
        told = _RULES[type(node)](node)
        if told is not node:
            node.replace(told)
    _name_queries(tree)
    return tree


def _name_queries(tree: exp.Expr) -> None:
    """A query in FROM has to have a name."""
    for number, node in enumerate(tree.find_all(exp.Subquery)):
        if not node.alias and isinstance(node.parent, exp.From | exp.Join):
            node.set("alias", exp.TableAlias(this=exp.to_identifier(f"q{number}")))


def _column_def(node: exp.Expr) -> exp.Expr:
    """Sort and compare texts by their bytes, as DuckDB does, whatever the server's language."""
    kind = node.args.get("kind")
    if kind is not None and _is_text(kind):
        collation = exp.CollateColumnConstraint(this=exp.to_identifier(_BYTES, quoted=True))
        node.append("constraints", exp.ColumnConstraint(kind=collation))
    return node


def _is_text(kind: exp.Expr) -> bool:
    if kind.args.get("this") in exp.DataType.TEXT_TYPES:
        return True
    return any(_is_text(part) for part in kind.expressions if isinstance(part, exp.DataType))


def _column(node: exp.Expr) -> exp.Expr:
    """``rowid`` is where the row lies; it stays so until the row is changed."""
    if node.name.lower() == "rowid" and not node.this.args.get("quoted"):
        node.this.set("this", "ctid")
    return node


def _is(node: exp.Expr) -> exp.Expr:
    """``? IS NULL`` says nothing of its type."""
    if isinstance(node.this, exp.Placeholder):
        node.set("this", exp.cast(node.this.copy(), "TEXT"))
    return node


def _cased(node: exp.Expr) -> exp.Expr:
    """Letters of all languages have a case, which the order by bytes knows nothing of."""
    inner = exp.Collate(
        this=exp.paren(node.this), expression=exp.to_identifier(_SERVERS, quoted=True)
    )
    again = type(node)(this=inner)
    return exp.paren(
        exp.Collate(this=again, expression=exp.to_identifier(_BYTES, quoted=True)), copy=False
    )


def _group(node: exp.Expr) -> exp.Expr:
    """``GROUP BY ALL`` is by every column that isn't counted or summed."""
    select = node.parent
    if node.args.get("all") and isinstance(select, exp.Select):
        places = [
            exp.Literal.number(place)
            for place, column in enumerate(select.expressions, 1)
            if not column.find(exp.AggFunc)
        ]
        return exp.Group(expressions=places)
    return node


def _hash_of(node: exp.Expr) -> exp.Expr:
    length = node.args.get("length")
    if length is not None and length.name != "256":
        return node
    return exp.func("sha256_hex", node.this.copy())


def _json_text(node: exp.Expr) -> exp.Expr:
    """What isn't JSON has nothing in it; several paths give a list."""
    told = node.this
    is_json = isinstance(told, exp.Anonymous)
    document = told.copy() if is_json else exp.func("try_json", _text(told))
    paths = node.expression
    if isinstance(paths, exp.Array):
        parts = [exp.func("json_at", document.copy(), path.copy()) for path in paths.expressions]
        return exp.Array(expressions=parts)
    path = exp.Literal.string(paths.sql(dialect="duckdb").strip("'"))
    return exp.func("json_at", document, path)


def _text(node: exp.Expr) -> exp.Expr:
    return exp.cast(node.copy(), "TEXT")


def _try(node: exp.Expr) -> exp.Expr:
    """Only reading JSON is ever tried, which gives nothing then."""
    tried: exp.Expr = node.this
    return tried.copy()


def _try_cast(node: exp.Expr) -> exp.Expr:
    """Gives nothing where a text is none of that."""
    kind = node.args["to"]
    tried = {"JSON": "try_json", "BIGINT": "try_bigint"}
    for name, function in tried.items():
        if kind.is_type(name):
            return exp.func(function, _text(node.this))
    return node


def _lists(node: exp.Expr) -> exp.Expr:
    """Rows of lists: PostgreSQL's lists of lists are tables of numbers, so that JSON has them."""
    told = node.this
    if isinstance(told, exp.Cast) and isinstance(told.this, exp.Placeholder):
        parts = told.to.expressions
        if parts and isinstance(parts[0], exp.DataType) and parts[0].is_type("ARRAY"):
            return exp.func(_LISTS, exp.cast(told.this.copy(), "JSON"))
    return node


def _moment(node: exp.Expr) -> exp.Expr:
    """A moment without a zone, of microseconds."""
    scale = node.args.get("scale")
    is_fine = scale is not None and scale.name == "6"
    return exp.func("moment_of", node.this.copy()) if is_fine else node


def _array(node: exp.Expr) -> exp.Expr:
    """A list without parts says nothing of its type; as a text it becomes what its place has."""
    return node if node.expressions else exp.Literal.string("{}")


def _holds(node: exp.Expr) -> exp.Expr:
    """Whether a list has a value; said so that the type of either follows from the other's."""
    return exp.paren(
        exp.EQ(this=node.expression.copy(), expression=exp.Any(this=exp.paren(node.this)))
    )


def _transformed(node: exp.Expr) -> exp.Expr:
    """A list of what a function makes of each part of another."""
    made = node.expression
    name = made.expressions[0]
    each = exp.alias_(exp.func("unnest", node.this.copy()), None, table=[name.name])
    each.args["alias"].set("this", exp.to_identifier("parts"))
    return exp.func("array", exp.select(made.this.copy()).from_(each), dialect="postgres")


def _first(node: exp.Expr) -> exp.Expr:
    return exp.func("list_first", exp.ArrayAgg(this=node.this.copy()))


def _arg_max(node: exp.Expr) -> exp.Expr:
    """The value of the row where another column is greatest; one that is null doesn't count."""
    return _extreme(node, node.this, node.expression, keeps_null=False)


def _anonymous(node: exp.Expr) -> exp.Expr:
    if node.name.lower() == "arg_max_null":
        value, by = node.expressions
        return _extreme(node, value, by, keeps_null=True)
    return node


def _extreme(node: exp.Expr, value: exp.Expr, by: exp.Expr, *, keeps_null: bool) -> exp.Expr:
    ordered = exp.Ordered(this=by.copy(), desc=not isinstance(node, exp.ArgMin), nulls_first=False)
    listed: exp.Expr = exp.ArrayAgg(this=exp.Order(this=value.copy(), expressions=[ordered]))
    there = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
    conditions: list[exp.Expr] = [] if keeps_null else [there]
    outer = node.parent if isinstance(node.parent, exp.Filter) else None
    if outer is not None:
        conditions.append(exp.paren(outer.expression.this))
    if conditions:
        listed = exp.Filter(this=listed, expression=exp.Where(this=exp.and_(*conditions)))
    first = exp.func("list_first", listed)
    if outer is None:
        return first
    outer.replace(first)
    return node


Rule = Callable[[exp.Expr], exp.Expr]
_RULES: Final[dict[type[exp.Expr], Rule]] = {
    exp.ColumnDef: _column_def,
    exp.Column: _column,
    exp.Is: _is,
    exp.Lower: _cased,
    exp.Upper: _cased,
    exp.Group: _group,
    exp.SHA2: _hash_of,
    exp.JSONExtractScalar: _json_text,
    exp.Try: _try,
    exp.Array: _array,
    exp.ArrayContains: _holds,
    exp.Explode: _lists,
    exp.UnixToTime: _moment,
    exp.Transform: _transformed,
    exp.First: _first,
    exp.TryCast: _try_cast,
    exp.ArgMax: _arg_max,
    exp.ArgMin: _arg_max,
    exp.Anonymous: _anonymous,
}


def _conflicts(tree: exp.Insert) -> None:
    """``INSERT OR REPLACE`` and ``OR IGNORE`` by the key of the table."""
    what = str(tree.args.get("alternative") or "").upper()
    if what not in ("REPLACE", "IGNORE"):
        return
    tree.set("alternative", None)
    table = tree.find(exp.Table)
    assert table is not None  # an INSERT without a table doesn't parse
    known = _tables()[table.name]
    rest = [name for name in known.columns if name not in known.key]
    action = "DO NOTHING"
    if what == "REPLACE" and rest:
        action = "DO UPDATE SET " + ", ".join(f'"{name}" = excluded."{name}"' for name in rest)
    key = ", ".join(f'"{name}"' for name in known.key)
    sample = f"INSERT INTO t VALUES (1) ON CONFLICT ({key}) {action}"
    tree.set("conflict", sqlglot.parse_one(sample, read="postgres").args["conflict"])


def _name_columns(tree: exp.Expr) -> None:
    """``UNION BY NAME``: the columns of the first query, in its order; what one lacks is null."""
    known = {cte.alias: cte.this for cte in tree.find_all(exp.CTE)}
    for union in list(tree.find_all(exp.Union)):
        if union.args.get("by_name"):
            first: exp.Query = union
            while isinstance(first, exp.Union):
                first = first.this
            _expand(first, known)
            source = first.find(exp.Table)
            table = _tables().get(source.name) if source is not None else None
            kinds = dict(zip(table.columns, table.types, strict=True)) if table else {}
            _arrange(union.expression, first.named_selects, known, kinds)
            union.set("by_name", None)


def _expand(select: exp.Expr, known: dict[str, exp.Expr]) -> None:
    """Name the columns that ``*`` stands for."""
    if not (isinstance(select, exp.Select) and select.is_star):
        return
    table = select.find(exp.Table)
    assert table is not None  # a star is of something
    found = known.get(table.name)
    names = found.named_selects if isinstance(found, exp.Query) else _tables()[table.name].columns
    select.set("expressions", [exp.column(name, quoted=True) for name in names])


def _arrange(
    select: exp.Expr,
    names: list[str],
    known: dict[str, exp.Expr],
    kinds: dict[str, str],
) -> None:
    _expand(select, known)
    by_name = {column.alias_or_name: column for column in select.expressions}
    columns = [by_name.get(name) or _nothing(name, kinds.get(name)) for name in names]
    select.set("expressions", columns)


def _nothing(name: str, kind: str | None) -> exp.Expr:
    null: exp.Expr = exp.null()
    if kind is not None:
        null = exp.Cast(this=null, to=exp.DataType.build(kind, dialect="duckdb"))
    return exp.alias_(null, name, quoted=True)


@lru_cache(1)
def _tables() -> dict[str, StoredTable]:
    return {table.name: table for table in stored_tables()}
