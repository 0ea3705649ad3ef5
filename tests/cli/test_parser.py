"""The command line's arguments, its help, and the page that documents it."""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synthorg_tui.cli.arguments import past_moment
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.runner import build_parser
from tests import REPO
from tests.tables import rows

DOCS = REPO / "docs" / "cli.md"


def commands(
    parser: argparse.ArgumentParser, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part, inner in action.choices.items():
                yield from commands(inner, f"{name} {part}".strip())
            if parser.get_default("handler") is None:
                return
    yield name, parser


PARSER = build_parser()
EVERY = dict(commands(PARSER))


def sections() -> dict[str, str]:
    parts = re.split(r"^### (.+)$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections()


def test_every_command_is_documented_and_nothing_else() -> None:
    assert set(SECTIONS) == set(EVERY)


@rows("name", EVERY)
def test_every_option_is_documented(name: str) -> None:
    documented = SECTIONS[name]
    for action in EVERY[name]._actions:
        options = set(action.option_strings) - {"-h", "--help"}
        if options and action.dest not in ("data_dir", "config", "json"):
            assert any(f"`{option}" in documented for option in options), options


@rows("name", EVERY)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        PARSER.parse_args([*name.split(), "--help"])
    assert stopped.value.code == 0
    assert "--data-dir" in capsys.readouterr().out


def test_the_list_of_commands_is_that_of_the_commands_themselves() -> None:
    """It is printed without loading them, each adds what it is listed with."""
    assert build_parser(["--help"]).format_help() == build_parser().format_help()
    for name, entry in COMMANDS.items():
        alone = build_parser(["--data-dir", "d", name]).format_help()
        listed = [other for other, its in COMMANDS.items() if its.module == entry.module]
        assert all(re.search(rf"^    {other} ", alone, re.MULTILINE) for other in listed)


@rows(
    ("arguments", "meant"),
    [(["memores"], "memories"), (["memories", "lst"], "list"), (["connect", "codx"], "codex")],
)
def test_a_mistyped_word_is_answered_with_the_one_that_is_meant(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build_parser(arguments).parse_args(arguments)
    assert capsys.readouterr().err.endswith(f"; did you mean '{meant}'?\n")


def test_help_names_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--help"])
    printed = capsys.readouterr().out
    for code in (0, 1, 2, 3, 4, 130):
        assert re.search(rf"^  {code} ", printed, re.MULTILINE)


@rows(
    "arguments",
    [
        ["--data-dir", "d", "--json", "search", "x"],
        ["search", "x", "--data-dir", "d", "--json"],
        ["--json", "search", "--data-dir", "d", "x"],
    ],
)
def test_common_options_stand_before_or_after_the_command(arguments: list[str]) -> None:
    args = build_parser().parse_args(arguments)
    assert (args.data_dir, args.json, args.config) == (Path("d"), True, None)


def test_without_a_command_the_app_is_meant() -> None:
    assert build_parser().parse_args([]).handler is None


@rows(
    "arguments",
    [
        ["fly"],
        ["search"],
        ["search", "x", "--data-dir", " "],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--limit", "1001"],
        ["search", "x", "--category", "poetry"],
        ["search", "x", "--since", "soon"],
        ["memories"],
        ["memories", "add", "text", "--agent", "ada "],
        ["mcp", "--agent", "__synthorg_shared__"],
        ["connect", "codex", "--agent", "\uff41da"],
        ["memories", "edit", "id", "--confidence", "1.01"],
        ["memories", "show", "id", "--context", "101"],
    ],
)
def test_wrong_arguments_exit_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        PARSER.parse_args(arguments)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


@rows(("text", "limit"), [("1", 1), ("1000", 1000)])
def test_limits_include_their_ends(text: str, limit: int) -> None:
    assert build_parser().parse_args(["search", "x", "--limit", text]).limit == limit


def test_an_argument_can_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--\x1b[31m"])
    assert "\x1b" not in capsys.readouterr().err


class TestMoments:
    @rows(
        ("text", "ago"),
        [("12h", timedelta(hours=12)), ("7d", timedelta(days=7)), ("2w", timedelta(weeks=2))],
    )
    def test_how_long_ago(self, text: str, ago: timedelta) -> None:
        before = datetime.now(UTC)
        assert before <= past_moment(text) + ago <= datetime.now(UTC)

    def test_a_date_is_its_midnight_here(self) -> None:
        assert past_moment("2026-01-31") == datetime(2026, 1, 31).astimezone()

    def test_a_zone_is_kept(self) -> None:
        expected = datetime(2026, 1, 31, 12, tzinfo=UTC)
        assert past_moment("2026-01-31T12:00:00+00:00") == expected

    @rows("text", ["soon", "7", "7y", "2026-13-01", "", "999999999d"])
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(argparse.ArgumentTypeError, match="is no date"):
            past_moment(text)


@rows("arguments", [["--help"], *([*name.split(), "--help"] for name in ("import", "skills list"))])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from synthorg_tui.cli import main\n"
        f"try: main({arguments})\n"
        "except SystemExit: pass\n"
        "heavy = {'asyncio', 'pydantic', 'duckdb', 'numpy', 'yaml', 'textual', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
