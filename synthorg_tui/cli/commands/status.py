"""``status``: one line with what waits for the person, for the status bars of other programs.

As a status bar asks, ``connect.status_line`` answers without any of this being loaded; here are
help, ``--json``, and other orders of the arguments.
"""

from typing import Final

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.output import Answer, Console
from synthorg_tui.connect.status_line import FORMATS, counts_in, drain, line_of, trouble_lines

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


@Command(
    "status",
    about=_MORE,
    examples=("status", "status --format tmux", "status --json"),
    arguments=(
        Argument(
            "--format",
            choices=FORMATS,
            default=FORMATS[0],
            metavar="NAME",
            help=f"{', '.join(FORMATS)} (default: {FORMATS[0]})",
        ),
    ),
).runs
async def status(context: Context) -> Answer:
    """Print the line, or nothing when nothing waits; returns 0."""
    style = context.args.format
    if style == "claude":
        drain()
    waiting, news = counts_in(str(context.data_dir), str(context.args.config or ""))

    def show(console: Console) -> None:
        line = line_of(waiting, news, style=style)
        for each in filter(None, (*trouble_lines(style), line)):
            console.out.write(f"{each}\n")

    return Answer({"waiting": waiting, "news": news}, show)
