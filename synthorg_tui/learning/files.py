"""Edits and reads that failed and then worked: why, as far as it holds for the next time.

One cause is one lesson whatever the file, so that occurrences add up. Most failing edits are slips
of the moment and teach nothing; those here have a reason that will come again.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.executions.commands import command_steps
from synthorg_tui.executions.models import (
    MAX_REPORTED_RECOVERIES,
    Execution,
    ToolCall,
    slug,
)
from synthorg_tui.executions.output_lines import clean_output, headline
from synthorg_tui.executions.recoveries import MAX_BETWEEN, resolved_failures
from synthorg_tui.learning.captured import Captured, incident_payload
from synthorg_tui.learning.lessons import LessonWords, grounded_lesson
from synthorg_tui.learning.phrases import clean, name_of
from synthorg_tui.learning.preparations import edited_text

FILE_TAG = "files"
_CERTAINTY = 0.7
_SLIP = 0.3
"""The certainty of what may be a slip of the moment: only several sessions make it a lesson."""
_MAX_FOUND = 6
"""How many calls later a file that wasn't there may be found."""
_LIKENESS = 0.8
"""The share of words that two texts have in common when one is the other, put into form."""
_CHANGED = re.compile(r"modified since|changed since|has been modified", re.IGNORECASE)
_NO_MATCH = re.compile(
    r"to replace not found|could not find (?:the )?(?:exact|old|specified)? ?(?:text|string)"
    r"|old_?(?:string|text|str)\W.{0,40}not (?:found|appear)|0 occurrences|did not appear verbatim"
    r"|does not match anything|failed to find (?:expected lines|context)"
    r"|no match(?:es)? (?:was |were )?found|(?:old )?(?:text|string|snippet|block|content)\W.{0,60}"
    r"(?:not found|(?:does not|doesn't) (?:exist|appear|match))|no occurrences? of"
    r"|search block.{0,40}(?:not found|failed|no match)",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"exceeds (?:the )?max\w* (?:allowed )?(?:tokens|size|lines|file)|too large to read"
    r"|file is too large",
    re.IGNORECASE,
)
_MISSING = re.compile(r"does not exist|no such file|file not found|enoent", re.IGNORECASE)
_OTHER_TOOL = re.compile(
    r"\b[Uu]se (?:the )?(?P<tool>[A-Z]\w{3,30})(?: tool)? (?:to|instead|for)\b"
)
_REWRITES = re.compile(
    r"--write\b|--fix\b|\bfmt\b|\bgofmt -w|\bblack\b(?! --check)|\bisort\b|\brubocop -[aA]\b"
    r"|\b(?:ruff|mix|biome|deno|dart|swift|terraform|dotnet) (?:format|fmt)\b(?! --check)"
)
_REWROTE = re.compile(
    r"\b[Ff]ixed [1-9]\d* files?|\breformatted\b[^\n]{0,60}|[1-9]\d* files? (?:re)?formatted"
    r"|files were modified by this hook"
)
"""What a command says that did rewrite files."""
_RUNS_REWRITER = re.compile(
    r"(?:biome|prettier|eslint|ruff|rubocop|stylelint)\b[^\n&|;]{0,60}--(?:write|fix)\b"
)
_OTHER_FILES = re.compile(
    r"\bgit (?:-C \S+ )?(?:checkout|switch|pull|merge|rebase|stash|reset|restore|revert|worktree)\b"
)
"""What puts other files in place, so that it isn't known what changed this one."""
_UNTOUCHED = re.compile(r"no fixes applied|left unchanged|no changes|all matched files", re.I)
_RANGE = ("offset", "limit", "start_line", "end_line", "view_range", "line_range", "range")
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t|: |\|)", re.MULTILINE)
_EVERYWHERE = re.compile(
    r"__init__\.py|index\.\w+|main\.\w+|mod\.rs|lib\.rs|README.*|package\.json|Makefile|Dockerfile"
    r"|conftest\.py|\.gitignore|settings\.\w+|utils\.\w+|types\.\w+|setup\.\w+|AGENTS\.md|CLAUDE\.md"
)
"""Names that files in many folders have."""
_VERBS = ("edit", "write", "read")


