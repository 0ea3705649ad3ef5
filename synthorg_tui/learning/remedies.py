"""The words of a mistake's lesson: what put the call right, as a title and an instruction.

Names of the run and what both calls were given become placeholders; what made the difference stays
as it was written. A title is an instruction of at most ``MAX_TITLE`` characters: of several ways to
say it the first that fits is taken, so that no command in it is ever cut.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from synthorg_tui.executions.commands import Step
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.recoveries import MESSAGE_FLAGS
from synthorg_tui.learning.changes import is_said
from synthorg_tui.learning.error_lines import ErrorKind
from synthorg_tui.learning.failure_words import FAILURES
from synthorg_tui.learning.lessons import is_title
from synthorg_tui.learning.mistakes import Mistake
from synthorg_tui.learning.phrases import clean, explained, is_path, joined, name_of

_OUTSIDE = ("require_escalated",)
"""The word before a command that Codex ran outside of its sandbox."""
_MAX_COMMAND = 400
_SPEAKING = frozenset({"git", "gh", "glab", "hg", "jj", "svn"})
_KINDS = (
    (re.compile(r"https?://.*"), "<url>"),
    (re.compile(r"[^\s@/]+@[^\s@/]+\.\w+"), "<email>"),
    (re.compile(r"s(\W).*\1.*\1\w*"), "<script>"),
    (re.compile(r".{61,}|.*[ \n].*", re.DOTALL), "<text>"),
)
"""What a word is an example of, when the lesson isn't about that word."""


