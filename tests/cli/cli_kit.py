"""The command line, called in this process and away from the user's own settings."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli import main
from tests import REPO

SAMPLE = REPO / "synthorg_tui" / "ingest" / "sample"
DOCS = REPO / "docs" / "cli.md"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Result]


def move_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Make ``home`` the home directory, so that the user's own settings aren't read."""
    for name in [name for name in os.environ if name.startswith("SYNTHORG_")]:
        patch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        patch.setenv(name, str(home))


def runner(store: Path, capture: pytest.CaptureFixture[str]) -> Cli:
    """Return a function that runs a command on a data directory."""

    def run(*args: str, data_dir: Path = store) -> Result:
        code = main(["--data-dir", str(data_dir), *args])
        captured = capture.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def documented(section: str) -> Any:
    """Return the example of JSON in a section of the documentation, parsed."""
    text = DOCS.read_text(encoding="utf-8").split(f"\n### {section}\n")[1].split("\n### ")[0]
    found = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert found, f"no JSON in the section {section}"
    return json.loads(found[1])
