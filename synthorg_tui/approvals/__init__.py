"""Configuration of the approval queue."""

from typing import Literal

from pydantic import Field

from synthorg_tui.core.types import FrozenModel


class ApprovalsConfig(FrozenModel):
    """Settings of the approval queue.

    ``allow_cli`` says whether commands may approve and reject, rather than the app alone.
    ``review`` says what waits for a person: all proposals, or all but harmless lessons whose
    certainty is at least ``certain_from``. A pending item expires ``expire_after_days`` days after
    it was proposed; ``None`` means never. ``notify`` says how the app calls a person who looks
    elsewhere when something comes to wait.
    """

    allow_cli: bool = True
    review: Literal["all", "uncertain"] = "all"
    certain_from: float = Field(default=0.85, ge=0.5, le=1.0)
    expire_after_days: int | None = Field(default=90, ge=1)
    notify: Literal["off", "bell", "notification"] = "bell"
