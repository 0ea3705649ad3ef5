"""``status``: one line with what waits for the person, for the status bars of other programs.

As a status bar asks, ``connect.status_line`` answers without any of this being loaded; here are
help, ``--json``, and other orders of the arguments.
"""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.connect.status_line import FORMATS, counts_in, drain, line_of, trouble_lines

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context

_MORE: Final = """\
Print one line, such as "3 to review · 2 new": the proposals that wait for you, and
what was decided without the app, by a setting or at a terminal, and it hasn't told
you of yet; before it, what kept hooks from their store today. Prints nothing when
there is nothing. Quick enough for a status bar:
naming the data directory saves reading the settings.

tmux, in ~/.tmux.conf:
  set -g status-interval 15
  set -ag status-right " #(synthorg-tui status --format tmux --data-dir DIR)"

Claude Code, in ~/.claude/settings.json:
  "statusLine": {
    "type": "command",
    "command": "synthorg-tui status --format claude --data-dir DIR"
  }

`synthorg-tui config show` names DIR as memory.storage.data_dir."""


def add(commands: Subparsers) -> None:
    """Add the parser of ``status`` to ``commands``."""
    parser = add_command(
        commands,
        "status",
        run_status,
        COMMANDS["status"].summary,
        examples=("status", "status --format tmux", "status --json"),
    )
    parser.description = _MORE
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        metavar="NAME",
        help=f"{', '.join(FORMATS)} (default: {FORMATS[0]})",
    )


async def run_status(context: "Context") -> int:
    """Print the line, or nothing when nothing waits; returns 0."""
    if context.args.format == "claude":
        drain()
    waiting, news = counts_in(str(context.data_dir), str(context.args.config or ""))
    if context.wants_json:
        context.console.json({"waiting": waiting, "news": news})
        return 0
    line = line_of(waiting, news, style=context.args.format)
    for each in (*trouble_lines(context.args.format), *([line] if line else [])):
        context.console.out.write(f"{each}\n")
    return 0