@dataclass(frozen=True, slots=True)
class FileTrouble:
    """A read or edit of a file that failed, with what then worked.

    ``situation`` tells the cause from others, whatever the file; ``words`` are the lesson's.
    ``between`` is what was done in between and belongs to the cause, ``certainty`` in [0, 1] how
    certain one occurrence makes it.
    """

    failed: ToolCall
    worked: ToolCall
    situation: str
    words: LessonWords
    between: tuple[str, ...] = ()
    certainty: float = _CERTAINTY


class FileCaptureStrategy:
    """Draws lessons from reads and edits of files that failed for a reason that comes again."""

    name: str = "files"

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """Return a lesson for each such failure; for the first ones of a reported run."""
        most = MAX_REPORTED_RECOVERIES if execution.is_reported else None
        found = islice(find_file_troubles(execution), most)
        return tuple(_captured(execution, trouble) for trouble in found)

    def stands_out(self, captured: Captured, qualities: Sequence[float]) -> bool:
        """Return true for a lesson about files."""
        return captured.lesson.kind is LessonKind.FILE


def find_file_troubles(execution: Execution) -> Iterator[FileTrouble]:
    """Yield the failing reads and edits of a run of which the cause is plain, in order.

    What a tool says itself is none: that a file has to be read, or read again, before an edit.
    """
    calls = execution.calls
    answers = dict(resolved_failures(calls, _failed))
    for position, call in enumerate(calls):
        if not _failed(call):
            continue
        said = clean_output(call.output)
        end = answers.get(position)
        near = end is not None and end - position - 1 <= MAX_BETWEEN
        trouble = _of_same_file(calls, position, end, said) if end is not None and near else None
        trouble = trouble or _other_tool(calls, position, said)
        trouble = trouble or _elsewhere(execution, position, said)
        if trouble is not None:
            yield trouble


def _failed(call: ToolCall) -> bool:
    return call.outcome is CallOutcome.FAILED and _verb(call) in _VERBS


def _verb(call: ToolCall) -> str:
    verb, _, path = call.intent.partition(" ")
    return verb if path and not call.is_shell else ""


def _path(call: ToolCall) -> str:
    return call.intent.partition(" ")[2].replace("\\", "/")


def _of_same_file(
    calls: Sequence[ToolCall], position: int, end: int, said: str
) -> FileTrouble | None:
    failed, worked = calls[position], calls[end]
    if _TOO_LARGE.search(said):
        return _too_large(failed, worked)
    if _CHANGED.search(said) or _NO_MATCH.search(said):
        return _rewritten(calls, position, worked, said) or _copied_badly(failed, worked)
    return None


def _too_large(failed: ToolCall, worked: ToolCall) -> FileTrouble | None:
    given = [name for name in _RANGE if name in _arguments(worked)]
    if _verb(failed) != "read" or not given or any(name in _arguments(failed) for name in given):
        return None
    options = " and ".join(f"`{name}`" for name in given[:2])
    words = LessonWords(
        name="read-file-too-large",
        title=f"Read large files in parts, with {options}",
        when="you read a file that may be long, or a read was refused as too large.",
        do=f"Give {options} to read the part you need; search the file first to find it.",
        why="The reading tool refuses files above its limit; the same file could be read in parts.",
        check="The read returns the lines asked for.",
    )
    return FileTrouble(failed, worked, "read of a file too large", words)


def _rewritten(
    calls: Sequence[ToolCall], position: int, worked: ToolCall, said: str
) -> FileTrouble | None:
    """A command put the file into another form after the agent last saw it."""
    failed = calls[position]
    path = _path(failed)
    if not (_CHANGED.search(said) or _alike(edited_text(failed)[0], edited_text(worked)[0])):
        return None
    seen = [at for at in range(position) if _path(calls[at]) == path and _ok(calls[at])]
    after = calls[seen[-1] + 1 : position] if seen else ()
    if any(call.is_shell and _OTHER_FILES.search(call.arguments) for call in after):
        return None
    found = max(map(_rewriting, reversed(after)), key=lambda one: one[0], default=(0, "", ""))
    if not found[0]:
        return None
    command, sign = clean(found[1], 40), clean(found[2], 80)
    told = f" (“{sign}”)" if sign else ""
    words = LessonWords(
        name="-".join(["edit-after", *slug(command).split("-")[:3]]),
        title=f"Read a file again after `{command}` before you edit it",
        when=f"you edit a file after `{command}`, or an edit after it doesn't find its text.",
        do=f"After `{command}` read the file again, and copy the text to replace from there.",
        why=f"`{command}` puts files into form{told}, so that text from before no longer matches;"
        " after reading again the edit worked.",
        check="The edit finds its text the first time.",
    )
    return FileTrouble(failed, worked, f"edit after {command}", words, (command,))


