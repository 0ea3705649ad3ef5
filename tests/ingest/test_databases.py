import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from synthorg_tui.ingest import databases
from synthorg_tui.ingest.databases import listed, opened, session_of, session_path
from synthorg_tui.ingest.discovery import source_of
from synthorg_tui.ingest.reading import read_file
from synthorg_tui.ingest.sources import ReadMeter
from tests.ingest.stores_kit import OpenCodeDatabase, found, refused
from tests.tables import rows

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def table(path: Path, *, wal: bool = False) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        if wal:
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE t (x)")
    return path


def write(path: Path) -> None:
    """Write a row, into the file itself."""
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("INSERT INTO t VALUES (1)")


def test_nothing_can_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="readonly"),
        opened(table(tmp_path / "a.db")) as db,
    ):
        db.execute("INSERT INTO t VALUES (1)")


def test_a_row_too_large_is_a_malformed_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "MAX_LINE_BYTES", 5_000)
    database = OpenCodeDatabase(tmp_path / "opencode.db").begin().user("x" * 6_000).user("go")
    (file,) = found(database.path)
    reading = read_file(file)
    assert reading.malformed == 1
    assert [turn.text for turn in reading.executions[0].execution.turns] == ["go"]


def test_a_query_ends_when_it_is_stopped(tmp_path: Path) -> None:
    stop = threading.Event()

    def query() -> None:
        with opened(table(tmp_path / "a.db"), ReadMeter(stop=stop)) as db:
            db.create_function("stop_me", 0, stop.set)
            db.execute(ENDLESS.replace("*", "stop_me()")).fetchone()

    with pytest.raises(InterruptedError, match="cancelled"):
        query()


def test_a_database_at_rest_that_changes_meanwhile_isnt_trusted(tmp_path: Path) -> None:
    path = table(tmp_path / "a.db", wal=True)
    with pytest.raises(ValueError, match="changed while it was read"), opened(path):
        write(path)


def test_a_writer_isnt_kept_waiting_while_a_session_is_read(tmp_path: Path) -> None:
    database = OpenCodeDatabase(tmp_path / "opencode.db").begin().user("one").user("two")
    (file,) = found(database.path)
    lines = source_of(file.path)(file.path, ReadMeter())
    assert json.loads(next(lines))["id"] == "ses_1"
    with closing(sqlite3.connect(database.path, timeout=0)) as writer, writer:
        writer.execute("UPDATE session SET title = 'written in between'")
    assert len(list(lines)) == 4


@rows("session", ["ses_1", "a/b", "..", "a#b c", "ä\n"])
def test_a_sessions_path_leads_back_to_it(session: str) -> None:
    path = session_path(Path("/srv/x.db"), session)
    assert path.parent == Path("/srv")
    assert session_of(path) == (Path("/srv/x.db"), session)


@rows("updated", [None, 5, -5, "2025-06-01", b"x", 1.5, 1 << 70])
def test_any_value_is_a_time_to_compare(updated: object) -> None:
    session = listed(Path("a"), 2, updated)
    assert session == listed(Path("a"), 2, updated)
    assert 0 <= session.mtime_ns < 1 << 62


@rows("keep", [0.3, 0.6, 0.9])
def test_a_torn_database_is_refused_or_skipped_in_words(keep: float, tmp_path: Path) -> None:
    database = OpenCodeDatabase(tmp_path / "opencode.db").begin()
    for number in range(20):
        database.user(f"{number} {'x' * 3_000}")
    raw = database.path.read_bytes()
    database.path.write_bytes(raw[: int(len(raw) * keep)])
    said = [read_file(file).skipped for file in found(database.path)]
    said += [refusal.reason for refusal in refused(database.path)]
    assert said
    assert all("can't be read: database: " in each for each in said)