class RemedyWords:
    """Words what put a mistake right."""

    def __init__(self, execution: Execution, mistake: Mistake) -> None:
        self._mistake = mistake
        self._change = mistake.change
        self._execution = execution
        self._values = _values(execution, mistake)
        self.program = clean(name_of(mistake.step), 80).replace("`", "")
        self.is_stale = bool(mistake.setup) and mistake.error.kind is ErrorKind.CODE
        self._worked = self._command(mistake.worked)
        self.shown = self._worked if self.is_stale else self.program

    @property
    def own_names(self) -> tuple[str, ...]:
        """Names that only this run had, such as its branch and its project."""
        return (*self._values, self._execution.project or "")

    @property
    def error(self) -> str:
        """The most informative line of the error, with ``<path>`` for the command's paths."""
        text = self._mistake.error.line
        for word in sorted(self._mistake.step.words[1:], key=len, reverse=True):
            text = text.replace(word, "<path>") if "/" in word else text
        return self.general(text, 160)

    @property
    def title(self) -> str:
        """The shortest instruction that says it: one line, commands whole."""
        return next(filter(is_title, self._titles()), "Call the command in another way")

    @property
    def action(self) -> str:
        """The whole instruction, with its placeholders explained."""
        first = [f"run `{self._command(step)}`" for step in self._mistake.setup]
        remedy = joined([*first, self._correction()], last="then")
        return f"{remedy[:1].upper()}{remedy[1:]}. {explained(remedy)}".rstrip()

    def general(self, text: str, limit: int) -> str:
        """Return ``text`` with placeholders for the run's own names and with relative paths."""
        if self._execution.project:
            text = self._execution.relative(text).replace(self._execution.project, ".")
        text = re.sub(r"(?<![\w.])/(?:home|Users)/[^/\s'\"]+", "~", text)
        text = re.sub(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b", "<hash>", text)
        for value, name in self._values.items():
            text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", f"<{name}>", text)
        return clean(text, limit)

    def _titles(self) -> Iterator[str]:
        """Titles from the one that says most to the one that fits everywhere."""
        program, change = f"`{self.program}`", self._change
        added = [word for word in change.lead_added if word != "env"]
        if self._mistake.setup:
            yield from self._titles_of_setup(program)
        elif change.directory:
            yield f"Run {program} in {self._where}"
        elif added and all(map(FAILURES["setting"].fullmatch, added)):
            yield f"Set {self._words(added)} for {program}"
            yield f"Set `{added[0].partition('=')[0]}` and others for {program}"
        elif change.lead_added == _OUTSIDE:
            yield f"Run {program} outside of the sandbox (`{added[0]}`)"
            yield f"Run {program} outside of the sandbox"
        elif added:
            yield f"Run {program} through `{' '.join(map(self._general, added))}`"
        elif change.lead_dropped:
            yield f"Run {program} without {self._words(change.lead_dropped)} before it"
        elif change.only_left_out:
            yield f"Leave {self._words(change.dropped)} out of {program}"
        elif change.other_program:
            yield from self._titles_of_program(program)
        elif change.added and not change.dropped and change.added[0].startswith("-"):
            yield f"Run {program} with `{' '.join(map(self._general, change.added))}`"
        yield f"Run `{self._worked}` instead of `{self._command(self._mistake.step)}`"
        yield f"Run `{self._worked}`"
        options = [word for word in change.added if word.startswith("-")]
        yield f"Run {program} with {self._words(options)}" if options else ""
        yield f"Run {program} with other arguments"

    def _titles_of_setup(self, program: str) -> Iterator[str]:
        whole = joined(f"`{self._command(step)}`" for step in self._mistake.setup)
        names = [f"`{clean(name_of(step), 60)}`" for step in self._mistake.setup]
        shown = (whole, joined(names), names[-1])
        yield from (f"Run {one} before {program}" for one in shown)
        yield f"Run `{_base(self._mistake.setup[-1].words[0])}` before {program}"

    def _titles_of_program(self, program: str) -> Iterator[str]:
        was, (now, *more) = self._mistake.step.words[0], self._mistake.worked.words
        if self._mistake.is_gate:
            name = name_of(self._mistake.worked)
            shown = name if name in self._mistake.failed.output else now
            yield f"Use `{shown}` instead of {program} here"
        is_split = " ".join((now, *more[:1])).replace(" ", "-") == was
        yield f"Use `{self._general(' '.join((now, *more[:is_split])))}` instead of `{was}`"
        if _base(was) == _base(now):
            yield f"Call `{_base(was)}` by its full path"

    def _correction(self) -> str:
        """How to call it instead, in a clause."""
        change = self._change
        if change.only_left_out:
            return f"run `{self.program}` without {self._words(change.dropped)}"
        if change.lead_added == _OUTSIDE:
            return f"run `{self.program}` with `sandbox_permissions` set to `{_OUTSIDE[0]}`"
        is_again = self._mistake.step.words == self._mistake.worked.words
        if self._mistake.setup and is_again and not change.directory:
            return f"run `{self.shown}` again"
        where = f" in {self._where}" if change.directory else ""
        where = where or ("" if self._mistake.setup else " instead")
        refused = [word for word in change.dropped if word[:1] == "-" and self._is_refused(word)]
        without = f", without {self._words(refused)}" if refused else ""
        return f"run `{self._worked}`{where}{without}"

    def _is_refused(self, word: str) -> bool:
        return is_said(word, self._mistake.failed.output)

    @property
    def _where(self) -> str:
        directory = self._general(self._change.directory)
        return "the project's directory" if directory in {"", "."} else f"`{directory}`"

    def _command(self, step: Step) -> str:
        """A step as one would type it, with placeholders for paths and messages.

        Words that make the difference between failure and success stay as they are, and so does
        what had to be run first.
        """
        pair = (self._mistake.step.words, self._mistake.worked.words)
        change = self._change
        is_own = step.words in pair and not self.is_stale
        kept = {*(change.dropped + change.added if is_own else step.words)}
        shown = [self.general(_quoted(word), 300) for word in step.lead]
        for place, word in enumerate(step.words):
            is_message = is_own and place > 0 and step.words[place - 1] in MESSAGE_FLAGS
            is_message = is_message and step.words[0] in _SPEAKING
            named = place == 0 or word in kept or word.startswith("-")
            named = named or (place == 1 and PurePosixPath(word).name in step.intent.split())
            kinds = () if named else (kind for form, kind in _KINDS if form.fullmatch(word))
            path = "<path>" if not named and is_path(word) else ""
            text = "<message>" if is_message else next(iter(kinds), path)
            text = text or self.general(_quoted(word), 300)
            if text != "<path>" or shown[-1:] != [text]:
                shown.append(text)
        return clean(" ".join(shown), _MAX_COMMAND)

    def _words(self, words: "list[str] | tuple[str, ...]") -> str:
        return joined(f"`{self._general(word)}`" for word in words)

    def _general(self, text: str) -> str:
        return self.general(text, 120)


def _base(word: str) -> str:
    """The name of a program without its folder."""
    return clean(PurePosixPath(word).name, 60)


def _quoted(word: str) -> str:
    """Quoted for a shell only where it must be."""
    if re.fullmatch(r"[\w@%+=:,./<>~^*{}\[\]-]+", word):
        return word
    return f'"{word}"' if re.fullmatch(r"[\w@%+=:,./~ ${}-]+", word) else shlex.quote(word)


def _values(execution: Execution, mistake: Mistake) -> dict[str, str]:
    """Names that were this run's own, each with what it is the name of; the longest first."""
    values = {execution.branch: "branch"} if execution.branch else {}
    own = (word for step in (mistake.step, mistake.worked) for word in step.words[1:])
    values |= {word: "name" for word in own if FAILURES["remedies_made_up"].fullmatch(word)}
    added = {part for word in mistake.change.added for part in (word, word.rpartition("/")[2])}
    for noun, value in FAILURES["named"].findall(mistake.error.plain):
        if value in added and not value.startswith("-"):
            values.setdefault(value, noun.lower())
    return dict(sorted(values.items(), key=lambda item: -len(item[0])))
