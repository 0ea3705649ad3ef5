"""What each command may do in a coding agent's environment, decided once for every command.

The program asks this table before it runs a command, and SECURITY.md prints it: after a change run
``python -m synthorg_tui.cli.agent_rules`` and replace the table there. A command without a rule is
refused in an agent's environment.
"""

import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from synthorg_tui.core.actors import agent_in


class AgentMay(StrEnum):
    """What an agent's shell may do with a command; the value is the word in SECURITY.md."""

    READ = "reads"
    OWN = "may"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AgentRule:
    """What an agent's shell may do with some commands, and why.

    ``reason`` ends the sentence "only a person decides: ..." where it may not. With one of the
    arguments ``refused_with`` a command is refused, with one of ``allowed_with`` it isn't; they are
    written as a person types them. One that ``asks_itself`` isn't refused before it begins: it has
    to write the refusal into a trail.
    """

    may: AgentMay
    reason: str
    commands: tuple[str, ...]
    refused_with: tuple[str, ...] = ()
    allowed_with: tuple[str, ...] = ()
    asks_itself: bool = False

    def refuses(self, args: Namespace) -> bool:
        """Return whether a command is refused before it begins."""

        def has(arguments: tuple[str, ...]) -> bool:
            return any(getattr(args, destination(each)) for each in arguments)

        if self.may is AgentMay.REFUSED:
            return not self.asks_itself and not has(self.allowed_with)
        return has(self.refused_with)


def destination(argument: str) -> str:
    """Return the name that a parsed argument has, for ``--dry-run`` or ``SWITCH``."""
    return argument.strip("-").replace("-", "_").lower()


