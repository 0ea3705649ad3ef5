"""``consolidate`` as a person uses it: planned and shown by anyone, decided at a terminal only."""

import asyncio
import json
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.settings.loader import shipped_settings
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.postgres_switch import files_only
from tests.pty_kit import Ran, at_terminal

PROGRAM = ("-c", "import sys; from synthorg_tui.cli import main; sys.exit(main())")
TEXT = "The deploy key is kept in the vault of the team."


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path)
    return runner(tmp_path / "data", capsys)


def flood(data_dir: Path, count: int = 3) -> None:
    asyncio.run(_flood(data_dir, count))


async def _flood(data_dir: Path, count: int) -> None:
    request = MemoryStoreRequest(
        category=MemoryCategory.SEMANTIC,
        content=TEXT,
        metadata=MemoryMetadata(tags=("non-inferable",)),
    )
    async with Engine.open(shipped_settings(), data_dir=data_dir) as engine:
        for _ in range(count):
            await engine.memory.store("ada", request)


def typed(data_dir: Path, *arguments: str, answer: str = "y\n") -> Ran:
    program = (*PROGRAM, "--data-dir", str(data_dir), "consolidate", *arguments)
    return at_terminal(program, answers={"[y/N]": answer})


def test_without_memories_and_plans_it_says_so(cli: Cli) -> None:
    assert "nothing to consolidate" in cli("consolidate", "plan").out
    assert "No plans" in cli("consolidate", "list").out
    assert cli("consolidate", "list", "--json").json == []
    assert "no plan 7" in cli("consolidate", "show", "7").err
    assert cli("consolidate", "drop").code == 2


@files_only
def test_a_plan_is_made_applied_and_taken_back_at_a_terminal(cli: Cli, tmp_path: Path) -> None:
    data = tmp_path / "data"
    flood(data)
    plan = json.loads((cli("consolidate", "plan", "--json")).out)
    assert plan["memories"] == {"before": 3, "after": 1}
    assert plan.keys() == documented("consolidate plan").keys()
    assert plan["groups"][0].keys() == documented("consolidate plan")["groups"][0].keys()
    shown = (cli("consolidate", "show", "1")).out
    assert "the same text 3 times" in shown
    assert TEXT in shown

    declined = typed(data, "apply", answer="n\n")
    assert declined.code == 130
    applied = typed(data, "apply", "--json")
    assert applied.code == 0
    report = json.loads(applied.screen[applied.screen.index("{") :])
    assert report.keys() == documented("consolidate apply").keys()
    assert (report["memories"], report["live"]) == (2, {"before": 3, "after": 1})
    assert "1 applied" in (cli("consolidate", "list")).out

    undone = typed(data, "undo")
    assert undone.code == 0
    assert "2 memories live again: 1 memory before, 3 after" in undone.screen
    assert "1 undone" in (cli("consolidate", "list")).out


def test_an_agent_and_whoever_has_no_terminal_decide_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood(tmp_path / "data")
    assert (cli("consolidate", "plan")).code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    for act in ("apply", "drop", "undo"):
        ran = cli("consolidate", act, "1")
        assert (ran.code, "only a person decides" in ran.err) == (1, True), act
    plan = (cli("consolidate", "show", "1", "--json")).json
    assert plan["groups"][0]["state"] == "proposed"


def test_a_plan_is_dropped_in_parts(cli: Cli, tmp_path: Path) -> None:
    flood(tmp_path / "data")
    cli("consolidate", "plan")
    with pytest.raises(SystemExit):
        cli("consolidate", "drop", "1", "--groups", "x")
    assert (cli("consolidate", "drop", "1", "--groups", "4")).code == 1
    dropped = cli("consolidate", "drop", "1", "--groups", "1", "--json")
    assert dropped.json == {"plan": 1, "dropped": [1]}
