"""How a client starts this program, and which skills are linked for it when it is connected.

Shared by the command and the screen that connect an agent: both show the planned changes first, ask
the person, and then write.
"""

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from synthorg_tui.connect import skills
from synthorg_tui.connect.changes import ClientInstaller
from synthorg_tui.connect.clients import Client, ConfigScope, ServerCommand
from synthorg_tui.connect.skills import PlacedSkills

_SCRIPT: Final = "synthorg-tui"


class LinkedSkills(NamedTuple):
    """The skills that were linked into a client's folder.

    ``unapproved`` are the skills that come with the program and that nobody decided on.
    """

    root: Path
    placed: PlacedSkills
    unapproved: tuple[str, ...]


def server_command(
    agent_id: str, *, data_dir: Path, config_path: Path | None = None
) -> ServerCommand:
    """Return how clients start us, with no more options than the same store needs."""
    from synthorg_tui.settings.environment import config_file, default_config_file
    from synthorg_tui.settings.loader import load_settings

    source, data_dir = config_file(config_path), data_dir.absolute()
    config: tuple[str, ...] = ()
    if source is not None and source != default_config_file():
        config = ("--config", str(source.absolute()))
    # What this shell's variables say, the client's environment may not.
    usual = Path(load_settings(source, environ={}).memory.storage.data_dir).absolute()
    named = ("--data-dir", str(data_dir))
    options = config if data_dir == usual else (*named, *config)
    return ServerCommand(own_command(sys.argv[0]), options, (*named, *config), agent_id)


def own_command(called: str) -> tuple[str, ...]:
    """Return the command that starts this program from any folder.

    ``called`` is ``sys.argv[0]``, how this process was started.
    """
    beside = Path(sys.executable).with_name(_SCRIPT)
    for script in (Path(called), beside):
        if script.name == _SCRIPT and script.is_file() and os.access(script, os.X_OK):
            return (str(script.absolute()),)
    return (sys.executable, "-P", "-m", "synthorg_tui")


def link_skills(
    installer: ClientInstaller,
    client: Client,
    scope: ConfigScope,
    agent_id: str,
    *,
    own: Path,
    wanted: dict[str, str] | None,
    rejected: Collection[str],
) -> LinkedSkills:
    """Link the approved skills where the client looks for them.

    Args:
        installer: Writes the links and remembers them.
        client: The client that was connected.
        scope: Where it was connected.
        agent_id: The agent whose skills they are.
        own: The folder of approved skills.
        wanted: The agent's skills, SHA-256 by name; ``None`` when nobody could be asked.
        rejected: Names of shipped skills whose text the person refused.
    """
    sources, unapproved = skills.shipped({*(wanted or {}), *rejected})
    root, placed = installer.place_skills(client, scope, agent_id, (own, *sources), wanted or {})
    return LinkedSkills(root, placed, () if wanted is None else unapproved)
