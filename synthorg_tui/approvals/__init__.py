"""Configuration of the approval queue."""

from pydantic import Field

from synthorg_tui.core.types import FrozenModel


class ApprovalsConfig(FrozenModel):
    """How decisions are taken.

    ``allow_cli`` off leaves them to the app alone. A pending item expires after
    ``expire_after_days``; ``None`` is never.
    """

    allow_cli: bool = True
    expire_after_days: int | None = Field(default=90, ge=1)
