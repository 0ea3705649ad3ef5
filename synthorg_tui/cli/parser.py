"""The commands and their arguments; nothing heavy is imported to print help."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from synthorg_tui import __version__
from synthorg_tui.cli.commands import agents
from synthorg_tui.cli.connect_parser import add_connect
from synthorg_tui.cli.digest_parser import add_digest, add_scenarios
from synthorg_tui.cli.evolve_parser import add_evolve, add_models
from synthorg_tui.cli.learn_parser import add_learn
from synthorg_tui.cli.mcp_parser import add_mcp
from synthorg_tui.cli.moments import parse_moment
from synthorg_tui.cli.proposals_parser import add_proposals
from synthorg_tui.cli.skills_parser import add_skills
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.enums import Sensitivity

EXIT_CODES: Final = """\
exit codes:
  0    done (a search that finds nothing is done, too)
  1    it failed; the message says why and what to do
  2    wrong arguments or settings
  3    another process owns the data directory
  4    the store is corrupt; `synthorg-tui restore` brings back a backup
  130  cancelled; what was done until then is kept
"""

_OVERVIEW: Final = (
    """\
examples:
  synthorg-tui                                  open the app
  synthorg-tui import                           import the coding sessions found on this machine
  synthorg-tui search "push without upstream"   find memories by meaning and by words
  synthorg-tui memories list --tag git          browse
  synthorg-tui demo                             see it work on a bundled sample

"""
    + EXIT_CODES
    + """
environment:
  SYNTHORG_CONFIG   settings file, when --config is not given
  SYNTHORG__A__B    overrides the setting a.b, e.g. SYNTHORG__MEMORY__LEVEL=persistent
  SYNTHORG_DEBUG=1  shows logs and where an error happened
  NO_COLOR=1        no colours
