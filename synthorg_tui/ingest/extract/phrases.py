"""Words for what happened: short, concrete, made only of what the record holds."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import SHELL_TOOLS, Execution, ToolCall
from synthorg_tui.executions.output_lines import TITLE, clean_output, headline, one_line

_REDIRECTED = re.compile(r"\s*(?:2>&1|2>\s*/dev/null|>\s*/dev/null|&>\s*/dev/null)")
_MARKDOWN = re.compile(r"\*\*|`|^#{1,6}\s+", re.MULTILINE)
_MESSAGE_START = re.compile(r"\s*(?:-a?m\s*)?[\"']?\$\(\s*cat\s*$")
_COMMIT_LINE = re.compile(r"^\[\S+(?: \([^)]*\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)


def paragraph(text: str, limit: int) -> str:
    """Plain prose of a message: no markdown emphasis, no blank lines, capped."""
    plain = _MARKDOWN.sub("", text)
    lines = (" ".join(line.split()) for line in plain.splitlines())
    joined = "\n".join(line for line in lines if line)
    return joined if len(joined) <= limit else f"{joined[: limit - 1].rstrip()}…"


def first_sentence(text: str, limit: int = TITLE) -> str:
    """The first sentence of a message, on one line."""
    plain = paragraph(text, 2_000).partition("\n")[0]
    end = re.search(r"(?<=[.!?:])\s", plain)
    return one_line(plain[: end.start()] if end else plain, limit).rstrip(":")


def reason(call: ToolCall) -> str:
    """Why the call failed; a hook's whole message, since it was written for a reader."""
    if call.outcome is CallOutcome.BLOCKED_BY_HOOK:
        return one_line(clean_output(call.output), 240)
    return headline(call.output)


def what(call: ToolCall, execution: Execution, limit: int = 120) -> str:
    """The call as a person would name it: the command, or the tool and the file."""
    if call.tool.lower() in SHELL_TOOLS:
        command = _REDIRECTED.sub("", call.arguments)
        whole = " ".join(_MESSAGE_START.sub("", command.partition("<<")[0]).split())
        if len(whole) > limit:
            whole = " && ".join(step.intent for step in command_steps(call.arguments)) or whole
        return one_line(whole, limit)
    return one_line(relative_text(call.intent, execution), limit)


def relative_text(text: str, execution: Execution) -> str:
    """``text`` with paths inside the project made relative."""
    return text.replace(f"{execution.project}/", "") if execution.project else text


def file_list(paths: Iterable[str], execution: Execution, limit: int = 8) -> str:
    """Some of the files, relative to the project, and how many more there are."""
    names = [relative_text(path, execution) for path in dict.fromkeys(paths)]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"


def changed_files(calls: Iterable[ToolCall]) -> list[str]:
    """Files that the calls wrote."""
    found: dict[str, None] = {}
    for call in calls:
        verb, _, path = call.intent.partition(" ")
        if verb in {"edit", "write"} and path and call.outcome is CallOutcome.OK:
            found.update(dict.fromkeys(path.split(", ")))
    return list(found)


def command_counts(calls: Iterable[ToolCall], limit: int = 6) -> str:
    """The most used commands with their counts: ``mix test 6 times, git push``."""
    counts = Counter(call.intent for call in calls if call.tool.lower() in SHELL_TOOLS)
    return ", ".join(
        intent if count == 1 else f"{intent} {count} times"
        for intent, count in counts.most_common(limit)
    )


def commit_of(call: ToolCall) -> tuple[str, str] | None:
    """Short hash and subject of the commit that a call made, as git reported it."""
    if call.outcome is not CallOutcome.OK or "git" not in call.arguments:
        return None
    match = _COMMIT_LINE.search(call.output)
    return (match[1][:10], match[2].strip()) if match and "commit" in call.arguments else None


def commit_body(call: ToolCall) -> str:
    """The commit message's text below its subject, from the command; trailers left out."""
    match = re.search(r"<<-?\s*['\"]?(\w+)['\"]?\n(.*?)\n\s*\1\b", call.arguments, re.DOTALL)
    lines = match[2].strip().splitlines()[1:] if match else []
    kept = [line for line in lines if not re.match(r"\s*(?:Co-Authored-By|Signed-off-by):", line)]
    return paragraph("\n".join(kept), 600)


_STARTING = re.compile(
    r"(?:(?:ok(?:ay)?|good|right|now|great|perfect|next)\b[\s,.!—-]*)*"
    r"(?:let me|i'll|i will|i need to)\b",
    re.IGNORECASE,
)


def conclusion(texts: Sequence[str], least: int = 80) -> str:
    """The last message that says how something ended, not what comes next; empty without one."""
    for text in reversed(texts[-4:]):
        if len(text) >= least and not _STARTING.match(text.strip()):
            return text
    return ""


def project_name(execution: Execution) -> str:
    """Last part of the project's path; empty when unknown."""
    return PurePosixPath(execution.project.replace("\\", "/")).name if execution.project else ""


def place(execution: Execution, before: str = "In") -> str:
    """``<before> <project> on branch <branch>`` as far as known; empty when nothing is."""
    name = project_name(execution)
    branch = f" on branch {execution.branch}" if execution.branch else ""
    return f"{before} {name}{branch}" if name or branch else ""


def differences(first: ToolCall, fix: ToolCall) -> str:
    """What a second attempt left out or added, when that is little: ``without x``, ``with -f``."""
    before, after = first.arguments.split(), fix.arguments.split()
    dropped = [word for word in dict.fromkeys(before) if word not in after]
    added = [word for word in dict.fromkeys(after) if word not in before]
    parts = [
        f"{name} {' '.join(words)}"
        for name, words in (("without", dropped), ("with", added))
        if 0 < len(words) <= 3
    ]
    return one_line(" and ".join(parts), 120) if len(dropped) + len(added) <= 6 else ""


def sentences(parts: Sequence[str], limit: int) -> str:
    """Non-empty parts as lines, dropped from the end where they exceed ``limit``."""
    text = ""
    for part in parts:
        if part and len(text) + len(part) + 1 <= limit:
            text = f"{text}\n{part}" if text else part
    return text
