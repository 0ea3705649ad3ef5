"""Calls of tools."""

from dataclasses import dataclass

from synthorg_tui.core.enums import CallOutcome, SecurityVerdictType
from synthorg_tui.providers.models import ToolUse


@dataclass(frozen=True, slots=True)
class Invocation:
    """What became of a call."""

    use: ToolUse
    outcome: CallOutcome
    content: str
    is_error: bool = False
    verdict: SecurityVerdictType = SecurityVerdictType.ALLOW
    why: str = ""
    milliseconds: int = 0
    size: int = 0
    exit_code: int | None = None
