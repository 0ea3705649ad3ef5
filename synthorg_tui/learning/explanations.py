"""The agent's own explanation of a failure: one sentence close to it that says what the cause was.

It is what an agent said, never an instruction: a lesson quotes it as its reason. Only a sentence
that shares names with the failure counts, and none that the person contradicted afterwards.
"""

import re
from collections.abc import Iterator

from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.executions.requests import is_pasted
from synthorg_tui.learning.failure_words import FAILURES
from synthorg_tui.learning.phrases import clean

_MAX, _LEAST = 220, 25
_HEAD = 600
"""Characters of a command in which names are looked for."""
_SHARED = 2
"""Names of the failure that its explanation has to share, one of them with the error."""
_AFTER = 12
"""Lines of a transcript after the call that worked in which it may still be explained."""
_STRONG = (
    r"because|turns? out|turned out|caused? by|root cause|due to|is why|that's why|which (?:means"
    r"|explains)|the (?:issue|problem|cause|reason|catch|culprit)\b.{0,40}\b(?:is|was)"
)
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for not with error failed fails fatal run this that from have was are but its you"
        " command file files code output line such exit status process call tool use using when",
    )
)


def quoted(said: str) -> str:
    """Return an explanation as a sentence that quotes it as the agent's; "" of none."""
    return f"The agent said of it: “{said}”." if said else ""


def explanation(execution: Execution, failed: ToolCall, last: ToolCall, error: str) -> str:
    """Return the sentence that explains why ``failed`` failed, at most 220 characters; mostly "".

    It was said between that call and shortly after ``last``, the call that worked.
    """
    return max(_candidates(execution, failed, last, error), default=(0, 0, ""))[2]


def _candidates(
    execution: Execution, failed: ToolCall, last: ToolCall, error: str
) -> Iterator[tuple[int, int, str]]:
    """The sentences that may explain it, each with the number of names that it shares."""
    of_error, of_call = _names(error), _names(failed.arguments[:_HEAD])
    end = last.last_line + _AFTER
    turns = [turn for turn in execution.turns if failed.call_line <= turn.first_line <= end]
    for place, turn in enumerate(turns):
        if turn.role != "assistant" or _is_contradicted(turns[place + 1 :]):
            continue
        for sentence in FAILURES["sentence"].split(turn.text.replace("\u2019", "'")):
            told = sentence.strip(" -*#>|")
            if (
                not (_LEAST < len(told) <= 2 * _MAX)
                or FAILURES["plan"].match(told)
                or is_pasted(told)
            ):
                continue
            names = _names(told)
            shared = len(names & (of_error | of_call))
            if FAILURES["cause"].search(told) and shared >= _SHARED and names & of_error:
                plain = FAILURES["its_plan"].sub("", told.replace("**", "")).rstrip(" .,;")
                yield shared, -place, clean(redact_text(plain, RedactionTally()), _MAX)


def _is_contradicted(later: list[Turn]) -> bool:
    answer = next((turn for turn in later if turn.role == "user"), None)
    return answer is not None and FAILURES["contradicts"].match(answer.text) is not None


def _names(text: str) -> set[str]:
    """The names in a text, in lower case, with the parts of paths and options."""
    found = {name.strip(".:/-").casefold() for name in FAILURES["explanations_name"].findall(text)}
    parts = {part for name in found for part in re.split(r"[/:]", name)}
    return {name for name in found | parts if len(name) > 2} - _COMMON
