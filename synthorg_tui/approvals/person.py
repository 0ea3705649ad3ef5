"""Who may decide: a person, or a setting by which a person decided beforehand.

Every function that decides wants one of these. Only the screens and the terminal make a person, and
no part of the program that agents reach may import this module (a contract of the import linter).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Person:
    """A person at the app or the controlling terminal, in whose name a decision is taken.

    Only the screens and the terminal commands may create one.
    """

    via: Literal["tui", "terminal"]
    name: str = "person"

    def __str__(self) -> str:
        return f"{self.name} ({self.via})"


@dataclass(frozen=True, slots=True)
class Policy:
    """A setting by which a person has approved beforehand.

    ``setting`` is its path in the configuration. A policy can approve but never reject.
    """

    setting: str

    def __str__(self) -> str:
        return f"policy ({self.setting})"
