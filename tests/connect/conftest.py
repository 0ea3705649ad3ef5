"""Fixtures of the tests of what connects agents."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of the test, in which no hook has noted anything."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "synthorg-tui"
