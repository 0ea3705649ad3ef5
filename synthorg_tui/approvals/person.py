"""Who may decide: a person. No agent-facing part of the program may import this module."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at the screen or at the controlling terminal; only those two parts make one."""

    via: Literal["tui", "terminal"]
    name: str = "person"

    def __str__(self) -> str:
        return f"{self.name} ({self.via})"


@dataclass(frozen=True, slots=True)
class Policy:
    """A setting by which a person has approved beforehand; ``setting`` is its path."""

    setting: str

    def __str__(self) -> str:
        return f"policy ({self.setting})"
