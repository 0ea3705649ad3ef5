"""Titles of what an agent did: one line that says what was asked and what came of it.

The list of sessions and the memories of an import begin with them. They are made of what the record
holds, without any model: the name that the agent's own program gave the session, pull requests and
commits, the agent's last words, the files it changed, and the first request that says something.
What in a message says something is for ``requests``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from synthorg_tui.core.enums import CallOutcome, ExecutionOutcome
from synthorg_tui.core.text import compiled, counted, safe_text
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.erased_lines import ERASED_TEXT
from synthorg_tui.executions.models import Execution, ToolCall, Turn
from synthorg_tui.executions.output_lines import clean_output, headline, one_line
from synthorg_tui.executions.requests import conclusion_of, is_trivial, request_of

MAX_TITLE: Final = 100
TELLING: Final = 60
"""Characters of a title by which it must differ from its neighbours: that many are always shown."""
_ASKED: Final = 48
_CUT: Final = 36
"""A request longer than ``_ASKED`` is cut to this, so that what came of it is seen beside it."""
_MAX_REQUESTS: Final = 200
_COMMIT_LINE = r"(?m)^\[\S+(?: \([^)]*\))? ([0-9a-f]{7,40})\] (.+)$"
_NEW = r"(?:feat|chore)(?:\([^)]{1,40}\))?!?:\s+"
_IN_BRACKETS = r"\s*[(\[][\w.#/-]{1,24}[)\]]\s*$"
_PULL_REQUEST = r"https?://\S+/(?:pull|pulls|merge_requests)/(\d+)"
_PR_TITLE = r"--title[= ](?:\"([^\"]{1,200})\"|'([^']{1,200})'|(\S{1,200}))"
_FOLDERS = r"(?<![^\s(\"'=])(?:[\w.+@~-]*/){2,}(?=[\w.])"
_RUNNER_NOISE = (
    r"(?m)^(?:npm (?:error|ERR!|warn)|> |\S+@\d|error Command failed|Checked \d+ files"
    r"|\(no output\)|Command exited with).*$"
)
_TYPE_ERROR = r"\bTS\d+: .*"
_ERASED: Final = "A session that a person had erased"
_LAST: Final = 6
_WEAK: Final = ("changed ", "ran ", "read ", "used ")
"""Outcomes that say less than what was asked for."""
_LOOKING: Final = frozenset(
    {"ls", "cat", "head", "tail", "grep", "rg", "find", "sed", "wc", "tree", "pwd", "which", "stat"}
    | {"for", "do", "done", "while", "if", "then", "fi", "else", "test"}
)
"""What says little of what was done: commands that only look, and words of the shell's."""
_UNNAMED = (
    r"(?i)(?:(?:new|child|untitled|unnamed|cli|default)\b ?)+(?:session|chat|agent|task|thread"
    r"|conversation)?(?: - .*)?"
)


def session_title(execution: Execution) -> str:
    """Return what happened in a session, on one safe line of at most ``MAX_TITLE`` characters."""
    requests = [turn for turn in execution.turns if turn.role != "assistant"]
    answers = [turn for turn in execution.turns if turn.role == "assistant"]
    titles = part_titles(execution, requests, answers, execution.calls, name=execution.summary)
    return next(titles)


