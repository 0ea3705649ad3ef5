"""Errors of failed calls: the telling line, its advice, and whether it is about call or code.

Only an error about the call can teach how to call: one about the code that was examined is what
the call was for.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.languages import error_in_english
from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.models import ToolCall
from synthorg_tui.executions.output_lines import (
    clean_output,
    is_telling,
    one_line,
    own_lines,
    telling_line,
)
from synthorg_tui.executions.roles import runs_code
from synthorg_tui.learning.failure_words import FAILURES

MAX_ERROR = 160
_MAX_HINT = 200


class ErrorKind(StrEnum):
    """The thing that was wrong: the call, a name in it, or the code that it examined."""

    CALL = "call"
    NAME = "name"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class CallError:
    """The error of a failed call: its most informative line, and the tool's advice or ``""``."""

    line: str
    hint: str
    kind: ErrorKind

    @property
    def plain(self) -> str:
        """Its line and advice in English, for whoever looks for words in it."""
        return error_in_english(f"{self.line} {self.hint}")


CI_CHECK = re.compile(r"\b(?:gh (?:pr checks|run watch)|glab ci status)\b")


def gate_lines(output: str) -> list[str]:
    """Return what a gate said, line by line, without labels and terminal codes."""
    stripped = (raw.strip(" \t│┃|~^") for raw in clean_output(output).splitlines())
    lines = (FAILURES["gate_label"].sub("", line) for line in stripped)
    return [
        safe_text(one_line(re.sub(r"\.{4,}", " ", line), MAX_ERROR))
        for line in lines
        if re.search(r"[A-Za-z]{3}", line)
    ]


def gate_error(output: str) -> CallError | None:
    """Return the line of a gate's output that tells most of why, and its advice."""
    if hook := FAILURES["hook_id"].search(output):
        return CallError(safe_text(one_line(f"{hook[1]} failed", MAX_ERROR)), "", ErrorKind.CALL)
    lines = gate_lines(output)
    telling = [
        one
        for one in lines
        if FAILURES["gate_tells"].search(one) and not FAILURES["gate_header"].match(one)
    ]
    line = next(iter([*telling, *lines]), "")
    hint = next((one for one in lines if FAILURES["advice"].search(one) and one != line), "")
    return CallError(line.rstrip(" .:"), hint, ErrorKind.CALL) if line else None


def is_gate_output(call: ToolCall) -> bool:
    """Tell whether a hook or a check stopped a call, rather than that it failed by itself."""
    if call.outcome is CallOutcome.BLOCKED_BY_HOOK:
        return True
    if call.outcome is not CallOutcome.FAILED or not call.is_shell:
        return False
    if CI_CHECK.search(call.arguments) is not None:
        return True
    return (
        call.intent in {"git commit", "git push"}
        and FAILURES["hook"].search(call.output) is not None
    )


def read_error(output: str, step: Step) -> CallError | None:
    """Extract the error from a failed step's output; ``None`` when no line of it says anything."""
    line = _telling(own_lines(output))
    text = one_line(FAILURES["lead"].sub("", line.strip("✖×❌✘✗ ")), MAX_ERROR).rstrip(" .:")
    if not re.search(r"[^\W\d_]{3}", text):
        return None
    return CallError(text, _hint(_lines(output), line), _kind(error_in_english(line), step))


def _lines(output: str) -> list[str]:
    stripped = (line.strip(" \t│┃|>~^") for line in clean_output(output).splitlines())
    return [line for line in stripped if line and not FAILURES["exit"].match(line)]


def _telling(lines: list[str]) -> str:
    """The line that names the error: one that speaks of the call before others."""
    about = [line for line in lines if _about_call(error_in_english(line))]
    strong = next((line for line in about if FAILURES["strong"].search(error_in_english(line))), "")
    named = telling_line(lines)
    return strong or (named if is_telling(named) else next(iter(about), named))


def _about_call(line: str) -> bool:
    match = FAILURES["call"].search(line) or FAILURES["name"].search(line)
    return (
        match is not None
        and not FAILURES["code"].search(line)
        and not line.lower().startswith("hint:")
    )


def _kind(line: str, step: Step) -> ErrorKind:
    if FAILURES["code"].search(line):
        return ErrorKind.CODE
    if FAILURES["call"].search(line):
        return ErrorKind.CALL
    if FAILURES["name"].search(line):
        return ErrorKind.NAME
    return ErrorKind.CODE if runs_code(step) else ErrorKind.CALL


def _hint(lines: list[str], telling: str) -> str:
    """What the tool advises right after the telling line, with a command it announces."""
    start = next((place for place, line in enumerate(lines) if line == telling), len(lines))
    for place, line in enumerate(lines[start + 1 : start + 8], start + 1):
        if FAILURES["advice"].search(line) and not FAILURES["turn_off"].search(line):
            announces = line.endswith((":", " use", " run")) and place + 1 < len(lines)
            whole = f"{line} {lines[place + 1]}" if announces else line
            bare = re.sub(r"^\W*(?:(?:hint|error|note|help):\s*)?", "", whole, flags=re.IGNORECASE)
            return one_line(bare, _MAX_HINT)
    return ""