"""
)

_SORTS: Final = ("newest", "oldest", "agent", "category", "confidence")

Commands = Any  # argparse has no public name for what add_subparsers returns


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(safe_text(message))


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="synthorg-tui",
        description="A local-first memory desk for AI agents. Without a command the app opens.",
        epilog=_OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    _common_options(parser)
    parser.set_defaults(handler=None, data_dir=None, config=None, json=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _transcripts(commands)
    _search(commands)
    add_digest(commands, _command)
    add_scenarios(commands, _command)
    add_proposals(commands, _command)
    add_skills(commands, _command, _path)
    add_evolve(commands, _command)
    add_models(commands, _command)
    add_mcp(commands, _command)
    add_connect(commands, _command)
    add_learn(commands, _command, parse_moment)
    agents.add(commands, _command)
    for add in (_memories, _store, _config):
        add(commands)
    return parser


def _common_options(parser: argparse.ArgumentParser) -> None:
    # Given before or after the command: where it is absent it must not undo the other place.
    group = parser.add_argument_group("for every command", argument_default=argparse.SUPPRESS)
    group.add_argument(
        "--data-dir", type=_path, metavar="DIR", help="where the memories are (default: settings)"
    )
    group.add_argument(
        "--config", type=_path, metavar="FILE", help="settings file (see `config path`)"
    )
    group.add_argument("--json", action="store_true", help="print the result as JSON")


def _command(
    commands: Commands,
    name: str,
    handler: str,
    summary: str,
    *,
    more: str = "",
    examples: Sequence[str] = (),
) -> argparse.ArgumentParser:
    text = "".join(f"  synthorg-tui {example}\n" for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.{' ' if more else ''}{more}",
        epilog=f"examples:\n{text}" if text else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _common_options(parser)
    parser.set_defaults(handler=handler)
    return parser


def _transcripts(commands: Commands) -> None:
    paths: dict[str, Any] = {
        "nargs": "*",
        "type": _path,
        "metavar": "PATH",
        "help": "files or folders (default: the usual places of Claude Code and Codex CLI)",
    }
    parser = _command(
        commands,
        "import",
        "transcripts:run_import",
        "import coding sessions as memories",
        more="Importing again adds only what is new.\nCtrl-C stops and keeps what is done.",
        examples=("import", "import ~/.claude/projects/my-project", "import --json session.jsonl"),
    )
    parser.add_argument("paths", **paths)
    parser = _command(
        commands,
        "watch",
        "transcripts:run_watch",
        "import, and go on importing what is written later",
        more="Ctrl-C ends it.",
        examples=("watch", "watch ~/.codex/sessions"),
    )
    parser.add_argument("paths", **paths)
    _command(
        commands,
        "demo",
        "transcripts:run_demo",
        "import a bundled sample and search it",
        more="It uses a temporary\ndirectory unless --data-dir names one.",
        examples=("demo", "demo --data-dir /tmp/desk"),
    )


def _search(commands: Commands) -> None:
    parser = _command(
        commands,
        "search",
        "search:run_search",
        "find memories by meaning and by words",
        examples=(
            'search "push a branch that has no upstream"',
            "search migration failed --agent claude-code --since 7d",
            "search --json --limit 3 flaky test",
        ),
    )
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    _filters(parser)
    parser.add_argument(
        "--limit", metavar="N", type=_whole(1, 1000), default=10, help="at most (default 10)"
    )


def _memories(commands: Commands) -> None:
    parser = commands.add_parser(
        "memories",
        help="list, show, add, change, delete and restore memories",
        description="Work on memories. An ID may be shortened to its first characters.",
        epilog="examples:\n  synthorg-tui memories list --agent claude-code\n"
        "  synthorg-tui memories show 3f2a\n"
        "  synthorg-tui memories edit 3f2a --tags git,push\n"
        "  synthorg-tui memories delete 3f2a && synthorg-tui memories restore 3f2a\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _memories_reading(actions)
    _memories_writing(actions)
    _memories_removing(actions)


def _memories_reading(actions: Commands) -> None:
    parser = _command(
        actions,
        "list",
        "memories:run_list",
        "list memories",
        examples=("memories list --since 7d", "memories list --word git --without test --deleted"),
    )
    _filters(parser)
    parser.add_argument(
        "--word", action="append", default=[], metavar="TEXT", help="must occur (repeatable)"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="TEXT", help="must not occur"
    )
    parser.add_argument("--deleted", action="store_true", help="deleted memories instead")
    parser.add_argument(
        "--sort", choices=_SORTS, default="newest", metavar="ORDER", help=f"{', '.join(_SORTS)}"
    )
    parser.add_argument("--offset", metavar="N", type=_whole(0), default=0, help="skip so many")
    parser.add_argument(
        "--limit", metavar="N", type=_whole(1, 1000), default=50, help="at most (default 50)"
    )
    parser = _command(actions, "show", "memories:run_show", "show a memory and where it comes from")
    parser.add_argument("id", metavar="ID")
    parser.add_argument(
        "--context",
        metavar="N",
        type=_whole(0, 100),
        default=0,
        help="transcript lines around the source",
    )
    parser = _command(actions, "history", "memories:run_history", "show every change to a memory")
    parser.add_argument("id", metavar="ID")


def _memories_writing(actions: Commands) -> None:
    categories = [category.value for category in MemoryCategory]
    parser = _command(
        actions,
        "add",
        "memories:run_add",
        "add a memory",
        examples=(
            'memories add --agent claude-code --tags git "Push with -u the first time."',
            "memories add --agent claude-code - < note.txt",
        ),
    )
    parser.add_argument("content", metavar="TEXT", help="the text, or - to read it from stdin")
    parser.add_argument("--agent", required=True, metavar="ID", help="whose memory it is")
    parser.add_argument(
        "--project", type=_path, metavar="DIR", help="only for this project (default: for all)"
    )
    parser.add_argument(
        "--category",
        choices=categories,
        default="semantic",
        metavar="NAME",
        help=f"{', '.join(categories)} (default semantic)",
    )
    parser.add_argument(
        "--tags", metavar="A,B", type=_words, default=(), help="separated by commas"
    )
    parser = _command(
        actions,
        "edit",
        "memories:run_edit",
        "change a memory",
        more="Without options the text opens in $EDITOR.",
        examples=("memories edit 3f2a", "memories edit 3f2a --category procedural --tags git,push"),
    )
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--content", metavar="TEXT", help="new text, or - to read it from stdin")
    parser.add_argument(
        "--category", choices=categories, metavar="NAME", help=f"one of {', '.join(categories)}"
    )
    parser.add_argument("--tags", metavar="A,B", type=_words, help="new tags, separated by commas")
    parser.add_argument("--confidence", metavar="X", type=_fraction, help="new confidence, 0 to 1")
    levels = [level.value for level in Sensitivity]
    parser.add_argument(
        "--sensitivity",
        choices=levels,
        metavar="LEVEL",
        help=f"one of {', '.join(levels)}",
    )
    parser.add_argument(
        "--fact-key", metavar="KEY", help="what the memory is the fact of; '' makes it a note"
    )


def _memories_removing(actions: Commands) -> None:
    texts = {
        "delete": ("delete memories", "They can be restored until they are purged."),
        "restore": ("bring deleted memories back", ""),
        "purge": ("erase memories for good", "They can't be restored, nor imported again."),
    }
    for name, (summary, more) in texts.items():
        parser = _command(actions, name, f"memories:run_{name}", summary, more=more)
        parser.add_argument("ids", nargs="+", metavar="ID")
        if name != "restore":
            parser.add_argument("--yes", action="store_true", help="don't ask")


def _store(commands: Commands) -> None:
    parser = _command(
        commands,
        "doctor",
        "store:run_doctor",
        "check the store",
        more="Exits with 1 when something is wrong.",
        examples=("doctor", "doctor --fix"),
    )
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired")
    _command(
        commands,
        "reindex",
        "store:run_reindex",
        "build the search index again",
        more="Nothing is lost: it is made from the database.",
    )
    parser = _command(
        commands,
        "serve",
        "serve:run_serve",
        "own the store without a screen, for agents and other commands",
        more="Ctrl-C ends it; opening the app takes the store over.",
        examples=("serve",),
    )
    parser.add_argument(
        "--until-idle",
        nargs="?",
        type=_whole(0, 86_400),
        const=5,
        metavar="SECONDS",
        help="leave when nobody has been connected for so long (default 5)",
    )
    parser = _command(
        commands, "backup", "store:run_backup", "copy the database", examples=("backup",)
    )
    parser.add_argument(
        "target", nargs="?", type=_path, metavar="FILE", help="(default: backups/ in the data dir)"
    )
    parser = _command(
        commands,
        "restore",
        "store:run_restore",
        "bring back a backup of the database",
        more="The present database is set aside, not deleted.",
        examples=("restore", "restore ~/desk-backup.duckdb"),
    )
    parser.add_argument(
        "backup", nargs="?", type=_path, metavar="FILE", help="(default: the newest backup)"
    )


def _config(commands: Commands) -> None:
    parser = commands.add_parser(
        "config",
        help="check and show the settings",
        description="Check and show the settings.",
    )
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _command(actions, "check", "config:run_check", "say what is wrong with the settings")
    _command(actions, "show", "config:run_show", "show the settings in force")
    _command(actions, "path", "config:run_path", "say where the settings file is")


def _filters(parser: argparse.ArgumentParser) -> None:
    categories = [category.value for category in MemoryCategory]
    parser.add_argument(
        "--agent", action="append", default=[], metavar="ID", help="only this one's (repeatable)"
    )
    parser.add_argument(
        "--category",
        action="append",
        default=[],
        choices=categories,
        metavar="NAME",
        help=f"only {', '.join(categories)} (repeatable)",
    )
    parser.add_argument(
        "--tag", action="append", default=[], metavar="TAG", help="must have it (repeatable)"
    )
    parser.add_argument(
        "--since", type=parse_moment, metavar="WHEN", help="2026-01-31, or 12h, 7d, 2w ago"
    )
    parser.add_argument("--until", type=parse_moment, metavar="WHEN", help="before that")


def _path(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty")
    return expand_home(text)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _whole(low: int, high: int | None = None) -> Callable[[str], int]:
    allowed = f"a whole number from {low} to {high}" if high else f"a whole number from {low}"

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < low or (high is not None and int(text) > high):
            raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
        return int(text)

    return parse


def _fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number