def _alike(before: str, after: str) -> bool:
    """Whether two texts have the same words, though not the same form."""
    one, other = (Counter(re.findall(r"\w+", text)) for text in (before, after))
    most = max(one.total(), other.total())
    return most > 0 and before != after and (one & other).total() / most >= _LIKENESS


def _rewriting(call: ToolCall) -> tuple[int, str, str]:
    """How sure it is that a command rewrote files (0 to 2), its name, and what it says of it."""
    steps = command_steps(call.arguments) if call.is_shell else ()
    if not steps or call.outcome not in {CallOutcome.OK, CallOutcome.FAILED}:
        return 0, "", ""
    told = [step for step in steps if _REWRITES.search(" ".join(step.words))]
    name = name_of((told or steps)[-1])
    if done := _REWROTE.search(call.output):
        return 2, name, done[0]
    if _UNTOUCHED.search(call.output) and call.outcome is CallOutcome.OK:
        return 0, "", ""
    return int(bool(told or _RUNS_REWRITER.search(call.output))), name, ""


def _copied_badly(failed: ToolCall, worked: ToolCall) -> FileTrouble | None:
    """The text to replace was copied with what isn't in the file."""
    before, after = edited_text(failed)[0], edited_text(worked)[0]
    if _NUMBERED.search(before) and not _NUMBERED.search(after):
        words = LessonWords(
            name="edit-without-line-numbers",
            title="Leave line numbers out of the text you replace",
            when="you copy the text to replace from a listing with line numbers.",
            do="Copy only what stands after the line number, with its indentation.",
            why="The numbers are not in the file, so nothing matches; without them it worked.",
            check="The edit finds its text.",
        )
        return FileTrouble(failed, worked, "edit with line numbers", words)
    tabs = re.search(r"^\t", after, re.MULTILINE) and not re.search(r"^\t", before, re.MULTILINE)
    if not tabs or re.sub(r"\s", "", before) != re.sub(r"\s", "", after):
        return None
    suffix = PurePosixPath(_path(failed)).suffix
    words = LessonWords(
        name=f"edit-tabs-{slug(suffix)}" if suffix else "edit-tabs",
        title=f"Indent with tabs in `{suffix}` files here" if suffix else "Indent with tabs here",
        when=f"you edit a `{suffix}` file of this project.",
        do="Write tabs, not spaces, at the start of lines in the text to replace.",
        why="The file is indented with tabs; with spaces the text wasn't found.",
        check="The edit finds its text.",
    )
    return FileTrouble(failed, worked, f"tabs in {suffix}", words)


def _other_tool(calls: Sequence[ToolCall], position: int, said: str) -> FileTrouble | None:
    """The message names another tool, and that one did it."""
    failed = calls[position]
    asked = _OTHER_TOOL.search(said)
    suffix = PurePosixPath(_path(failed)).suffix
    if asked is None or not suffix:
        return None
    for call in calls[position + 1 : position + 1 + _MAX_FOUND]:
        if call.tool == asked["tool"] and _ok(call) and _path(call) == _path(failed):
            words = LessonWords(
                name=f"{slug(call.tool)}-for-{slug(suffix)}",
                title=f"Use {call.tool} for `{suffix}` files",
                when=f"you are about to use {failed.tool} on a `{suffix}` file.",
                do=f"Use the tool {call.tool} instead of {failed.tool}.",
                why=f"{failed.tool} refuses `{suffix}` files and names {call.tool}, which worked.",
                check=f"{call.tool} accepts the change.",
            )
            return FileTrouble(failed, call, f"{failed.tool} of {suffix}", words)
    return None


