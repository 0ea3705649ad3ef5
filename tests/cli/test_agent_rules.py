"""What each command may do in an agent's environment: one table, which everything follows."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.approvals.person import DECIDE_YOURSELF
from synthorg_tui.cli.agent_rules import (
    RULES,
    AgentMay,
    destination,
    require_allowed,
    rule_of,
    table,
)
from synthorg_tui.cli.runner import build_parser
from synthorg_tui.core.actors import AGENT_MARKS
from tests import REPO
from tests.cli.cli_kit import Cli, move_home, runner

IN_CLAUDE = {"CLAUDECODE": "1"}
VALUES = {
    "client": "codex",
    "kind": "command",
    "state": "on",
    "job": "backup",
    "number": "1",
    "plan": "1",
    "when": "7d",
    "version": "1",
}
"""What stands for an argument that takes not just any text, by its name."""


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every parser that runs something, that of the app without a command aside."""
    if parser.get_default("command"):
        yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


EVERY = {parser.get_default("command"): parser for parser in parsers(build_parser())}
REFUSED = [command for command in EVERY if rule_of(command).may is AgentMay.REFUSED]


def words(command: str) -> list[str]:
    """A call of the command with all that it has to be given."""
    needed = [
        action
        for action in EVERY[command]._actions
        if action.required and not isinstance(action, argparse._SubParsersAction)
    ]
    given = command.split()
    for action in needed:
        value = str(next(iter(action.choices))) if action.choices else VALUES.get(action.dest, "x")
        given += [*action.option_strings[-1:], value]
    return given


def test_a_rule_names_commands_of_the_parser_and_each_at_most_once() -> None:
    decided = [command for rule in RULES for command in rule.commands]
    assert len(decided) == len(set(decided))
    assert set(decided) <= set(EVERY)


def test_a_command_that_no_rule_names_is_refused() -> None:
    assert rule_of("some new command").refuses(argparse.Namespace())


def test_every_argument_that_a_rule_names_is_one_of_its_commands() -> None:
    for rule in RULES:
        for command in rule.commands:
            known = {action.dest for action in EVERY[command]._actions}
            named = map(destination, (*rule.refused_with, *rule.allowed_with))
            assert known.issuperset(named), command


def test_what_is_not_plain_reading_has_its_reason() -> None:
    for rule in RULES:
        is_plain = rule.may is AgentMay.READ and not rule.refused_with
        assert bool(rule.reason) is not is_plain, rule.commands


def test_security_md_prints_the_table() -> None:
    assert table() in (REPO / "SECURITY.md").read_text("utf-8"), (
        "print it anew: python -m synthorg_tui.cli.agent_rules"
    )


@pytest.mark.parametrize("mark", AGENT_MARKS)
def test_the_marks_of_every_agent_are_heeded(mark: str) -> None:
    args = argparse.Namespace(command="backup")
    require_allowed(args, {})
    with pytest.raises(DecisionRefusedError, match="every agent's private memories"):
        require_allowed(args, {mark: "1"})


def test_an_argument_decides_where_the_rule_says_so() -> None:
    parse = build_parser().parse_args
    for allowed in ("doctor", "restore --list", "org publish --check", "config off", "demo"):
        require_allowed(parse(allowed.split()), IN_CLAUDE)
    for refused in ("doctor --fix", "restore", "org publish", "config off writes"):
        with pytest.raises(DecisionRefusedError):
            require_allowed(parse(refused.split()), IN_CLAUDE)
    with pytest.raises(DecisionRefusedError):
        require_allowed(parse(["demo", "--data-dir", "d"]), IN_CLAUDE)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    move_home(monkeypatch, tmp_path)
    monkeypatch.setenv("CLAUDECODE", "1")
    return runner(tmp_path / "data", capsys)


def test_each_refused_command_says_why_and_what_to_do_and_touches_nothing(
    cli: Cli, tmp_path: Path
) -> None:
    for command in REFUSED:
        rule = rule_of(command)
        if rule.asks_itself:
            continue
        refused = cli(*words(command))
        assert (refused.code, refused.out) == (1, ""), command
        cause = f"Claude Code (CLAUDECODE is set) runs this; only a person decides: {rule.reason}"
        assert cause in refused.err, command
        assert DECIDE_YOURSELF in refused.err, command
    assert list(tmp_path.iterdir()) == []


def test_only_decisions_on_proposals_are_begun_and_refused_in_their_trail() -> None:
    """Each is tried with a proposal in ``test_agent_environment`` and ``test_proposals_edit``."""
    asking = {command for command in REFUSED if rule_of(command).asks_itself}
    assert asking == {f"proposals {verb}" for verb in ("approve", "reject", "snooze", "edit")}


def test_a_mem0_store_is_not_imported_for_other_agents(cli: Cli, tmp_path: Path) -> None:
    refused = cli("import", "mem0", str(tmp_path), "--agent", "codex")
    assert refused.code == 1
    assert "a Mem0 store may hold memories of any agent" in refused.err
