"""The Models screen: embedding models side by side, by how well they find what is remembered."""

from collections.abc import Mapping
from typing import Final

MODEL_COMMANDS: Final[Mapping[str, str]] = {
    "app.models": "models list",
    "models.run": "models evaluate",
    "models.add": "models evaluate",
    "models.delete": "models evaluate",
}
"""The command that does without a screen what an action of the screen does, by the action's id."""