_READ, _OWN, _REFUSED = AgentMay.READ, AgentMay.OWN, AgentMay.REFUSED
RULES: Final = (
    AgentRule(
        _READ,
        "",
        (
            *("search", "status", "overview", "blame"),
            *("scenarios list", "scenarios run", "proposals list", "proposals show"),
            *("proposals trail", "skills list", "skills show", "skills validate"),
            *("models list", "models check", "models runs", "models checkpoints"),
            *("memories list", "memories show", "memories history", "memories uses"),
            *("memories similar", "consolidate list", "consolidate show", "archive list"),
            *("archive search", "sessions list", "sessions show", "sessions export"),
            *("projects", "projects list", "projects show", "org list", "org as-of", "org show"),
            *("org history", "org search", "org check", "agents", "agents show", "agents calls"),
            *("agents readers", "runs list", "runs show", "hints", "jobs", "jobs list"),
            *("jobs log", "config check", "config show", "config explain", "config path"),
            "config changes",
        ),
    ),
    AgentRule(_READ, "an agent is given what is known now", ("digest",), refused_with=("--as-of",)),
    AgentRule(_READ, "it changes a setting", ("config off", "config on"), refused_with=("SWITCH",)),
    AgentRule(
        _READ,
        "it repairs, redacts or sets rules for the whole store",
        ("doctor",),
        refused_with=("--fix", "--take-retention"),
    ),
    AgentRule(
        _READ, "it changes what every agent is told", ("org import",), refused_with=("--apply",)
    ),
    AgentRule(
        _READ, "it continues a person's session", ("sessions resume",), refused_with=("--run",)
    ),
    AgentRule(
        _READ,
        "the models it names would be given the memories",
        ("models evaluate",),
        refused_with=("--embedder", "--reranker"),
    ),
    AgentRule(
        _READ,
        "it adds the sample to a store that is in use",
        ("demo",),
        refused_with=("--data-dir",),
    ),
    AgentRule(
        _READ,
        "a replay runs agents and costs money",
        ("skills eval",),
        refused_with=("--write-cases", "--to"),
    ),
    AgentRule(
        _OWN,
        "it changes only the agent's own memories",
        ("memories add", "memories edit", "memories delete", "memories restore"),
    ),
    AgentRule(
        _OWN,
        "it draws from recorded sessions what the program draws by itself; a Mem0 store is refused",
        ("import", "watch", "learn", "projects refresh"),
    ),
    AgentRule(
        _OWN,
        "it puts changed files up for a person's review",
        ("skills sync", "skills review"),
    ),
    AgentRule(_OWN, "agents' programs start it", ("mcp", "hook", "serve")),
    AgentRule(
        _OWN,
        "only with the profile read_only, which writes nothing",
        ("run", "runs resume"),
    ),
    AgentRule(
        _REFUSED,
        "it decides on proposals, and the refusal is in their trail",
        ("proposals approve", "proposals reject", "proposals snooze", "proposals edit"),
        asks_itself=True,
    ),
    AgentRule(
        _REFUSED,
        "it takes back or undoes a decision",
        ("proposals undo", "agents undo", "memories undo", "memories redo"),
    ),
    AgentRule(
        _REFUSED,
        "it decides in which projects memories are given",
        ("projects merge", "projects split", "projects rename", "projects undo"),
    ),
    AgentRule(
        _REFUSED,
        "it copies every agent's private memories to a place of its choice",
        ("backup", "export data", "export wiki", "move"),
    ),
    AgentRule(_REFUSED, "it replaces the store", ("restore",), allowed_with=("--list",)),
    AgentRule(_REFUSED, "it rebuilds the index, which every agent waits for", ("reindex",)),
    AgentRule(
        _REFUSED,
        "it shuts agents out or lets them in",
        ("agents pause", "agents resume", "agents read-only", "agents disconnect"),
    ),
    AgentRule(
        _REFUSED,
        "it changes the configuration of a coding agent",
        ("connect", "disconnect"),
    ),
    AgentRule(
        _REFUSED,
        "it changes a setting",
        ("config set", "config unset", "config undo", "config redo"),
    ),
    AgentRule(
        _REFUSED,
        "it erases for good",
        ("memories purge", "sessions delete"),
    ),
    AgentRule(
        _REFUSED,
        "it changes what other agents are given",
        (
            *("memories publish", "memories retract", "memories restore-version"),
            *("archive add", "archive restore", "skills restore", "skills retire"),
            *("hints silence", "hints unsilence"),
        ),
    ),
    AgentRule(
        _REFUSED,
        "it changes what every agent is told",
        ("org add", "org edit", "org retract", "org revive", "org undo"),
    ),
    AgentRule(
        _REFUSED,
        "it writes into a project's files",
        ("org publish",),
        allowed_with=("--check", "--dry-run"),
    ),
    AgentRule(
        _REFUSED,
        "it changes a person's own tests",
        ("scenarios save", "scenarios delete"),
    ),
    AgentRule(
        _REFUSED,
        "it starts or stops the program's own work",
        (
            *("jobs run", "jobs cancel", "runs cancel", "evolve", "prune"),
            *("consolidate plan", "consolidate apply", "consolidate drop", "consolidate undo"),
        ),
    ),
    AgentRule(
        _REFUSED,
        "it changes which model answers",
        (
            *("models tune", "models resume", "models cancel", "models deploy"),
            *("models rollback", "models delete"),
        ),
    ),
)
"""The table; a command of the parser is in it at most once."""
_UNNAMED: Final = AgentRule(_REFUSED, "only a person runs it", ("every other command",))


def rule_of(command: str) -> AgentRule:
    """Return the rule for a command by its whole name, such as ``agents pause``."""
    return next((rule for rule in RULES if command in rule.commands), _UNNAMED)


def require_allowed(args: Namespace, environ: Mapping[str, str] = os.environ) -> None:
    """Raise ``DecisionRefusedError`` where a known agent's environment may not run the command."""
    if agent_in(environ) is not None and (rule := rule_of(args.command)).refuses(args):
        from synthorg_tui.approvals.person import require_no_agent

        require_no_agent(environ, rule.reason)


def table() -> str:
    """Return the table as Markdown: a row for the commands that are decided alike."""
    rows = ["| Commands in an agent's environment | | Why, and except when |", "|---|---|---|"]
    for rule in (*RULES, _UNNAMED):
        options = rule.refused_with + rule.allowed_with
        named = ", ".join(f"`{option}`" for option in options)
        but = f"refused with {named}: " if rule.refused_with else ""
        only = f"; with {named} it only reads" if rule.allowed_with else ""
        commands = ", ".join(f"`{command}`" for command in rule.commands)
        why = f"{but}{rule.reason or 'it changes nothing'}{only}"
        rows.append(f"| {commands} | {rule.may} | {why} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(table(), end="")
