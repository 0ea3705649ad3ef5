"""Configuration of the approval queue."""

from typing import Literal

from pydantic import Field

from synthorg_tui.core.types import FrozenModel


class ApprovalsConfig(FrozenModel):
    """Settings of the approval queue.

    ``allow_cli`` says whether commands may approve and reject, rather than the app alone. A pending
    item expires ``expire_after_days`` days after it was proposed; ``None`` means never. ``notify``
    says how the app calls a person who looks elsewhere when something comes to wait.
    """

    allow_cli: bool = True
    expire_after_days: int | None = Field(default=90, ge=1)
    notify: Literal["off", "bell", "notification"] = "bell"
