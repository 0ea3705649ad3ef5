"""Rewording a lesson before approving it: as a text for an editor, or part by part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.approvals.ports import (
    FIELDS,
    LIMITS,
    LONGEST_NOTE,
    STEPS,
    ReviewSheet,
    Reworded,
    Wording,
)
from synthorg_tui.tui.approvals.review_lines import AUTHORS, TITLES, author_of
from synthorg_tui.tui.base.lines import Line, line, one_line

_HEAD = (
    "# Reword the lesson. Keep the headings in brackets; lines that start with # are left out.\n"
)
_HEADING = re.compile(r"\[(DISCOVERY|CONDITION|ACTION|RATIONALE|STEPS)\][ \t]*")
_NUMBER = re.compile(r"\d+\. ?")
_GUARDED = re.compile(r"\\*(?:#|\[)")


def shown(text: str) -> str:
    """A text as an editor or an entry shows it: what would act is a glyph."""
    return safe_text(text, multiline=True)


def note_text(text: str, before: str) -> str:
    """The text of a note that was edited as it is shown; left alone it comes back exactly."""
    return before if text.strip() == shown(before).strip() else text.strip()


def problems(wording: Reworded) -> tuple[str, ...]:
    """What keeps a wording from being approved."""
    if isinstance(wording, str):
        return _note_problems(wording)
    made = []
    for name in FIELDS:
        text = wording.text(name)
        if not text.strip():
            made.append(f"{TITLES[name]} is empty")
        elif len(text) > LIMITS[name]:
            made.append(f"{TITLES[name]} has {len(text):,} characters; {LIMITS[name]:,} fit")
    if len(wording.steps) > LIMITS[STEPS]:
        made.append(f"{len(wording.steps)} steps; {LIMITS[STEPS]} fit")
    return tuple(made)


def _note_problems(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ("The text is empty",)
    if len(text) > LONGEST_NOTE:
        return (f"The text has {len(text):,} characters; {LONGEST_NOTE:,} fit",)
    return ()


def steps_of(text: str, before: Sequence[str] = ()) -> tuple[str, ...]:
    """Steps written one a line; one that was there before comes back as it was."""
    known = {shown(one_line(step)): step for step in before}
    made = [_NUMBER.sub("", each, count=1).strip() for each in text.splitlines()]
    return tuple(known.get(each, each) for each in made if each)


def steps_text(steps: Sequence[str]) -> str:
    """Steps one a line, for an entry."""
    return "\n".join(f"{at}. {shown(one_line(step))}" for at, step in enumerate(steps, start=1))


def to_document(wording: Wording) -> str:
    """The wording as a text for an editor."""
    parts = [_HEAD]
    for name in FIELDS:
        body = "\n".join(_guard(each) for each in shown(wording.text(name)).split("\n"))
        parts.append(f"[{name.upper()}]\n{body}\n")
    parts.append(f"[STEPS]\n{steps_text(wording.steps)}\n")
    return "\n".join(parts)


def from_document(text: str, before: Wording) -> Wording:
    """The wording that an edited text says; a field left alone comes back exactly as it was."""
    sections = _sections(text)
    original = _sections(to_document(before))
    fields = {
        name: before.text(name)
        if sections.get(name) == original.get(name)
        else sections.get(name, "")
        for name in FIELDS
    }
    steps = before.steps
    if sections.get("steps") != original.get("steps"):
        steps = steps_of(sections.get("steps", ""), before.steps)
    return Wording(**fields, steps=steps)


def _guard(text: str) -> str:
    return f"\\{text}" if _GUARDED.match(text) else text


def _sections(text: str) -> dict[str, str]:
    made: dict[str, list[str]] = {}
    body: list[str] = []
    for each in text.splitlines():
        if heading := _HEADING.fullmatch(each):
            body = made.setdefault(heading[1].lower(), [])
        elif not each.startswith("#"):
            body.append(each[1:] if each.startswith("\\") and _GUARDED.match(each) else each)
    return {name: "\n".join(lines).strip() for name, lines in made.items()}


@dataclass(frozen=True, slots=True)
class Choice:
    """A field with the texts there are for it, by author, and which one is taken."""

    name: str
    texts: tuple[tuple[str, str], ...]
    taken: int

    @property
    def author(self) -> str:
        """Whose text is taken."""
        return self.texts[self.taken][0]

    @property
    def text(self) -> str:
        """The text taken."""
        return self.texts[self.taken][1]


@dataclass(frozen=True, slots=True)
class Parts:
    """What of a lesson is taken: a text for each field, and each step or not."""

    choices: tuple[Choice, ...]
    steps: tuple[tuple[str, bool], ...]

    @classmethod
    def of(cls, sheet: ReviewSheet, now: Wording) -> Parts:
        """The texts of evidence, model and person, where they differ; ``now`` is taken."""
        choices = []
        for name in FIELDS:
            found: dict[str, str] = {}
            for wording in (sheet.grounded, sheet.proposed, now):
                if wording is not None:
                    found.setdefault(wording.text(name), author_of(name, wording, sheet))
            texts = tuple((author, text) for text, author in found.items())
            taken = next(at for at, (_, text) in enumerate(texts) if text == now.text(name))
            choices.append(Choice(name, texts, taken))
        base = (sheet.proposed or now).steps
        offered = base if set(now.steps) <= set(base) else now.steps
        offered += tuple(step for step in base if step not in offered)
        return cls(tuple(choices), tuple((step, step in now.steps) for step in offered))

    def turned(self, name: str, by: int) -> Parts:
        """With another text for a field."""
        made = tuple(
            replace(each, taken=(each.taken + by) % len(each.texts)) if each.name == name else each
            for each in self.choices
        )
        return replace(self, choices=made)

    def toggled(self, step: int) -> Parts:
        """With a step kept that was dropped, or dropped."""
        made = tuple((text, kept != (at == step)) for at, (text, kept) in enumerate(self.steps))
        return replace(self, steps=made)

    @property
    def wording(self) -> Wording:
        """What is taken, as a whole."""
        fields = {each.name: each.text for each in self.choices}
        return Wording(**fields, steps=tuple(text for text, kept in self.steps if kept))


def part_lines(parts: Parts, width: int) -> list[tuple[object, Line]]:
    """A line for each field with whose text is taken, and one for each step."""
    made: list[tuple[object, Line]] = []
    for each in parts.choices:
        mark, word, role = AUTHORS.get(each.author, ("?", each.author, "muted"))
        arrows = ("‹ ", " ›") if len(each.texts) > 1 else ("  ", "  ")
        row = line((TITLES[each.name].ljust(11), "strong"), (arrows[0], "faint"))
        row.add(f"{mark} {word}".ljust(10), role).add(arrows[1], "faint")
        made.append((each.name, row.add(" " + one_line(each.text), "text").fit(width)))
    if parts.steps:
        kept = sum(kept for _, kept in parts.steps)
        head = line(("Steps ", "title"), (f"{kept} of {len(parts.steps)} kept", "muted"))
        made.append((None, head.fit(width)))
    for at, (text, keep) in enumerate(parts.steps):
        row = line(("✓ " if keep else "✗ ", "good" if keep else "faint"))
        made.append((at, row.add(one_line(text), "text" if keep else "faint").fit(width)))
    return made