def part_titles(
    execution: Execution,
    requests: Sequence[Turn],
    answers: Sequence[Turn],
    calls: Sequence[ToolCall],
    *,
    name: str = "",
) -> Iterator[str]:
    """Yield titles for a part of an execution, the best first; there is always one.

    ``requests``, ``answers`` and ``calls`` are those of that part. ``name`` is what the agent's own
    program calls it.
    """
    requests, answers = (
        [turn for turn in turns if turn.text != ERASED_TEXT] for turns in (requests, answers)
    )
    calls = [call for call in calls if call.intent != ERASED_TEXT]
    first = requests[:_MAX_REQUESTS]
    asked = _named(name) or next(filter(None, (request_of(turn.text) for turn in first)), "")
    outcomes = list(_outcomes(execution, answers, calls))
    if len(asked) > _ASKED and len(commit_subjects(calls)) > 1 and not _named(name):
        yield _alone(outcomes[0])
    at = (requests[0].at if requests else None) or execution.started_at
    ending = _ending(execution, at)
    if asked:
        yield from (_pair(asked, outcome) for outcome in outcomes[:1])
        yield _title(asked if outcomes else f"{one_line(asked, 2 * _ASKED - 20)}{ending}")
        yield from (_pair(asked, outcome) for outcome in outcomes[1:])
    yield from map(_alone, outcomes)
    words = next((turn.text for turn in requests if turn.text.strip()), execution.task)
    told = _ERASED if words == ERASED_TEXT else one_line(words, _ASKED)
    yield _title(f"{told or 'Nothing asked'}{ending}")


def unused_title(titles: Iterator[str], used: Collection[str]) -> str:
    """Return the first of the titles that differs from ``used`` ones where it is always shown.

    When none does, the last one is numbered.
    """
    title = ""
    for title in titles:
        if seen_of(title) not in used:
            return title
    start = one_line(title, TELLING - 6)
    numbered = (f"{start} ({number})" for number in range(2, len(used) + 3))
    return next(each for each in numbered if seen_of(each) not in used)


def seen_of(title: str) -> str:
    """Return that of a title by which a reader tells it from others."""
    return title[:TELLING].casefold()


def commit_of(call: ToolCall) -> tuple[str, str] | None:
    """Return the short hash and the subject of the commit that a call made, as git printed them.

    ``None`` when it made none.
    """
    if call.outcome is not CallOutcome.OK or "git" not in call.arguments:
        return None
    match = compiled(_COMMIT_LINE).search(call.output)
    return (match[1][:10], match[2].strip()) if match and "commit" in call.arguments else None


def commit_subjects(calls: Sequence[ToolCall]) -> list[str]:
    """Return the subjects of the commits that calls made, each once."""
    subjects = [commit[1] for call in calls if (commit := commit_of(call))]
    return list(dict.fromkeys(subjects))


def commit_title(commit: tuple[str, str]) -> str:
    """Return the subject of a commit; one that says nothing is told apart by its hash."""
    short_hash, subject = commit
    return _title(f"{subject} (commit {short_hash})" if is_trivial(subject) else subject)


def recovery_titles(failed: ToolCall, remedy: str, times: int = 1) -> Iterator[str]:
    """Yield titles that say what was solved, by what, and what had failed; the best first.

    ``failed`` is the call that failed, ``times`` how often it did, ``remedy`` how the same worked
    in the end (``worked after mix format``).
    """
    what = failed.intent
    if failed.is_shell and (steps := command_steps(failed.arguments)):
        words = " ".join(steps[-1].words[:3])
        what = words if what.endswith(" run") and len(words) <= _CUT else what
    reasons = (
        "blocked by a hook" if failed.outcome is CallOutcome.BLOCKED_BY_HOOK else "",
        f"failed {times} times" if times > 1 else "",
        _cause(failed.output),
    )
    reason = ", ".join(filter(None, reasons))
    what, how = compiled(_FOLDERS).sub("", what), compiled(_FOLDERS).sub("", remedy)
    yield _title(f"{what} {how}: {reason}" if reason else f"{what} {how}")
    yield _title(f"{what}: {reason} → {how}")


def _cause(output: str) -> str:
    """The line of an error that tells most, without the noise of runners, folders and marks."""
    clean = clean_output(output)
    telling = compiled(_TYPE_ERROR).search(clean)
    line = telling[0] if telling else headline(compiled(_RUNNER_NOISE).sub("", clean))
    return compiled(_FOLDERS).sub("", compiled(r"^(?:\[\w\]\s*)?\W+").sub("", line))


