"""Configuration of the approval queue."""

from typing import Literal

from pydantic import Field

from synthorg_tui.core.types import FrozenModel, NotBlankStr

ANYBODY = "*"
"""In place of a person's name, in a role that everybody has."""


class DecisionRole(FrozenModel):
    """Who may decide which proposals; what is left empty holds for all.

    ``people`` are names as ``ApprovalsConfig.person`` has them, or ``*``. A proposal falls under it
    when it is of one of ``agents`` or of an agent of one of ``departments``, and when what it
    proposes would be for one of ``scopes``. One that is of no agent falls under it only where
    neither agents nor departments are named, one without a scope only where no scopes are.
    """

    people: tuple[NotBlankStr, ...] = Field(min_length=1)
    agents: tuple[NotBlankStr, ...] = ()
    departments: tuple[NotBlankStr, ...] = ()
    scopes: tuple[Literal["agent", "role", "department", "org"], ...] = ()


class ApprovalsConfig(FrozenModel):
    """Settings of the approval queue.

    ``allow_cli`` says whether commands may approve and reject, rather than the app alone.
    ``review`` says what waits for a person: all proposals, or all but harmless lessons whose
    certainty is at least ``certain_from``. A pending item expires ``expire_after_days`` days after
    it was proposed; ``None`` means never. ``notify`` says how the app calls a person who looks
    elsewhere when something comes to wait. ``person`` is what the person here is called in what
    is recorded, ``None`` for the login name. With ``roles`` only those that they name decide;
    without any everybody does.
    """

    allow_cli: bool = True
    review: Literal["all", "uncertain"] = "all"
    certain_from: float = Field(default=0.85, ge=0.5, le=1.0)
    expire_after_days: int | None = Field(default=90, ge=1)
    notify: Literal["off", "bell", "notification"] = "bell"
    person: NotBlankStr | None = None
    roles: tuple[DecisionRole, ...] = ()
