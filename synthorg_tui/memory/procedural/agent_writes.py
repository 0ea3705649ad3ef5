"""What an agent wants kept, as an item of the approval queue holds it."""

from typing import Literal

from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.extensions import MemoryDraft


class WritePayload(FrozenModel):
    """A memory that an agent wants kept; ``draft`` is what would be stored, redacted already."""

    type: Literal["write"] = "write"
    agent_id: NotBlankStr
    draft: MemoryDraft
