"""Who may decide: a person, or a setting by which a person decided beforehand.

Every function that decides wants one of these. Only the screens and the terminal make a person, and
no part of the program that agents reach may import this module (a contract of the import linter).
How an author is recorded and shown is in ``core.actors``.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from synthorg_tui.approvals.models import (
    ApprovalEventKind,
    ApprovalStatus,
    DecisionRefusedError,
)
from synthorg_tui.core.actors import Actor, ActorKind, agent_in

DECIDE_YOURSELF: Final = "Open the app yourself, or run the command at a terminal of your own."


@dataclass(frozen=True, slots=True)
class Person:
    """A person at the app or the controlling terminal, in whose name a decision is taken.

    Only the screens and the terminal commands may create one.
    """

    via: Literal["tui", "terminal"]
    name: str = "person"

    def __str__(self) -> str:
        return str(Actor(ActorKind(self.via), self.name))


@dataclass(frozen=True, slots=True)
class Policy:
    """A setting by which a person has approved beforehand.

    ``setting`` is its path in the configuration. A policy can approve but never reject.
    """

    setting: str

    def __str__(self) -> str:
        return str(Actor(ActorKind.POLICY, self.setting))


def decision_event(
    status: ApprovalStatus, person: Person | Policy, reason: str | None
) -> ApprovalEventKind:
    """Return the event of a decision; raises ``DecisionRefusedError`` if it may not be taken so.

    Only a person rejects, and with a reason.
    """
    if not isinstance(person, Person | Policy):
        raise DecisionRefusedError("only a person decides")
    if status is ApprovalStatus.APPROVED:
        return ApprovalEventKind.APPROVED
    if status is not ApprovalStatus.REJECTED or isinstance(person, Policy):
        raise DecisionRefusedError(f"{person} can't make a proposal {status}")
    if reason is None:
        raise DecisionRefusedError("a rejection needs a reason")
    return ApprovalEventKind.REJECTED


def require_no_agent(environ: Mapping[str, str] = os.environ, reason: str = "") -> None:
    """Raise ``DecisionRefusedError`` if the environment is that of a known coding agent.

    To be called before an action that only a person may take, on a screen or by a command;
    ``reason`` says what about it is a person's.
    """
    agent = agent_in(environ)
    if agent is not None:
        because = f": {reason}" if reason else ""
        raise DecisionRefusedError(
            f"{agent.shown_by} runs this; only a person decides{because}", remedy=DECIDE_YOURSELF
        )


def actor_of_command(environ: Mapping[str, str] = os.environ) -> Actor:
    """Return who acts by a command: the agent that runs it, else the user, confirmed by nobody."""
    agent = agent_in(environ)
    return Actor(ActorKind.COMMAND, user_name()) if agent is None else agent.actor


def user_name() -> str:
    """Return the login name of the user whose process this is, else its number."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
