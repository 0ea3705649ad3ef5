"""``status``: one line for status bars, from the database or its owner, never in the way."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli import main
from synthorg_tui.connect import status_line
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.persistence import DATABASE_FILE, STATUS_FILE, kept_counts
from synthorg_tui.settings.root import RootConfig
from tests.cli.cli_kit import documented
from tests.curation.review_kit import PERSON, item_of, lesson
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only
from tests.tables import rows

pytestmark = files_only


async def put(data_dir: Path, *words: str) -> None:
    """Propose a lesson about each of these words."""
    async with Engine.open(RootConfig(), data_dir=data_dir) as engine:
        for each in words:
            await engine.approvals.add(item_of(lesson(each, discovery=each)))


def printed(data_dir: Path, *options: str, stdin: bytes = b"") -> str:
    output = io.StringIO()
    named = dict(zip(options[::2], options[1::2], strict=True))
    code = status_line.main(
        {"--data-dir": str(data_dir), **named}, stdin=io.BytesIO(stdin), stdout=output
    )
    assert code == 0
    return output.getvalue()


async def test_what_waits_is_one_line_and_nothing_is_none(tmp_path: Path) -> None:
    assert printed(tmp_path / "nowhere") == ""
    await put(tmp_path)
    assert printed(tmp_path) == ""
    await put(tmp_path, "Compile headers", "Rotate keys")
    assert printed(tmp_path) == "2 to review\n"
    assert not (tmp_path / "nowhere").exists()


async def test_the_owner_is_asked_when_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_line, "TIME_LIMIT", PATIENCE)
    async with Engine.open(RootConfig(), data_dir=tmp_path) as engine:
        owner = Owner(engine, data_dir=tmp_path, kind="app")
        await owner.start()
        try:
            await engine.approvals.add(item_of(lesson()))
            assert await asyncio.to_thread(printed, tmp_path) == "1 to review\n"
            (item,) = await engine.approvals.list()
            shown = (await engine.reviews.review(item.id)).shown
            await engine.reviews.approve(item.id, shown=shown, person=PERSON)
            assert await asyncio.to_thread(printed, tmp_path) == ""
        finally:
            await owner.stop()


async def test_while_the_database_is_the_same_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(tmp_path, "Compile headers")
    assert printed(tmp_path) == "1 to review\n"
    kept = tmp_path / STATUS_FILE
    assert kept.stat().st_mode & 0o077 == 0
    kept.write_text(kept.read_text().replace('"news": 0', '"news": 5'))
    assert printed(tmp_path) == "1 to review · 5 new\n"
    monkeypatch.setattr(kept_counts, "MAX_AGE", 0.0)
    assert status_line.counts_in(str(tmp_path)) == (1, 0)
    kept.write_text("[]")
    assert printed(tmp_path) == "1 to review\n"


async def test_who_closes_the_store_leaves_what_waits_for_a_bar_that_asked(tmp_path: Path) -> None:
    await put(tmp_path)
    assert not (tmp_path / STATUS_FILE).exists()
    assert printed(tmp_path) == ""
    await put(tmp_path, "Compile headers")
    known, _ = kept_counts.kept(str(tmp_path), [])
    assert known == (1, 0)


async def test_without_an_owner_the_last_known_is_shown_and_read_anew_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, spawn = list[Callable[[], int]](), os.posix_spawn

    def held(*given: Any, **more: Any) -> None:
        begun.append(partial(spawn, *given, **more))

    monkeypatch.setattr(os, "posix_spawn", held)
    await put(tmp_path, "Compile headers")
    data_dir = str(tmp_path)
    kept_counts.keep(data_dir, [], (5, 0))
    assert printed(tmp_path) == "5 to review\n"
    being_read = tmp_path / f"{STATUS_FILE}.reading"
    assert being_read.exists()
    assert printed(tmp_path) == "5 to review\n"
    (read,) = begun
    read()
    await until(lambda: not being_read.exists())
    assert kept_counts.kept(data_dir, kept_counts.mark_of(data_dir)) == ((1, 0), True)
    assert printed(tmp_path) == "1 to review\n"


async def test_what_waits_on_a_server_is_read_there_by_the_settings(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_line, "SERVER_PAUSE", PATIENCE)
    here, config = tmp_path / "here", tmp_path / "settings.yaml"
    await put(here, "Of the file")
    settings = RootConfig.model_validate(
        {"persistence": {"backend": "postgres", "url": postgres_url}}
    )
    config.write_text(f"persistence: {{backend: postgres, url: '{postgres_url}'}}\n")
    async with Engine.open(settings, data_dir=here) as engine:
        for each in ("Compile headers", "Rotate keys"):
            await engine.approvals.add(item_of(lesson(each, discovery=each)))
    named = ("--config", str(config))
    assert printed(here, *named) == "2 to review\n"
    async with Engine.open(settings, data_dir=tmp_path / "other") as engine:
        await engine.approvals.add(item_of(lesson()))
    kept = here / STATUS_FILE
    kept.write_text(kept.read_text().replace('"at": ', '"at": -'))
    assert printed(here, *named) == "2 to review\n", "what was read a moment ago is good enough"
    os.utime(kept, (0, 0))
    assert printed(here, *named) == "2 to review\n", "it is read beside"
    await until(lambda: kept_counts.kept(str(here), [])[0] == (3, 0))
    await put(here)
    assert printed(here) == "1 to review\n", "the store is a file again"


async def test_a_reading_that_was_given_up_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(tmp_path, "Compile headers")
    kept_counts.keep(str(tmp_path), [], (5, 0))
    being_read = tmp_path / f"{STATUS_FILE}.reading"
    being_read.touch()
    os.utime(being_read, (0, 0))
    assert printed(tmp_path) == "5 to review\n"
    await until(lambda: not being_read.exists())
    assert printed(tmp_path) == "1 to review\n"


@rows(
    ("style", "line"),
    [
        ("text", "3 to review · 2 new"),
        ("tmux", "#[fg=yellow]3 to review#[default] · 2 new"),
        ("claude", "\x1b[33m3 to review\x1b[0m · 2 new"),
    ],
)
def test_each_status_bar_has_its_colours(style: str, line: str) -> None:
    assert status_line.line_of(3, 2, style=style) == line
    assert status_line.line_of(0, 2, style=style) == "2 new"
    assert status_line.line_of(0, 0, style=style) == ""


def test_what_claude_code_sends_is_read_and_a_damaged_store_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).write_bytes(b"no database" * 100)
    reading, writing = os.pipe()
    os.write(writing, b'{"model": {"display_name": "x"}}')
    os.close(writing)
    with os.fdopen(reading, "rb") as stdin:
        output = io.StringIO()
        options = {"--data-dir": str(tmp_path), "--format": "claude"}
        assert status_line.main(options, stdin=stdin, stdout=output) == 0
        assert stdin.read() == b""
    assert output.getvalue() == ""


def test_its_help_has_the_lines_to_copy_and_its_json_is_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["status", "--help"])
    shown = capsys.readouterr().out
    assert "set -ag status-right" in shown
    assert '"statusLine"' in shown
    assert main(["--data-dir", str(tmp_path), "status", "--json"]) == 0
    assert capsys.readouterr().out.split() == ["{", '"waiting":', "0,", '"news":', "0", "}"]
    assert documented("status").keys() == {"waiting", "news"}


async def test_a_status_bar_loads_nothing_heavy(tmp_path: Path) -> None:
    await put(tmp_path, "Compile headers")
    assert printed(tmp_path) == "1 to review\n"
    code = (
        "import sys; before = set(sys.modules); from synthorg_tui.cli import main;"
        "main(['status', '--data-dir', sys.argv[1]]);"
        "heavy = 'argparse pydantic asyncio duckdb dataclasses subprocess pathlib typing';"
        "print([name for name in heavy.split() if name in sys.modules.keys() - before])"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["1 to review", "[]"]