def _title(text: str) -> str:
    return one_line(safe_text(one_line(text, 2 * MAX_TITLE)), MAX_TITLE).rstrip(" .,:;—-→")


def _named(name: str) -> str:
    """The name that the agent's program gave; empty for a placeholder and for chatter."""
    line = one_line(name, MAX_TITLE)
    is_nothing = line == ERASED_TEXT or is_trivial(line) or compiled(_UNNAMED).fullmatch(line)
    return "" if is_nothing else line


def _pair(asked: str, outcome: str) -> str:
    outcome = outcome.removeprefix("1 commit: ")
    if outcome.casefold().startswith(asked.casefold().rstrip(".")):
        return _alone(outcome)
    room = MAX_TITLE - 3 - len(outcome) if outcome.startswith(_WEAK) else 0
    short = asked if len(asked) <= _ASKED else one_line(asked, max(_CUT, room))
    return _title(f"{short.rstrip(' .:;,')} → {outcome}")


def _alone(outcome: str) -> str:
    return _title(outcome[:1].upper() + outcome[1:])


def _outcomes(
    execution: Execution, answers: Sequence[Turn], calls: Sequence[ToolCall]
) -> Iterator[str]:
    """What came of it, the most telling first: published, committed, said, changed, run."""
    yield from _pull_requests(calls)
    if commits := [_short(subject) for subject in commit_subjects(calls)]:
        yield f"{counted(len(commits), 'commit')}: {'; '.join(commits)}"
    if said := _last_words(answers, calls):
        yield said
    changed = (path for call in calls for path in (call.changed_path or "").split(", "))
    yield from _first("changed", map(_file_name, changed))
    failed = execution.outcome is ExecutionOutcome.FAILED
    if failed and execution.error not in ("", ERASED_TEXT):
        yield f"ended with {one_line(execution.error, TELLING)}"
    ran = [call.intent for call in calls if call.is_shell and call.intent != call.tool.lower()]
    yield from _first("ran", (intent for intent in ran if intent not in _LOOKING))
    read = (call.intent for call in calls if call.intent.startswith("read "))
    yield from _first("read", (_file_name(intent) for intent in read))
    yield from _first("ran", (intent for intent in ran if intent in _LOOKING))
    yield from filter(None, (conclusion_of(turn.text) for turn in answers[: -_LAST - 1 : -1]))
    yield from _first("used", (call.tool for call in calls))


def _first(verb: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the verb with the first of the names, when there are any."""
    each = list(dict.fromkeys(filter(None, names)))
    if each:
        more = f" and {len(each) - 3} more" if len(each) > 3 else ""
        yield f"{verb} {', '.join(each[:3])}{more}"


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2].removeprefix("read ")


def _pull_requests(calls: Sequence[ToolCall]) -> Iterator[str]:
    for call in calls:
        if call.outcome is CallOutcome.OK and call.is_shell and " create" in call.arguments:
            link = compiled(_PULL_REQUEST).search(call.output)
            title = compiled(_PR_TITLE).search(call.arguments)
            if link and title:
                yield f"pull request {link[1]}: {title[1] or title[2] or title[3]}"


def _last_words(answers: Sequence[Turn], calls: Sequence[ToolCall]) -> str:
    """What the agent said when it was done: nothing was called after it."""
    last = answers[-1] if answers else None
    if last is None or (calls and last.first_line < calls[-1].call_line):
        return ""
    return conclusion_of(last.text)


def _short(subject: str) -> str:
    """A commit's subject without what takes room: that it is new, and an identifier at its end."""
    short = re.sub(_IN_BRACKETS, "", re.sub(rf"\A{_NEW}", "", subject))
    return short or subject


def _ending(execution: Execution, at: datetime | None) -> str:
    """How something without an outcome ended, or when it was; begins with a separator."""
    if execution.outcome is ExecutionOutcome.INTERRUPTED:
        return " → interrupted"
    return f" ({at:%d %b %H:%M})" if at else ""
