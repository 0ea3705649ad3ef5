"""What an item says, and rewording it before approving: in a form, an editor, or part by part.

A ``Wording`` is what is being written: a field of it may be blank or too long, which a proposal
of the engine never is. ``approvable`` makes that of it. Only texts here: how they look is in
``review_lines``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import safe_text
from synthorg_tui.tui.base.lines import one_line

if TYPE_CHECKING:
    from synthorg_tui.curation.models import Author, Lesson, ProceduralMemoryProposal
    from synthorg_tui.curation.review import InboxEntry, WritePayload

FIELDS = ("discovery", "condition", "action", "rationale")
"""The fields of a lesson that are one text each; its steps are the fifth."""
STEPS = "execution_steps"
TITLES = {
    "discovery": "Discovery",
    "condition": "Condition",
    "action": "Action",
    "rationale": "Rationale",
    STEPS: "Steps",
}
_HEAD = (
    "# Reword the lesson. Keep the headings in brackets; lines that start with # are left out.\n"
)
_HEADING = re.compile(r"\[(DISCOVERY|CONDITION|ACTION|RATIONALE|STEPS)\][ \t]*")
_NUMBER = re.compile(r"\d+\. ?")
_GUARDED = re.compile(r"\\*(?:#|\[)")


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of a lesson as they are being written."""

    discovery: str
    condition: str
    action: str
    rationale: str
    steps: tuple[str, ...] = ()

    @classmethod
    def of(cls, proposal: ProceduralMemoryProposal) -> Wording:
        """The texts that a proposal has."""
        fields = {name: getattr(proposal, name) for name in FIELDS}
        return cls(**fields, steps=proposal.execution_steps)

    def text(self, name: str) -> str:
        """A field by name; the steps as lines."""
        return "\n".join(self.steps) if name == STEPS else str(getattr(self, name))


Reworded: TypeAlias = Wording | str
"""What a person made of a lesson, or of the text that an agent wants stored."""


def lesson_of(entry: InboxEntry) -> Lesson | None:
    """The lesson that an item is about, if it is about one."""
    subject = entry.subject
    return subject if subject is not None and subject.type == "lesson" else None


def write_of(entry: InboxEntry) -> WritePayload | None:
    """What an agent wants stored, if the item is about that."""
    subject = entry.subject
    return subject if subject is not None and subject.type == "write" else None


def rewordable(entry: InboxEntry) -> Reworded | None:
    """What of an item a person can reword: a lesson, or the text an agent wants stored."""
    if write := write_of(entry):
        return write.draft.request.content
    lesson = lesson_of(entry)
    return Wording.of(lesson.proposal) if lesson else None


def author_of(name: str, wording: Wording, entry: InboxEntry) -> str:
    """Who wrote a field of a wording: whose text it is, or else the person."""
    text, lesson = wording.text(name), lesson_of(entry)
    if lesson is None:
        return "person"
    proposed, grounded = Wording.of(lesson.proposal), Wording.of(lesson.grounded)
    if text == proposed.text(name):
        return lesson.authors.get(name, "evidence")
    if text == grounded.text(name):
        return "evidence"
    if name == STEPS and set(wording.steps) <= set(proposed.steps):
        return lesson.authors.get(name, "evidence")
    return "person"


def approvable(
    lesson: Lesson, wording: Wording
) -> tuple[ProceduralMemoryProposal, dict[str, Author]]:
    """Make a proposal of a person's wording, and say who wrote fields where not the person.

    Raises ``DomainError`` with the name of a field that doesn't do.
    """
    from pydantic import ValidationError

    from synthorg_tui.curation.models import Author, ProceduralMemoryProposal

    fields = {name: wording.text(name) for name in FIELDS}
    changed = {**lesson.proposal.model_dump(), **fields, STEPS: wording.steps}
    try:
        proposal = ProceduralMemoryProposal.model_validate(changed)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        raise DomainError(f"This wording doesn't do: {name}: {problem['msg']}.") from error
    grounded = Wording.of(lesson.grounded)
    authors = {
        name: Author.EVIDENCE
        for name in (*FIELDS, STEPS)
        if wording.text(name) == grounded.text(name)
    }
    if STEPS in lesson.authors and set(wording.steps) <= set(lesson.proposal.execution_steps):
        authors.setdefault(STEPS, lesson.authors[STEPS])
    return proposal, authors


def shown(text: str) -> str:
    """A text as an editor or an entry shows it: what would act is a glyph."""
    return safe_text(text, multiline=True)


def written_text(text: str, before: str) -> str:
    """The text of a memory that was edited as it is shown; left alone it comes back exactly."""
    return before if text.strip() == shown(before).strip() else text.strip()


@cache
def field_limits() -> Mapping[str, int]:
    """The most characters of each field and the most steps, as the engine's model has them."""
    from synthorg_tui.curation.models import ProceduralMemoryProposal

    properties = ProceduralMemoryProposal.model_json_schema()["properties"]
    limits = {name: properties[name]["maxLength"] for name in FIELDS}
    return {**limits, STEPS: properties[STEPS]["maxItems"]}


