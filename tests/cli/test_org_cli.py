"""``org`` as a person uses it: read by anyone, written only by whoever sits at the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synthorg_tui.approvals.person import Person, require_no_agent
from synthorg_tui.cli.terminal import Terminal
from tests.cli.cli_kit import Cli, Result, documented, move_home, runner
from tests.postgres_switch import files_only
from tests.pty_kit import at_terminal

PROGRAM = ("-c", "import sys; from synthorg_tui.cli import main; sys.exit(main())")
POLICY = "Never push to main."
RULE = "Run the linter before you push."
SETTINGS = """\
org_memory:
  core_policies: ["No secrets in code."]
"""
Typed = Callable[..., Result]


class Answering(Terminal):
    """A terminal at which a person gives one answer to everything."""

    def __init__(self, answer: str) -> None:
        self.person = Person("terminal", "eva")
        self.answer, self.asked = answer, list[str]()

    def ask(self, question: str) -> str:
        self.asked.append(question)
        return self.answer


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path)
    settings = tmp_path / "company.yaml"
    settings.write_text(SETTINGS, encoding="utf-8")
    monkeypatch.setenv("SYNTHORG_CONFIG", str(settings))
    run = runner(tmp_path / "data", capsys)
    return lambda *args: run("org", *args)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """A person who agrees; whoever is an agent is refused as at the real one."""
    answering = Answering("y")

    @contextmanager
    def opened() -> Iterator[Answering]:
        require_no_agent()
        yield answering

    monkeypatch.setattr("synthorg_tui.cli.terminal.controlling_terminal", opened)
    return answering


def added(cli: Cli, text: str = RULE, category: str = "convention", *options: str) -> str:
    ran = cli("add", text, "--category", category, *options, "--json")
    assert ran.code == 0, ran.err
    return str(ran.json["id"])


def texts(cli: Cli, *options: str) -> list[str]:
    return [entry["content"] for entry in cli("list", *options, "--json").json["entries"]]


@files_only
def test_a_person_at_a_terminal_writes_a_policy_after_agreeing(cli: Cli, tmp_path: Path) -> None:
    told = ("--config", str(tmp_path / "company.yaml"), "--data-dir", str(tmp_path / "data"))
    program = (*PROGRAM, *told, "org", "add", POLICY, "--category", "core_policy")
    declined = at_terminal(program, answers={"[y/N]": "n\n"})
    assert declined.code == 130
    assert "Tell every agent in every project, in each prompt" in declined.screen
    assert at_terminal(program, answers={"[y/N]": "y\n"}).code == 0
    assert texts(cli) == ["No secrets in code.", POLICY]


def test_what_is_written_is_edited_retracted_revived_and_taken_back(
    cli: Cli, terminal: Answering
) -> None:
    fact_id = added(cli)
    edited = cli("edit", fact_id[:6], "--content", "Lint first.", "--category", "procedure")
    assert f"Version 2 of {fact_id}" in edited.out
    assert cli("retract", fact_id[:6]).code == 0
    assert texts(cli) == ["No secrets in code."]
    assert texts(cli, "--retracted") == ["No secrets in code.", "Lint first."]
    assert cli("revive", fact_id).code == 0
    undone = cli("undo", "--json").json
    assert undone["retracted_at"] is not None
    assert "undid" in undone["undone"]
    versions = cli("history", fact_id, "--json").json["versions"]
    assert [version["content"] for version in versions] == [
        RULE,
        "Lint first.",
        None,
        "Lint first.",
        None,
    ]
    assert "person (terminal, eva)" not in terminal.asked[0]
    assert any("Retract procedure" in question for question in terminal.asked)


def test_every_act_needs_the_answer_yes(cli: Cli, terminal: Answering) -> None:
    fact_id = added(cli)
    terminal.answer = ""
    for act in (
        ("add", "Other.", "--category", "adr"),
        ("edit", fact_id, "--content", "Other."),
        ("retract", fact_id),
        ("undo",),
    ):
        assert cli(*act).code == 130
    assert texts(cli) == ["No secrets in code.", RULE]


@pytest.mark.parametrize("why", ["agent", "closed"])
def test_an_agents_commands_and_a_closed_command_line_write_nothing(
    cli: Cli, terminal: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    fact_id = added(cli)
    if why == "agent":
        monkeypatch.setenv("CLAUDECODE", "1")
    else:
        settings = f"{SETTINGS}approvals: {{allow_cli: false}}\n"
        (tmp_path / "company.yaml").write_text(settings, encoding="utf-8")
    asked = len(terminal.asked)
    for act in (
        ("add", "Other.", "--category", "core_policy"),
        ("edit", fact_id, "--content", "Other."),
        ("retract", fact_id),
        ("revive", fact_id),
        ("undo",),
    ):
        ran = cli(*act)
        assert ran.code == 1, act
        assert "only a person decides" in ran.err or "allow_cli is off" in ran.err
    assert len(terminal.asked) == asked
    assert texts(cli) == ["No secrets in code.", RULE]
    assert cli("show", fact_id).code == 0


def test_the_editor_makes_a_new_version_or_leaves_all_as_it_is(
    cli: Cli, terminal: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact_id = added(cli)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'Lint, then push.' > \"$1\"\n", encoding="utf-8")
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    assert cli("edit", fact_id, "--json").json["content"] == "Lint, then push."
    asked = len(terminal.asked)
    assert cli("edit", fact_id).out == "Nothing was changed.\n"
    assert len(terminal.asked) == asked
    monkeypatch.setenv("EDITOR", "false")
    assert cli("edit", fact_id).code == 1


def test_a_text_comes_from_stdin_and_a_secret_in_it_is_told_and_not_stored(
    cli: Cli, terminal: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("Deploy with ghp_" + "a1B2" * 9 + "\n"))
    ran = cli("add", "-", "--category", "procedure", "--json")
    assert "[REDACTED:" in ran.json["content"]
    assert "1 secret was replaced" in ran.err
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    assert cli("add", "-", "--category", "procedure").code == 2


def test_the_same_is_not_written_twice(cli: Cli, terminal: Answering) -> None:
    fact_id = added(cli)
    again = cli("add", RULE, "--category", "convention")
    assert again.code == 2
    assert fact_id in again.err
    assert added(cli, RULE, "procedure") != fact_id


def test_the_list_is_narrowed_by_category_project_and_time(
    cli: Cli, terminal: Answering, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    added(cli, "For all.")
    added(cli, "In the shop.", "adr", "--project", str(shop))
    assert texts(cli, "--category", "adr") == ["In the shop."]
    assert texts(cli, "--project", "shop") == texts(cli, "--project", str(shop))
    assert "In the shop." in texts(cli, "--project", "shop")
    assert cli("list", "--project", "other").code == 2
    past = cli("as-of", "1h", "--json").json
    assert [entry["content"] for entry in past["entries"]] == ["No secrets in code."]
    assert past["at"] is not None
    assert cli("list", "--at", "1h", "--category", "adr").out.startswith("Nothing that fits was")


def test_lists_and_entries_are_for_people_too(cli: Cli, terminal: Answering) -> None:
    fact_id = added(cli, f"{RULE}\nAnd the tests.", "convention", "--tags", "git,push")
    listed = cli("list")
    assert fact_id[:8] in listed.out
    assert "core-policy-0" in listed.out
    shown = cli("show", fact_id[:5]).out
    for told in ("convention", "git, push", "a person", f"{RULE}\nAnd the tests."):
        assert told in shown
    assert "v1" in cli("history", fact_id[:5]).out


def test_a_question_is_answered_with_the_reason(cli: Cli, terminal: Answering) -> None:
    fact_id = added(cli)
    (hit,) = cli("search", "linter", "--json").json
    assert hit["id"] == fact_id
    assert hit["why"]
    assert hit["why"] in cli("search", "linter").out
    assert cli("search", "linter", "--category", "adr").out == "No fact fits.\n"
    assert cli("search", " ").code == 2


def test_what_is_not_there_or_not_written_here_is_told_with_the_way_to_it(
    cli: Cli, terminal: Answering
) -> None:
    for act in ("show", "history", "edit", "retract", "revive"):
        options = ("--content", "x") if act == "edit" else ()
        ran = cli(act, "zzzz", *options)
        assert (ran.code, "org list" in ran.err) == (1, True), act
    for command in (("edit", "core-policy-0", "--content", "x"), ("retract", "core-policy-0")):
        ran = cli(*command)
        assert (ran.code, "settings" in ran.err) == (1, True), command
    assert "nothing" in cli("undo").err


def test_json_has_the_documented_fields(cli: Cli, terminal: Answering) -> None:
    fact_id = added(cli)
    for section, args in (
        ("org list", ("list",)),
        ("org show", ("show", fact_id)),
        ("org add", ("add", "Other.", "--category", "adr")),
        ("org history", ("history", fact_id)),
        ("org search", ("search", "linter")),
        ("org undo", ("undo",)),
    ):
        given, example = cli(*args, "--json").json, documented(section)
        if isinstance(given, list):
            given, example = given[0], example[0]
        assert given.keys() == example.keys(), section
        for name in given.keys() & {"entries", "versions"}:
            assert given[name][0].keys() == example[name][0].keys()
