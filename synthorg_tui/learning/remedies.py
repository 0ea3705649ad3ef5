"""Remedies: what put a failed call right, as a title, an instruction and, of several, steps.

A change of directory, of environment or of order is told as that. A title is an instruction of at
most ``MAX_TITLE`` characters: of several ways to say it the first that fits is taken, so that no
command in it is ever cut.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from synthorg_tui.learning.lessons import is_title
from synthorg_tui.learning.mistakes import Mistake, named
from synthorg_tui.learning.phrases import Phrases, clean, explained, joined, name_of
from synthorg_tui.learning.situations import Situation

_MANY = 4
"""From so many commands on they are listed as steps."""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=.*", re.DOTALL)
_ENTRY = re.compile(r"[{(\[\s]*[:\"']?(@?[A-Za-z][\w./@-]*)")


class RemedyWords:
    """Words what put a mistake right."""

    def __init__(self, mistake: Mistake, phrases: Phrases, situation: Situation) -> None:
        self._mistake = mistake
        self._change = mistake.change
        self._phrases = phrases
        self._situation = situation
        self._failed = phrases.command(mistake.step)
        self._worked = phrases.command(mistake.worked)
        self.program = clean(name_of(mistake.step), 80).replace("`", "")

    @property
    def title(self) -> str:
        """The shortest instruction that says it: one line, commands whole."""
        fits = (title for title in self._titles() if is_title(title))
        return next(fits, "Call the command in another way")

    @property
    def action(self) -> str:
        """The whole instruction, with its placeholders explained."""
        remedy = joined([*self._first(), self._correction()], last="then")
        sentences = [f"{capital(remedy)}."]
        is_shown = self._change.prefix and not self._situation.shorter
        for word in self._change.dropped[:1] if is_shown else ():
            before = self._phrases.path(word)
            after = self._phrases.path(word.removeprefix(self._change.prefix))
            sentences.append(f"For example `{after}` instead of `{before}`.")
        if meaning := explained(remedy):
            sentences.append(f"Here {meaning}.")
        if self._mistake.skipped and "&&" in self._mistake.failed.arguments:
            rest = joined(f"`{clean(step.intent, 60)}`" for step in self._mistake.skipped)
            sentences.append(f"Then go on with {rest}, which did not run.")
        return " ".join(sentences)

    @property
    def steps(self) -> tuple[str, ...]:
        """The commands in their order, where there are several."""
        first = self._first()
        if len(first) + 1 < _MANY:
            return ()
        where = f" in {self._where}" if self._change.directory else ""
        last = f"run `{self._worked}`{where}"
        return tuple(f"{capital(step)}." for step in (*first, last))

    @property
    def check(self) -> str:
        """How to tell that it worked."""
        lines = [line.strip() for line in self._mistake.resolved.output.splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        speaks = any(word in last for word in self._change.added if len(word) > 2)
        if speaks and len(last) < 120:
            return f"The output says “{self._general(last).rstrip('.')}”."
        return f"`{self.program}` ends without that error." if _is_code(self.program) else ""

    @property
    def _where(self) -> str:
        """The directory it has to run in."""
        directory = self._general(self._change.directory)
        return "the project's directory" if directory in {"", "."} else f"`{directory}`"

    def _titles(self) -> Iterator[str]:
        """Titles from the one that says most to the one that fits everywhere."""
        program = f"`{self.program}`"
        if self._mistake.needed:
            yield from self._titles_of_needed(program)
        elif self._mistake.setup:
            yield from self._titles_of_setup(program)
        else:
            if self._only_left_out():
                yield f"Leave {self._words(self._refused())} out of {program}"
            else:
                yield self._situation.title.replace("{worked}", f"`{self._worked}`")
            yield from self._titles_of_change(program)
        yield f"Call {program} in another way"

    def _titles_of_needed(self, program: str) -> Iterator[str]:
        lines = self._mistake.needed
        files = dict.fromkeys(clean(name, 40) for name, _ in lines)
        entries = [entry[1] for _, line in lines if (entry := _ENTRY.match(line))]
        where = joined(f"`{name}`" for name in files)
        yield f"Add {joined(f'`{clean(name, 40)}`' for name in entries)} to {where} for {program}"
        yield f"Add {joined(f'`{clean(name, 40)}`' for name in entries)} to {where}"
        yield f"Add to {where} what {program} needs"

    def _titles_of_setup(self, program: str) -> Iterator[str]:
        whole = joined(f"`{self._phrases.command(step)}`" for step in self._mistake.setup)
        short = joined(f"`{clean(name_of(step), 60)}`" for step in self._mistake.setup)
        last = f"`{clean(name_of(self._mistake.setup[-1]), 60)}`"
        if self._change.directory:
            yield f"Run {whole} and {program} in {self._where}"
        elif not self._change.is_empty:
            yield f"Run {whole}, then `{self._worked}`"
        yield f"Run {whole} before {program}"
        yield f"Run {short} before {program}"
        yield f"Run {last} before {program}"
        yield f"Run `{_base(self._mistake.setup[-1].words[0])}` before {program}"

    def _titles_of_change(self, program: str) -> Iterator[str]:
        change = self._change
        if change.prefix:
            yield f"Give {program} paths relative to the directory it runs in"
        elif change.directory:
            yield f"Run `{self._worked}` in {self._where}"
            yield f"Run {program} in {self._where}"
            yield f"Run {program} in another directory"
        elif change.lead_added or change.lead_dropped:
            yield from self._titles_of_lead(program)
        elif self._only_left_out():
            yield f"Run {program} without {self._words(change.dropped)}"
            yield f"Run {program} without what the error names"
        elif change.other_program:
            was, now = self._mistake.step.words[0], self._mistake.worked.words[0]
            yield f"Use `{self._program()}` instead of `{was}`"
            if _base(was) == _base(now):
                yield f"Call `{_base(was)}` by its full path"
        elif self._is_one_option():
            yield f"Run {program} with `{' '.join(map(self._general, change.added))}`"
        yield f"Run `{self._worked}` instead of `{self._failed}`"
        yield f"Run `{self._worked}`"
        if change.added and not change.prefix:
            yield f"Run {program} with {self._words(change.added)}"
            options = tuple(word for word in change.added if word.startswith("-"))
            yield f"Run {program} with {self._words(options)}" if options else ""
        yield f"Run {program} with other arguments"

    def _titles_of_lead(self, program: str) -> Iterator[str]:
        dropped = self._change.lead_dropped
        added = tuple(word for word in self._change.lead_added if word != "env")
        variables = [found for word in added if (found := _ASSIGNMENT.fullmatch(word))]
        if variables and len(variables) == len(added):
            yield f"Set {self._words(added)} for {program}"
            names = [f"`{found[1]}`" for found in variables]
            yield f"Set {joined(names)} for {program}"
            yield f"Set {names[0]} and others for {program}"
        elif added:
            yield f"Run {program} through `{' '.join(map(self._general, added))}`"
            yield f"Run `{self._worked}`"
        elif dropped:
            yield f"Run {program} without {self._words(dropped)} before it"

    def _first(self) -> list[str]:
        """What had to come first, in clauses."""
        needed = [f"add `{clean(line, 120)}` to `{name}`" for name, line in self._mistake.needed]
        return [*needed, *(f"run `{self._phrases.command(step)}`" for step in self._mistake.setup)]

    def _correction(self) -> str:
        """How to call it instead, in a clause."""
        change = self._change
        if change.is_empty:
            return f"run `{self.program}` again"
        if change.prefix and self._situation.shorter:
            return self._situation.shorter
        if change.prefix:
            return f"write the path without its leading `{self._general(change.prefix)}`"
        if self._only_left_out():
            return self._left_out()
        if change.directory:
            return f"run `{self._worked}` in {self._where}"
        return f"run `{self._worked}` instead"

    def _left_out(self) -> str:
        dropped = self._change.dropped
        if all(word.startswith("-") for word in dropped):
            return f"run `{self.program}` without {self._words(dropped)}"
        if not all(named(word, self._mistake.failed.output) for word in dropped):
            return f"run `{self._worked}` without {self._words(dropped)}"
        return f"run `{self._worked}` without {self._words(self._refused())}"

    def _refused(self) -> tuple[str, ...]:
        """What was left out, as the error names it: a folder stands for the files in it."""
        lines = {line.strip(" \t'\"`") for line in self._mistake.failed.output.splitlines()}
        return tuple(
            dict.fromkeys(
                next((line for line in lines if line and word.startswith(f"{line}/")), word)
                for word in self._change.dropped
            )
        )

    def _only_left_out(self) -> bool:
        change = self._change
        put_in = change.added or change.lead_added or change.lead_dropped or change.directory
        return bool(change.dropped) and not put_in

    def _program(self) -> str:
        """The program that worked; one whose subcommand was a program before, with that."""
        first, *more = self._mistake.worked.words
        whole = " ".join((first, *more[:1]))
        is_split = whole.replace(" ", "-") == self._mistake.step.words[0]
        return self._general(whole if is_split else first)

    def _is_one_option(self) -> bool:
        """Whether an option with its values was put in, and nothing else was changed."""
        added = self._change.added
        text = " ".join(self._mistake.worked.words)
        return (
            not self._change.dropped and added[:1] > ("-",) and added[0].startswith("-")
        ) and " ".join(added) in text

    def _words(self, words: tuple[str, ...]) -> str:
        return joined(f"`{self._general(word)}`" for word in words)

    def _general(self, text: str) -> str:
        return self._phrases.general(text, 120)


def _base(word: str) -> str:
    """The name of a program without its folder."""
    return clean(PurePosixPath(word).name, 60)


def capital(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def _is_code(text: str) -> bool:
    return bool(text) and "`" not in text and "…" not in text
