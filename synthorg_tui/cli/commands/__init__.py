"""The commands, one module for each or for a few related ones: declarations with functions.

Each module has a ``cli.command.Command`` for each entry of ``COMMANDS`` that names the module;
``cli.runner`` finds it by its name. Only the module of the command that is called is loaded; it
imports the engine inside its functions, so that help and errors in arguments don't wait for it.
Commands only call the engine and print; rules belong into the layers below.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """A command's entry in the list of commands: its module in this package and its line of help.

    With it, ``--help`` needs to load no command's module.
    """

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
    "status": CommandEntry(
        "status", "print what waits for you in one line, for tmux and Claude Code"
    ),
    "overview": CommandEntry(
        "overview", "see the whole over time: memories, digests, hints, tokens, jobs"
    ),
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
    "consolidate": CommandEntry(
        "consolidate", "plan what memories could leave or be merged; apply and undo plans"
    ),
    "archive": CommandEntry("archive", "list, search, fill and empty the archive of memories"),
    "sessions": CommandEntry("sessions", "list, read, export, resume and delete sessions"),
    "projects": CommandEntry("projects", "see what is known of a project, and from which sessions"),
    "org": CommandEntry("org", "see and write what every agent is to know and to follow"),
    "blame": CommandEntry("blame", "see which session wrote a file or a line of it, and why"),
    "export": CommandEntry("export", "write what is stored to a folder, for other programs"),
    "agents": CommandEntry(
        "agents", "list agents and their memories; pause them, and take back what they wrote"
    ),
    "run": CommandEntry("run", "give an agent that runs here a task, and follow it"),
    "runs": CommandEntry("runs", "list, show, stop and resume the runs of agents here"),
    "hints": CommandEntry(
        "hints", "see and choose what agents are told nothing about at their calls"
    ),
    "jobs": CommandEntry("jobs", "see what runs by itself, run it now or stop it"),
    "doctor": CommandEntry("store", "check the store"),
    "reindex": CommandEntry("store", "build the search index again"),
    "serve": CommandEntry("store", "own the store without a screen, for agents and other commands"),
    "backup": CommandEntry("store", "copy the database"),
    "restore": CommandEntry("store", "bring back a backup of the database"),
    "move": CommandEntry("move", "copy the whole store to a PostgreSQL server, or back"),
    "config": CommandEntry("config", "check and show the settings"),
}
"""The commands in the order of ``--help``."""
