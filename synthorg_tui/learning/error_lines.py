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


_CALL = re.compile(
    r"did you mean|unrecogni[sz]ed|\bunknown\b|\billegal\b|unsupported|ambiguous"
    r"|\b(?:invalid|unexpected|missing|no such|bad|extra|duplicate)\s(?:\S+\s)?"
    r"(?:option|flag|argument|command|subcommand|parameter|switch|operand|script|target|task)"
    r"|\brequires?\b|\brequired\b|\bmust\b|\bneeds? to\b|\bnot (?:be )?installed\b"
    r"|\bplease (?!report|see|file|open|consider)"
    r"|no module named|cannot find (?:module|package)|could ?n[o']t (?:resolve|connect|lock)"
    r"|not recogni[sz]ed|permission denied|not permitted|access denied|unauthori[sz]ed|forbidden"
    r"|authenticat|not logged in|log ?in\b|credentials?\b|externally[- ]managed|already exists"
    r"|already (?:in use|running|checked out)|address in use|refused|not a git repository"
    r"|no upstream|\brejected\b|\blocked\b|\bbeyond\b|\bignored by\b|\bnot set\b|not configured"
    r"|unstaged|uncommitted|untracked|not clean|diverg|unrelated histories|read-only"
    r"|non-interactive|not a tty|no space left|unable to|\binstead\b|timed out"
    r"|\buse the\b|could not determine|\bis missing\b|\bno :?\w+ configuration\b"
    r"|\bmissing go\.sum\b|\bwas (?:replaced|renamed) by\b"
    r"|\bno changes added to commit\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"command not found|not found|no such file|no such|does ?n[o']t exist|did not match any"
    r"|could ?n[o']t find|cannot (?:find|access|stat|open)|no matching",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"\b(?:Type|Attribute|Name|Syntax|Assertion|Reference|Key|Index|Indentation|Compile|Match"
    r"|Argument|FunctionClause|Undefined\w*)Error\b|\bassert(?:ion)?\b|\bundefined\b|undeclared"
    r"|error TS\d|error\[E\d|\bunused\b|mismatched|has no attribute|unresolved|\bexpected .+ "
    r"(?:got|but|found)|\b\d+ (?:tests?|failures?|errors?|problems?)\b"
    r"|\b\d+ failed(?:,|$| in )|^FAILED\b|^\d+\) ",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"hint:|\buse\b|\btry\b|\brun\b|\bplease\b|did you mean|\binstall\b|you (?:can|may|should|need)"
    r"|\binstead\b|^to (?:push|fix|add|set|enable|allow|continue)\b",
    re.IGNORECASE,
)
_TURN_OFF = re.compile(r"turn this message off|advice\.|git config|^See\b", re.IGNORECASE)
_EXIT = re.compile(r"^(?:Error: )?(?:Exit code|Process exited with code)\b")
_STRONG = re.compile(r"\bfatal:|\berror\b|\*\* \(|\w(?:Error|Exception)\b", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:(?:fatal|error|ERROR|Error|\w+: error|(?:(?:ba|z)?sh|\(eval\))(?:: ?(?:line )?\d+)?):\s*"
    r"|(?:E|npm (?:ERR!|error)|\*\* \([\w.]+\)|!)\s+)+"
)


_HOOK = re.compile(
    r"\bhook id:|\bhusky\b|\blefthook\b|\blint-staged\b|\bcommitlint\b|pre-(?:commit|push) hook"
    r"|commit-msg hook|hook declined|\bpre-?commit\b.*\b(?:failed|validation|script)|GH00\d:"
    r"|protected branch|\[(?:subject|type|body|header|scope)-[a-z-]+\]|overcommit",
    re.IGNORECASE,
)
CI_CHECK = re.compile(r"\b(?:gh (?:pr checks|run watch)|glab ci status)\b")


_GATE_LABEL = re.compile(
    r"^(?:(?:(?:Pre|Post)ToolUse(?::\S+)? hook (?:\w+ ){0,2}error:?"
    r"|hook (?:returned )?blocking error:?"
    r"|(?:remote|error|Error|husky|✖|×|❌|⧗|➤)\s*[:>-]*|-|\[[^\]]*/[^\]]*\]:?)\s*)+"
)
_GATE_TELLS = re.compile(
    r"\[[A-Z][A-Z_-]+\]|not formatted|\berrors?\b|\bfail(?:ed|s|ure)?\b|\bmust\b|blocked"
    r"|not allowed|\brequire|\binstead\b|\bplease\b|\buse\b|\brun\b|✖"
    r"|\bmissing\b|declined|protected|invalid",
    re.IGNORECASE,
)
_GATE_HEADER = re.compile(r"^[^.]{0,60}:$|^>|^\s*$")
_HOOK_ID = re.compile(r"hook id: (\S+)")


def gate_lines(output: str) -> list[str]:
    """Return what a gate said, line by line, without labels and terminal codes."""
    stripped = (raw.strip(" \t│┃|~^") for raw in clean_output(output).splitlines())
    lines = (_GATE_LABEL.sub("", line) for line in stripped)
    return [
        safe_text(one_line(re.sub(r"\.{4,}", " ", line), MAX_ERROR))
        for line in lines
        if re.search(r"[A-Za-z]{3}", line)
    ]


def gate_error(output: str) -> CallError | None:
    """Return the line of a gate's output that tells most of why, and its advice."""
    if hook := _HOOK_ID.search(output):
        return CallError(safe_text(one_line(f"{hook[1]} failed", MAX_ERROR)), "", ErrorKind.CALL)
    lines = gate_lines(output)
    telling = [one for one in lines if _GATE_TELLS.search(one) and not _GATE_HEADER.match(one)]
    line = next(iter([*telling, *lines]), "")
    hint = next((one for one in lines if _ADVICE.search(one) and one != line), "")
    return CallError(line.rstrip(" .:"), hint, ErrorKind.CALL) if line else None


def is_gate_output(call: ToolCall) -> bool:
    """Tell whether a hook or a check stopped a call, rather than that it failed by itself."""
    if call.outcome is CallOutcome.BLOCKED_BY_HOOK:
        return True
    if call.outcome is not CallOutcome.FAILED or not call.is_shell:
        return False
    if CI_CHECK.search(call.arguments) is not None:
        return True
    return call.intent in {"git commit", "git push"} and _HOOK.search(call.output) is not None


def read_error(output: str, step: Step) -> CallError | None:
    """Extract the error from a failed step's output; ``None`` when no line of it says anything."""
    line = _telling(own_lines(output))
    text = one_line(_LEAD.sub("", line.strip("✖×❌✘✗ ")), MAX_ERROR).rstrip(" .:")
    if not re.search(r"[^\W\d_]{3}", text):
        return None
    return CallError(text, _hint(_lines(output), line), _kind(error_in_english(line), step))


def _lines(output: str) -> list[str]:
    stripped = (line.strip(" \t│┃|>~^") for line in clean_output(output).splitlines())
    return [line for line in stripped if line and not _EXIT.match(line)]


def _telling(lines: list[str]) -> str:
    """The line that names the error: one that speaks of the call before others."""
    about = [line for line in lines if _about_call(error_in_english(line))]
    strong = next((line for line in about if _STRONG.search(error_in_english(line))), "")
    named = telling_line(lines)
    return strong or (named if is_telling(named) else next(iter(about), named))


def _about_call(line: str) -> bool:
    match = _CALL.search(line) or _NAME.search(line)
    return match is not None and not _CODE.search(line) and not line.lower().startswith("hint:")


def _kind(line: str, step: Step) -> ErrorKind:
    if _CODE.search(line):
        return ErrorKind.CODE
    if _CALL.search(line):
        return ErrorKind.CALL
    if _NAME.search(line):
        return ErrorKind.NAME
    return ErrorKind.CODE if runs_code(step) else ErrorKind.CALL


def _hint(lines: list[str], telling: str) -> str:
    """What the tool advises right after the telling line, with a command it announces."""
    start = next((place for place, line in enumerate(lines) if line == telling), len(lines))
    for place, line in enumerate(lines[start + 1 : start + 8], start + 1):
        if _ADVICE.search(line) and not _TURN_OFF.search(line):
            announces = line.endswith((":", " use", " run")) and place + 1 < len(lines)
            whole = f"{line} {lines[place + 1]}" if announces else line
            bare = re.sub(r"^\W*(?:(?:hint|error|note|help):\s*)?", "", whole, flags=re.IGNORECASE)
            return one_line(bare, _MAX_HINT)
    return ""