def _elsewhere(execution: Execution, position: int, said: str) -> FileTrouble | None:
    """The file is in another folder, where the agent then found it."""
    calls, failed = execution.calls, execution.calls[position]
    wanted = execution.relative(_path(failed))
    name = PurePosixPath(wanted).name
    if not _MISSING.search(said) or _is_outside(wanted) or _was_there(calls[:position], wanted):
        return None
    later = calls[position + 1 : position + 1 + _MAX_FOUND]
    for place, call in enumerate(later):
        found = execution.relative(_path(call)) if _verb(call) in _VERBS else ""
        if PurePosixPath(found).name != name or found == wanted or _is_outside(found):
            continue
        listed = any(found in execution.relative(other.output) for other in later[:place])
        if _verb(call) == "write" or not (_ok(call) and listed):
            return None
        return _told_place(execution, failed, call, wanted, found)
    return None


def _is_outside(path: str) -> bool:
    return path.startswith(("/", "~", "../")) or re.match(r"[A-Za-z]:/", path) is not None


def _was_there(calls: Sequence[ToolCall], path: str) -> bool:
    """Whether the file was at its place before, or was moved or removed in this very run."""
    name = PurePosixPath(path).name
    return any(
        (_ok(call) and _path(call).endswith(path))
        or (
            call.is_shell
            and re.search(r"\b(?:mv|rm|cp)\b", call.arguments)
            and name in call.arguments
        )
        for call in calls
    )


def _told_place(
    execution: Execution, failed: ToolCall, call: ToolCall, wanted: str, found: str
) -> FileTrouble | None:
    name = clean(PurePosixPath(wanted).name, 60)
    folder = clean(str(PurePosixPath(found).parent), 60)
    why = f"`{clean(wanted, 120)}` doesn't exist; the file was found at `{clean(found, 120)}`."
    if found.endswith(f"/{wanted}"):
        lead = clean(found.removesuffix(wanted), 60)
        words = LessonWords(
            name="-".join(["paths-under", *slug(lead).split("-")[:3]]),
            title=f"Begin paths of this project with `{lead}`",
            when=f"you read or edit files such as `{clean(wanted, 120)}` in this project.",
            do=f"Write `{clean(found, 120)}`: what you look for is in `{lead}`.",
            why=why,
            check="The file is found.",
        )
        return FileTrouble(
            failed, call, f"{execution.project_name}: paths begin with {lead}", words
        )
    if _EVERYWHERE.fullmatch(name):
        return None
    words = LessonWords(
        name="-".join(["find", *[part for part in re.split(r"[-_.]+", slug(name)) if part][:3]]),
        title=f"Look for `{name}` in `{folder}`",
        when=f"you need `{name}` in this project.",
        do=f"Open `{clean(found, 120)}`.",
        why=why,
        check="The file is found.",
    )
    situation = f"{execution.project_name}: place of {wanted}"
    return FileTrouble(failed, call, situation, words, certainty=_SLIP)


def _ok(call: ToolCall) -> bool:
    return call.outcome is CallOutcome.OK and _verb(call) != ""


def _arguments(call: ToolCall) -> dict[str, object]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _captured(execution: Execution, trouble: FileTrouble) -> Captured:
    failed, worked = trouble.failed, trouble.worked
    error = _safe(execution.relative(headline(failed.output) or failed.output), 300)
    evidence = Evidence(
        execution=execution.id,
        lines=str(execution.ref(failed.call_line, worked.last_line)),
        agent_id=execution.agent_id,
        failed=_safe(f"{failed.tool} {execution.relative(_path(failed))}", 300),
        error=error,
        resolved_by=_safe(f"{worked.tool} {execution.relative(_path(worked))}", 300),
        between=tuple(_safe(execution.relative(text), 160) for text in trouble.between),
        at=failed.at or execution.started_at,
        project=execution.project,
        reported=execution.is_reported,
    )
    lesson = grounded_lesson(
        execution,
        LessonKind.FILE,
        f"file|{execution.agent_id}|{trouble.situation.casefold()}",
        trouble.words,
        (evidence,),
        certainty=trouble.certainty,
        tags=(FILE_TAG, _verb(failed)),
    )
    return Captured(lesson, incident_payload(execution, error, category="file"))


def _safe(text: str, limit: int) -> str:
    return clean(redact_text(text, RedactionTally()), limit)
