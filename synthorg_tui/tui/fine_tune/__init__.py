"""The Fine-tune screen: training the embedder on one's own memories, and what came of it."""

from collections.abc import Mapping
from typing import Final

TUNING_COMMANDS: Final[Mapping[str, str]] = {
    "app.fine_tune": "models runs",
    "tuning.run": "models tune",
    "tuning.check": "models tune",
    "tuning.approve": "models deploy",
    "tuning.restore": "models rollback",
    "tuning.delete": "models delete",
    "tuning.cancel": "models cancel",
    "tuning.read": "models runs",
}
"""The command that does without a screen what an action of the screen does, by the action's id."""