def problems(wording: Reworded) -> tuple[str, ...]:
    """What keeps a wording from being approved."""
    if isinstance(wording, str):
        return _write_problems(wording)
    limits, problems = field_limits(), []
    for name in FIELDS:
        text = wording.text(name)
        if not text.strip():
            problems.append(f"{TITLES[name]} is empty")
        elif len(text) > limits[name]:
            problems.append(f"{TITLES[name]} has {len(text):,} characters; {limits[name]:,} fit")
    if len(wording.steps) > limits[STEPS]:
        problems.append(f"{len(wording.steps)} steps; {limits[STEPS]} fit")
    return tuple(problems)


def _write_problems(text: str) -> tuple[str, ...]:
    from synthorg_tui.memory.strategies.schemas import MAX_CONTENT_CHARS

    if not text.strip():
        return ("The text is empty",)
    if len(text) > MAX_CONTENT_CHARS:
        return (f"The text has {len(text):,} characters; {MAX_CONTENT_CHARS:,} fit",)
    return ()


def steps_of(text: str, before: Sequence[str] = ()) -> tuple[str, ...]:
    """Steps written one a line; one that was there before comes back as it was."""
    known = {shown(one_line(step)): step for step in before}
    steps = [_NUMBER.sub("", row, count=1).strip() for row in text.splitlines()]
    return tuple(known.get(step, step) for step in steps if step)


def steps_text(steps: Sequence[str]) -> str:
    """Steps one a line, for an entry."""
    return "\n".join(f"{at}. {shown(one_line(step))}" for at, step in enumerate(steps, start=1))


def to_document(wording: Reworded) -> str:
    """The wording as a text for an editor."""
    if isinstance(wording, str):
        return shown(wording)
    parts = [_HEAD]
    for name in FIELDS:
        body = "\n".join(_guard(row) for row in shown(wording.text(name)).split("\n"))
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


def read_back(text: str, before: Reworded) -> Reworded:
    """What an edited text of ``to_document`` says."""
    if isinstance(before, str):
        return written_text(text, before)
    return from_document(text, before)


def entries_of(wording: Reworded) -> dict[str, str]:
    """The entries of a form for a wording, by name, as they are shown."""
    if isinstance(wording, str):
        return {"text": shown(wording)}
    fields = {name: shown(wording.text(name)) for name in FIELDS}
    return {**fields, STEPS: steps_text(wording.steps)}


def from_entries(entries: Mapping[str, str], before: Reworded) -> Reworded:
    """The wording that entries hold; one left alone comes back exactly as it was."""
    if isinstance(before, str):
        return written_text(entries["text"], before)
    original = entries_of(before)
    fields = {
        name: before.text(name) if entries[name] == original[name] else entries[name].strip()
        for name in FIELDS
    }
    is_same = entries[STEPS] == original[STEPS]
    steps = before.steps if is_same else steps_of(entries[STEPS], before.steps)
    return Wording(**fields, steps=steps)


def _guard(text: str) -> str:
    return f"\\{text}" if _GUARDED.match(text) else text


def _sections(text: str) -> dict[str, str]:
    sections: dict[str, list[str]] = {}
    body: list[str] = []
    for row in text.splitlines():
        if heading := _HEADING.fullmatch(row):
            body = sections.setdefault(heading[1].lower(), [])
        elif not row.startswith("#"):
            body.append(row[1:] if row.startswith("\\") and _GUARDED.match(row) else row)
    return {name: "\n".join(lines).strip() for name, lines in sections.items()}


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
    def of(cls, entry: InboxEntry, now: Wording) -> Parts:
        """The texts of evidence, model and person, where they differ; ``now`` is taken."""
        lesson = lesson_of(entry)
        wordings = [Wording.of(lesson.grounded), Wording.of(lesson.proposal)] if lesson else []
        choices = []
        for name in FIELDS:
            authors: dict[str, str] = {}
            for wording in (*wordings, now):
                authors.setdefault(wording.text(name), author_of(name, wording, entry))
            texts = tuple((author, text) for text, author in authors.items())
            taken = next(at for at, (_, text) in enumerate(texts) if text == now.text(name))
            choices.append(Choice(name, texts, taken))
        base = wordings[-1].steps if wordings else now.steps
        offered = base if set(now.steps) <= set(base) else now.steps
        offered += tuple(step for step in base if step not in offered)
        return cls(tuple(choices), tuple((step, step in now.steps) for step in offered))

    def turned(self, name: str, by: int) -> Parts:
        """With another text for a field."""
        choices = tuple(
            replace(choice, taken=(choice.taken + by) % len(choice.texts))
            if choice.name == name
            else choice
            for choice in self.choices
        )
        return replace(self, choices=choices)

    def toggled(self, step: int) -> Parts:
        """With a step taken that was dropped, or dropped."""
        steps = tuple((text, takes != (at == step)) for at, (text, takes) in enumerate(self.steps))
        return replace(self, steps=steps)

    @property
    def wording(self) -> Wording:
        """What is taken, as a whole."""
        fields = {choice.name: choice.text for choice in self.choices}
        return Wording(**fields, steps=tuple(text for text, takes in self.steps if takes))
