"""DuckDB's SQL as PostgreSQL is sent it, and that both then answer the same."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import duckdb
import pytest

from synthorg_tui.persistence.migrations import schema_text
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.postgres.connection import PostgresConnection
from synthorg_tui.persistence.postgres.dialect import translated
from synthorg_tui.persistence.postgres.link import Link
from tests.postgres_server import PostgresServer
from tests.tables import rows

NOON = datetime(2026, 3, 4, 12)
ONE = UUID(int=1)
ANSWERED_ALIKE: list[tuple[str, list[Any]]] = [
    ("SELECT ?, ? || 'b', 7 / 2, 7 // 2, 2.5", ["a", "a"]),
    ("SELECT lower('ÄÖÜ'), upper('é'), contains(lower('Ünit'), lower(?))", ["Ü"]),
    ("SELECT x FROM (SELECT unnest(?::VARCHAR[]) AS x) ORDER BY x", [["b", "B", "a", "ä", "_"]]),
    ("SELECT x FROM (SELECT unnest(?::BIGINT[]) AS x) ORDER BY x DESC", [[1, None, 3]]),
    ("SELECT unnest(?::VARCHAR[][]), unnest(?::BIGINT[])", [[["a", "b"], [], None], [1, 2, 3]]),
    ("SELECT list_contains(?::VARCHAR[], ?), len(?::VARCHAR[])", [["a"], "a", []]),
    ("SELECT ? IS NULL, coalesce(?, 'x')", [None, None]),
    ("SELECT sum(x)::BIGINT, avg(x), count(*) FILTER (x > 1), max(x) FROM "
     "(SELECT unnest(?::BIGINT[]) AS x)", [[1, 2, 4]]),
    ("SELECT arg_max(a, b) FILTER (b < 9), arg_min(a, b), arg_max_null(n, b) FROM (SELECT "
     "unnest(?::VARCHAR[]) AS a, unnest(?::BIGINT[]) AS b, unnest(?::VARCHAR[]) AS n)",
     [["x", "y", "z"], [1, 9, 3], ["p", None, "q"]]),
    ("SELECT a, count(*) FROM (SELECT unnest(?::VARCHAR[]) AS a) GROUP BY ALL ORDER BY a",
     [["x", "y", "x"]]),
    ("SELECT job, n FROM (SELECT unnest(?::VARCHAR[]) AS job, unnest(?::BIGINT[]) AS n) "
     "QUALIFY row_number() OVER (PARTITION BY job ORDER BY n DESC) <= 1 ORDER BY job",
     [["a", "a", "b"], [1, 2, 3]]),
    ("SELECT json_extract_string(try_cast(? AS JSON), '$.a'), "
     "TRY(json_extract_string(?, ['$.a', '$.b']))", ['{"a": "x"}', '{"a": "1", "b": "y"}']),
    ("SELECT json_extract_string(try_cast(? AS JSON), '$.a')", ["no json"]),
    ("SELECT sha256(?), regexp_extract('/a/b/', '([^/]+)/*$', 1), regexp_extract('k@p', '^[^@]*')",
     ["text"]),
    ("SELECT regexp_matches('a-b', '(^|-)b'), regexp_matches('AB', 'b', 'i')", []),
    ("SELECT make_timestamp(epoch_us(?::TIMESTAMP)), CAST(? + to_seconds(3600) AS DATE)",
     [NOON, NOON]),
    ("SELECT ends_with('abc', 'bc'), suffix('abc', 'b'), starts_with('abc', 'ab')", []),
    ("SELECT '?' || '$x', \"c\" FROM (SELECT 1 AS c) -- is this ? one", []),
    ("SELECT list_position(['a', 'b'], 'b'), ['a', 'b'][1], list_has_any(['a'], ['b', 'a'])", []),
    ("SELECT list_transform(?::VARCHAR[], lambda e: split_part(e, '#', 1)), "
     "list_filter(?::VARCHAR[], lambda e: e <> 'x')", [["a#1", "b#2"], ["x", "y"]]),
    ("SELECT first(a ORDER BY b DESC), list(a ORDER BY b), list_sort(list(DISTINCT a)) FROM "
     "(SELECT unnest(?::VARCHAR[]) AS a, unnest(?::BIGINT[]) AS b)", [["x", "y", "x"], [1, 3, 2]]),
    ("SELECT TRY_CAST(? AS BIGINT), TRY_CAST(? AS BIGINT)", ["12", "no"]),
    ("SELECT list_has_all(['a', 'b'], ['b']), ltrim(' a'), regexp_replace('aa', 'a', '')", []),
    ("SELECT ?,?,?||?", ["a", "b", "c", "d"]),
    ("SELECT unnest(?::VARCHAR[]), ''", [("a", "b")]),
    ("SELECT json_extract_string(?, ['$.a', '$.b', '$.c', '$.d', '$.e'])",
     ['{"a": {"z": "ä \\"", "b": [1, null, {}]}, "b": [ ], "c": null, "d": 1.5, "e": true}']),
    ("SELECT count(*) FROM executions WHERE id IN (SELECT unnest(?::VARCHAR[])) AND agent_id = ''",
     [["a"]]),
    ("SELECT len(coalesce(roots, [])) FROM (SELECT ['a'] AS roots)", []),
]  # fmt: skip


@pytest.fixture(scope="module")
def both(postgres_server: PostgresServer) -> Iterator[tuple[Connection, Connection]]:
    url = postgres_server.new_store()
    local = duckdb.connect()
    local.execute(schema_text())
    with Link(url, 1).connect() as raw:
        yield local, PostgresConnection(raw)
    postgres_server.drop(url)
    local.close()


@rows(("sql", "values"), ANSWERED_ALIKE)
def test_both_answer_alike(
    both: tuple[Connection, Connection], sql: str, values: list[Any]
) -> None:
    local, server = (each.execute(sql, values).fetchall() for each in both)
    assert server == local


def test_a_row_is_replaced_or_left_by_its_key(both: tuple[Connection, Connection]) -> None:
    for db in both:
        db.execute("INSERT INTO silenced VALUES ('k', 's', ?, 'one')", [NOON])
        db.execute("INSERT OR IGNORE INTO silenced VALUES ('k', 's', ?, 'two')", [NOON])
        assert db.execute("SELECT actor FROM silenced").fetchall() == [("one",)]
        db.execute("INSERT OR REPLACE INTO silenced VALUES ('k', 's', ?, 'three')", [NOON])
        assert db.execute("SELECT actor FROM silenced").fetchall() == [("three",)]


def test_what_a_change_changed_is_counted(both: tuple[Connection, Connection]) -> None:
    for db in both:
        db.executemany("INSERT INTO meta VALUES (?, ?)", [("x1", "1"), ("x2", "2")])
        assert db.execute("DELETE FROM meta WHERE starts_with(name, 'x')").fetchone() == (2,)


def test_a_taken_key_and_a_missing_table_are_the_same_errors(
    both: tuple[Connection, Connection],
) -> None:
    for db in both:
        db.execute("INSERT INTO found_skills VALUES ('m')")
        with pytest.raises(duckdb.ConstraintException):
            db.execute("INSERT INTO found_skills VALUES ('m')")
        with pytest.raises(duckdb.CatalogException):
            db.execute("SELECT * FROM nowhere")
        with pytest.raises(duckdb.Error):
            db.execute("SELECT ) FROM")


def test_values_come_back_as_they_were_stored(both: tuple[Connection, Connection]) -> None:
    values = [ONE, 1, "f", b"\x00\xff\x01"]
    for db in both:
        db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?)", values)
        found = db.execute("SELECT * FROM vectors WHERE memory_id = ?", [str(ONE)])
        assert [column[0] for column in found.description][:2] == ["memory_id", "revision"]
        assert found.fetchone() == tuple(values)


def test_a_nul_is_kept_as_the_sign_that_shows_one(both: tuple[Connection, Connection]) -> None:
    server = both[1]
    assert server.execute("SELECT ?", ["a\x00b"]).fetchone() == ("a\u2400b",)
    lists = [[["a\x00b", "\\u0000"]]]
    found = server.execute("SELECT unnest(?::VARCHAR[][])", lists).fetchone()
    assert found == (["a\u2400b", "\\u0000"],)


def test_a_statement_is_translated_once() -> None:
    sql = "SELECT name FROM meta WHERE value = ?"
    assert translated(sql) is translated(sql)


def test_every_statement_of_the_schema_is_understood() -> None:
    sql = translated(schema_text()).sql
    assert sql.count("CREATE TABLE") == schema_text().count("CREATE TABLE")
    assert "VARCHAR" not in sql
