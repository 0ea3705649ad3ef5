"""The token: made once, kept private, compared whole."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.errors import DomainError
from synthorg_tui.mcp.token import TOKEN_FILE, is_bearer, require_token
from tests.tables import rows

TOKEN = "t" * 43


def test_a_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    first = require_token(tmp_path / "data")
    assert len(first) == 43
    assert require_token(tmp_path / "data") == first
    assert require_token(tmp_path / "other") != first
    assert (tmp_path / "data" / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in (tmp_path / "data").iterdir()] == [TOKEN_FILE]


def test_who_starts_at_the_same_time_gets_the_same_token(tmp_path: Path) -> None:
    found: list[str] = []
    together = threading.Barrier(16)

    def start() -> None:
        together.wait()
        found.append(require_token(tmp_path))

    threads = [threading.Thread(target=start) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == together.parties
    assert len(set(found)) == 1
    assert [each.name for each in tmp_path.iterdir()] == [TOKEN_FILE]


@rows("mode", [0o640, 0o604, 0o660])
def test_a_token_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    require_token(tmp_path)
    (tmp_path / TOKEN_FILE).chmod(mode)
    with pytest.raises(DomainError, match="others"):
        require_token(tmp_path)


def test_a_link_is_no_token(tmp_path: Path) -> None:
    require_token(tmp_path / "data")
    (tmp_path / "data" / TOKEN_FILE).rename(tmp_path / "elsewhere")
    (tmp_path / "data" / TOKEN_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DomainError, match="as a file"):
        require_token(tmp_path / "data")


def test_a_dangling_link_is_no_place_for_a_token(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DomainError):
        require_token(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_is_no_token(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / TOKEN_FILE, 0o600)
    with pytest.raises(DomainError):
        require_token(tmp_path)


@rows("content", [b"", b"short", b"\xff" * 50, b"t" * 20 + b"\0" + b"t" * 20])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / TOKEN_FILE).write_bytes(content)
    (tmp_path / TOKEN_FILE).chmod(0o600)
    with pytest.raises(DomainError, match="no token"):
        require_token(tmp_path)


@rows("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"Bearer  {TOKEN} "])
def test_the_token_is_let_in(header: str) -> None:
    assert is_bearer(header.encode(), TOKEN)


@rows("header", ["", "Bearer", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN[1:]}", f"Bearer {TOKEN}t"])
def test_anything_else_is_not(header: str) -> None:
    assert not is_bearer(header.encode(), TOKEN)


@given(st.binary(max_size=100))
def test_no_bytes_are_a_token_by_chance(header: bytes) -> None:
    assert not is_bearer(header, TOKEN)
