"""A table in TOML: added at the end, taken out from wherever it is, all else as it was."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.connect.errors import ClientConfigError
from synthorg_tui.connect.toml_edit import has_table, with_table, without_table
from tests.tables import rows

PATH = ("mcp_servers", "synthorg")
VALUES = {"command": "/bin/x", "args": ["mcp", "--agent", "codex"]}
SHAPES = [
    "",
    'model = "o"\n',
    'model = "o"',
    "# only a comment\n",
    '[mcp_servers.other]\ncommand = "y" # why\n',
    '[mcp_servers]\n[mcp_servers.other]\r\ncommand = "y"\r\n',
    "[a]\n\n\n",
    'text = """\n[mcp_servers.synthorg]\n"""\n',
    "[[array]]\nx = 1\n",
]


@rows("text", SHAPES)
def test_what_was_added_can_be_taken_out(text: str) -> None:
    added = with_table(text, PATH, VALUES)
    assert tomllib.loads(added)["mcp_servers"]["synthorg"] == VALUES
    assert added.startswith(text)
    assert has_table(added, PATH)
    removed = without_table(added, PATH)
    assert not has_table(removed, PATH)
    assert removed.rstrip("\r\n") == text.rstrip("\r\n")


def test_others_tables_and_comments_stay() -> None:
    text = (
        '[mcp_servers.synthorg]\ncommand = "x"\n\n[mcp_servers.synthorg.env]\nA = "1"\n\n'
        "# about the other\n[other]\nx = 1\n"
    )
    assert without_table(text, PATH) == "\n# about the other\n[other]\nx = 1\n"


@rows("text", ["[", "a = ", 'a = "\n', "a = 1\na = 2\n", "\ufeffa = 1\n"])
def test_what_is_no_toml_is_refused(text: str) -> None:
    with pytest.raises(ClientConfigError, match="no valid TOML"):
        with_table(text, PATH, VALUES)


@rows("text", ["mcp_servers = {}\n", "mcp_servers = 1\n", "[[mcp_servers]]\nx = 1\n"])
def test_what_has_no_place_for_a_table_is_refused(text: str) -> None:
    with pytest.raises(ClientConfigError):
        with_table(text, PATH, VALUES)


@rows(
    "text",
    [
        'mcp_servers = {synthorg = {command = "x"}}\n',
        'mcp_servers.synthorg.command = "x"\n',
        '[mcp_servers]\nsynthorg = {command = "x"}\n',
        '[mcp_servers.synthorg]\ncommand = """\n[other]\n"""\n',
    ],
)
def test_a_table_that_is_written_otherwise_is_refused_not_damaged(text: str) -> None:
    with pytest.raises(ClientConfigError, match="safely"):
        without_table(text, PATH)


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_text_is_a_value(command: str, args: list[str]) -> None:
    text = with_table("", PATH, {"command": command, "args": args})
    assert tomllib.loads(text)["mcp_servers"]["synthorg"] == {"command": command, "args": args}
