"""Words for what happened: short, concrete, made only of what the record holds.

Phrases of a memory, about one run as it was; those of a lesson, which hold for the next time, are
in ``learning.phrases``. They are stored, and tell a memory from one imported before.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import Execution, ToolCall
from synthorg_tui.executions.output_lines import TITLE, clean_output, headline, one_line

_REDIRECTED = re.compile(r"\s*(?:2>&1|2>\s*/dev/null|>\s*/dev/null|&>\s*/dev/null)")
_MARKDOWN = re.compile(r"\*\*|`|^#{1,6}\s+", re.MULTILINE)
_MESSAGE_START = re.compile(r"\s*(?:-a?m\s*)?[\"']?\$\(\s*cat\s*$")
_TRAILER = re.compile(r"\s*(?:Co-Authored-By|Signed-off-by):")
_STARTING = re.compile(
    r"(?:(?:ok(?:ay)?|good|right|now|great|perfect|next)\b[\s,.!—-]*)*"
    r"(?:let me|i'll|i will|i need to)\b",
    re.IGNORECASE,
)


def paragraph(text: str, limit: int) -> str:
    """Return a message as plain prose of at most ``limit`` characters.

    Markdown emphasis and blank lines are removed.
    """
    plain = _MARKDOWN.sub("", text)
    lines = (" ".join(line.split()) for line in plain.splitlines())
    joined = "\n".join(line for line in lines if line)
    return joined if len(joined) <= limit else f"{joined[: limit - 1].rstrip()}…"


def first_sentence(text: str, limit: int = TITLE) -> str:
    """Return the first sentence of a message, on one line of at most ``limit`` characters."""
    plain = paragraph(text, 2_000).partition("\n")[0]
    end = re.search(r"(?<=[.!?:])\s", plain)
    return one_line(plain[: end.start()] if end else plain, limit).rstrip(":")


def reason(call: ToolCall) -> str:
    """Return why a call failed: a hook's whole message, else the output's most informative line."""
    if call.outcome is CallOutcome.BLOCKED_BY_HOOK:
        return one_line(clean_output(call.output), 240)
    return headline(call.output)


def what(call: ToolCall, execution: Execution, limit: int = 120) -> str:
    """Return a call as a person would name it: the command, or the tool and the file."""
    if call.is_shell:
        command = _REDIRECTED.sub("", call.arguments)
        whole = " ".join(_MESSAGE_START.sub("", command.partition("<<")[0]).split())
        if len(whole) > limit:
            whole = " && ".join(step.intent for step in command_steps(call.arguments)) or whole
        return one_line(whole, limit)
    return one_line(execution.relative(call.intent), limit)


def file_list(paths: Iterable[str], execution: Execution, limit: int = 8) -> str:
    """Return the first ``limit`` files, relative to the project, and how many more there are."""
    names = [execution.relative(path) for path in dict.fromkeys(paths)]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"


def changed_files(calls: Iterable[ToolCall]) -> list[str]:
    """Return the paths of the files that the calls wrote, each once."""
    paths = (path for call in calls if (path := call.changed_path))
    return list(dict.fromkeys(part for path in paths for part in path.split(", ")))


def command_counts(calls: Iterable[ToolCall], limit: int = 6) -> str:
    """Return the most used commands with their numbers: ``mix test 6 times, git push``."""
    counts = Counter(call.intent for call in calls if call.is_shell)
    return ", ".join(
        intent if count == 1 else f"{intent} {count} times"
        for intent, count in counts.most_common(limit)
    )


def commit_body(call: ToolCall) -> str:
    """Return the commit message below its subject, without trailers, as given in the command.

    Empty when there is none.
    """
    match = re.search(r"<<-?\s*['\"]?(\w+)['\"]?\n(.*?)\n\s*\1\b", call.arguments, re.DOTALL)
    lines = match[2].strip().splitlines()[1:] if match else []
    prose = [line for line in lines if not _TRAILER.match(line)]
    return paragraph("\n".join(prose), 600)


def conclusion(texts: Sequence[str], least: int = 80) -> str:
    """Return the last of the messages that says how something ended; empty when none does.

    Messages of fewer than ``least`` characters, or about what comes next, are passed over.
    """
    for text in reversed(texts[-4:]):
        if len(text) >= least and not _STARTING.match(text.strip()):
            return text
    return ""


def place(execution: Execution, before: str = "In") -> str:
    """Return ``<before> <project> on branch <branch>`` as far as known; empty when neither is."""
    name = execution.project_name
    branch = f" on branch {execution.branch}" if execution.branch else ""
    return f"{before} {name}{branch}" if name or branch else ""


def place_sentence(execution: Execution, before: str = "In") -> str:
    """Return the place as a sentence; empty when it is unknown."""
    where = place(execution, before)
    return f"{where}." if where else ""


def duration(execution: Execution) -> str:
    """Return the day and minutes of an execution, to follow a place; empty when unknown."""
    if execution.started_at is None or execution.ended_at is None:
        return ""
    minutes = round((execution.ended_at - execution.started_at).total_seconds() / 60)
    day = f" on {execution.started_at:%Y-%m-%d}"
    return f"{day} for {minutes} min" if minutes else day


def differences(first: ToolCall, fix: ToolCall) -> str:
    """Return the words that a second attempt left out or added: ``without x``, ``with -f``.

    Empty when they are more than six.
    """
    before, after = (_REDIRECTED.sub("", call.arguments).split() for call in (first, fix))
    dropped = [word for word in dict.fromkeys(before) if word not in after]
    added = [word for word in dict.fromkeys(after) if word not in before]
    parts = [
        f"{name} {' '.join(words)}"
        for name, words in (("without", dropped), ("with", added))
        if 0 < len(words) <= 3
    ]
    return one_line(" and ".join(parts), 120) if len(dropped) + len(added) <= 6 else ""


def remedy(
    execution: Execution,
    attempts: tuple[ToolCall, ToolCall],
    files: Sequence[str],
    steps: Sequence[str],
) -> str:
    """Return how the second attempt worked, to follow what was attempted: ``worked with -f``.

    ``attempts`` are the first attempt and the last; ``files`` were changed and ``steps`` were run
    between them.
    """
    first, fix = attempts
    if files:
        return f"fixed in {_names(files)}"
    if change := differences(first, fix):
        return f"worked {change}"
    command = what(fix, execution, 60)
    if command != what(first, execution, 60):
        return f"worked as {command}"
    return f"worked after {steps[-1]}" if steps else "worked later"


def _names(files: Sequence[str]) -> str:
    names = [PurePosixPath(path.replace("\\", "/")).name for path in files]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return f"{', '.join(names[:2])}{more}"


def within(parts: Iterable[str], limit: int) -> str:
    """Join non-empty parts as lines; a part that would exceed ``limit`` characters is left out."""
    text = ""
    for part in parts:
        if part and len(text) + len(part) + 1 <= limit:
            text = f"{text}\n{part}" if text else part
    return text
