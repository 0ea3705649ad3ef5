"""The Runs screen: agents that run here, step by step, live; starting, stopping, resuming them."""

from collections.abc import Mapping
from typing import Final

RUN_COMMANDS: Final[Mapping[str, str]] = {
    "app.runs": "runs list",
    "runs.add": "run",
    "runs.cancel": "runs cancel",
    "runs.again": "runs resume",
    "runs.read": "runs show",
    "runs.source": "sessions show",
    "runs.memory": "memories show",
    "runs.view": "runs show",
}
"""The command that does without a screen what an action of the screen does, by the action's id."""
