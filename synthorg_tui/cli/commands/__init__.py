"""One module a command, or a few that belong together: arguments, help, and what it does.

Each has ``add(commands)``, which ``cli.runner`` calls to build the parser, and the functions that
run. Only the module of the command that is asked for is loaded; it imports its work inside these
functions, so that help and wrong arguments don't wait for the engine either. Commands only call the
engine and print; what they would have to decide themselves belongs into the layers below.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """What is known of a command without loading it: its module here, and its line of help."""

    module: str
    summary: str


COMMANDS: Final[Mapping[str, CommandEntry]] = {
    "import": CommandEntry("transcripts", "import coding sessions as memories"),
    "watch": CommandEntry("transcripts", "import, and go on importing what is written later"),
    "demo": CommandEntry("transcripts", "import a bundled sample and search it"),
    "search": CommandEntry("search", "find memories by meaning and by words"),
    "digest": CommandEntry("digest", "print what an agent would be given for a task"),
    "scenarios": CommandEntry("digest", "keep questions and see when their answers change"),
    "proposals": CommandEntry("proposals", "see and decide what waits for your approval"),
    "skills": CommandEntry(
        "skills", "list, show and check skills, and put changed files up for review"
    ),
    "evolve": CommandEntry("evolve", "propose to give every agent what several have learnt"),
    "prune": CommandEntry("evolve", "propose to remove skills that are no longer of use"),
    "models": CommandEntry("models", "see which models there are and how fast they work"),
    "mcp": CommandEntry(
        "mcp", "serve an agent's memory over MCP, for the agent's program to start"
    ),
    "connect": CommandEntry(
        "connect", "give a coding agent its memory: adds the MCP server to its configuration"
    ),
    "disconnect": CommandEntry("connect", "take the memory out of a coding agent's configuration"),
    "hook": CommandEntry(
        "connect", "what Claude Code's hooks run; `connect --hooks` installs them"
    ),
    "learn": CommandEntry("learn", "propose lessons from the imported sessions"),
    "memories": CommandEntry("memories", "list, show, add, change, delete and restore memories"),
    "agents": CommandEntry(
        "agents", "list agents and their memories; pause them, and take back what they wrote"
    ),
    "doctor": CommandEntry("store", "check the store"),
    "reindex": CommandEntry("store", "build the search index again"),
    "serve": CommandEntry("store", "own the store without a screen, for agents and other commands"),
    "backup": CommandEntry("store", "copy the database"),
    "restore": CommandEntry("store", "bring back a backup of the database"),
    "config": CommandEntry("config", "check and show the settings"),
}
"""The commands in the order of ``--help``."""
