"""``org publish`` and ``org check``: asked at the terminal, shown, compared, exit codes."""

import asyncio
from pathlib import Path

import pytest

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.org.models import OrgFactWriteRequest
from synthorg_tui.settings.loader import load_settings
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.postgres_switch import files_only
from tests.pty_kit import Ran, at_terminal, without_marks

PROGRAM = ("-c", "import sys; from synthorg_tui.cli import main; sys.exit(main())")
RULE = "Never push to main."
MINE = b"# Mine\r\n\r\nLast line"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path)
    return runner(tmp_path / "data", capsys)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "AGENTS.md").write_bytes(MINE)
    return folder


def write_rules(data: Path, *rules: str) -> None:
    async def add() -> None:
        async with Engine.open(load_settings(), data_dir=data) as engine:
            for rule in rules:
                request = OrgFactWriteRequest(content=rule, category=OrgFactCategory.CORE_POLICY)
                await engine.organisation.add(request, actor="person")

    asyncio.run(add())


def terminal(tmp_path: Path, *args: str, answer: str = "yes") -> Ran:
    arguments = [*PROGRAM, "--data-dir", str(tmp_path / "data"), "org", "publish", *args]
    env = without_marks(HOME=str(tmp_path))
    return at_terminal(arguments, answers={"Type yes:": f"{answer}\n"}, env=env)


@files_only
def test_a_person_publishes_checks_and_removes(cli: Cli, shop: Path, tmp_path: Path) -> None:
    place = ("--project", str(shop))
    write_rules(tmp_path / "data", RULE)
    assert terminal(tmp_path, *place, answer="no").code == 130
    assert (shop / "AGENTS.md").read_bytes() == MINE
    published = terminal(tmp_path, *place)
    assert published.code == 0
    assert f"+- {RULE}" in published.screen
    assert "has 1 entry now" in published.screen
    assert (shop / "AGENTS.md").read_bytes().startswith(MINE + b"\r\n<!-- synthorg-tui:policies")

    checked = cli("org", "publish", "--check")
    assert (checked.code, "as it should be" in checked.out) == (0, True)
    write_rules(tmp_path / "data", "Run the tests.")
    stale = cli("org", "publish", "--check", "--json")
    assert (stale.code, stale.json["outdated"]) == (1, 1)
    assert stale.json["files"][0]["state"] == "stale"

    assert terminal(tmp_path, *place, "--remove").code == 0
    assert (shop / "AGENTS.md").read_bytes() == MINE


def test_what_would_change_is_shown_without_changing_it(
    cli: Cli, shop: Path, tmp_path: Path
) -> None:
    place = ("--project", str(shop))
    assert cli("org", "publish", *place, "--dry-run").code == 1
    write_rules(tmp_path / "data", RULE)
    shown = cli("org", "publish", *place, "--dry-run", "--json").json
    sample = documented("org publish")
    assert (shown.keys(), shown["files"][0].keys()) == (sample.keys(), sample["files"][0].keys())
    assert f"+- {RULE}" in shown["files"][0]["diff"]
    told = cli("org", "publish", *place, "--dry-run", "--file", "CLAUDE.md")
    assert "CLAUDE.md would be written." in told.out
    assert (shop / "AGENTS.md").read_bytes() == MINE
    assert [path.name for path in shop.iterdir()] == ["AGENTS.md"]


def test_nobody_but_a_person_at_a_terminal_writes(
    cli: Cli, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rules(tmp_path / "data", RULE)
    monkeypatch.setenv("CLAUDECODE", "1")
    for act in ((), ("--remove",), ("--undo",), ("--force", "--json")):
        refused = cli("org", "publish", "--project", str(shop), *act)
        assert (refused.code, "only a person decides" in refused.err) == (1, True)
    assert (shop / "AGENTS.md").read_bytes() == MINE
    assert cli("org", "publish", "--project", str(shop), "--all", "--dry-run").code == 2


def test_a_check_lists_what_it_found_and_the_lines(cli: Cli, tmp_path: Path) -> None:
    empty = cli("org", "check")
    assert (empty.code, empty.out) == (0, "Nothing to complain of.\n")
    told = ClaudeTranscript("11111111-2222-4333-8444-555555555555").user("Ship it")
    told = told.bash("git push origin main", "done").bash('echo "git push origin main"', "x")
    cli("import", str(told.write(tmp_path / "t" / "a.jsonl")))
    write_rules(tmp_path / "data", RULE, "Always push to main.")
    found = cli("org", "check")
    assert found.code == 1
    assert "1 session did what it forbids, 1 time" in found.out
    assert "git push origin main  (it worked)" in found.out
    found = cli("org", "check", "--json")
    sample = documented("org check")
    broken = [one for one in found.json["findings"] if one["kind"] == "broken"]
    assert (found.code, found.json.keys()) == (1, sample.keys())
    assert broken[0].keys() == sample["findings"][0].keys()
    assert [one.keys() for one in broken[0]["evidence"]] == [
        sample["findings"][0]["evidence"][0].keys()
    ]
    kinds = {one["kind"] for one in found.json["findings"]}
    assert kinds == {"broken", "contradiction"}
