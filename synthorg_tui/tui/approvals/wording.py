"""The wording of an item, and rewording it: in a form, in an editor, or part by part.

A ``Wording`` is a draft: unlike in the engine's proposals, a field may be blank or too long.
``approvable`` makes a proposal of it. Only texts are handled here; the rendering is in
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
    from synthorg_tui.curation.review import InboxEntry, OrgPayload, RunCallPayload, WritePayload

FIELDS = ("discovery", "condition", "action", "rationale", "check", "name")
"""The fields of a lesson that are a single text; the last field is its list of steps."""
OPTIONAL = frozenset({"name", "check"})
"""Fields that may be empty."""
STEPS = "execution_steps"
TITLES = {
    "discovery": "Discovery",
    "condition": "Condition",
    "action": "Action",
    "rationale": "Rationale",
    "check": "Check",
    "name": "Name",
    STEPS: "Steps",
}
_HEAD = (
    "# Reword the lesson. Keep the headings in brackets; lines that start with # are left out.\n"
)
_HEADING = re.compile(rf"\[({'|'.join(name.upper() for name in FIELDS)}|STEPS)\][ \t]*")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NUMBER = re.compile(r"\d+\. ?")
_GUARDED = re.compile(r"\\*(?:#|\[)")


@dataclass(frozen=True, slots=True)
class Wording:
    """A draft of the texts of a lesson."""

    discovery: str
    condition: str
    action: str
    rationale: str
    steps: tuple[str, ...] = ()
    check: str = ""
    name: str = ""

    @classmethod
    def of(cls, proposal: ProceduralMemoryProposal) -> Wording:
        """Return the texts of a proposal."""
        fields = {name: getattr(proposal, name) for name in FIELDS}
        return cls(**fields, steps=proposal.execution_steps)

    def text(self, name: str) -> str:
        """Return the text of a field by name; the steps as lines."""
        return "\n".join(self.steps) if name == STEPS else str(getattr(self, name))


Reworded: TypeAlias = Wording | str
"""A draft of a lesson, or of the text that an agent wants to store."""


def lesson_of(entry: InboxEntry) -> Lesson | None:
    """Return the item's lesson, or ``None`` if it is about something else."""
    subject = entry.subject
    return subject if subject is not None and subject.type == "lesson" else None


def write_of(entry: InboxEntry) -> WritePayload | None:
    """Return the write an agent asks for, or ``None`` if the item is about something else."""
    subject = entry.subject
    return subject if subject is not None and subject.type == "write" else None


def org_of(entry: InboxEntry) -> OrgPayload | None:
    """Return the writes to organisation memory, or ``None`` if the item is about something else."""
    subject = entry.subject
    return subject if subject is not None and subject.type == "org" else None


def call_of(entry: InboxEntry) -> RunCallPayload | None:
    """Return the call that a run waits with, or ``None`` if the item is about something else."""
    subject = entry.subject
    return subject if subject is not None and subject.type == "run_call" else None


def rewordable(entry: InboxEntry) -> Reworded | None:
    """Return the part of an item that a person can reword, or ``None``.

    That is a lesson, or the text an agent or a file wants stored.
    """
    if (written := entry.rewordable_text) is not None:
        return written
    lesson = lesson_of(entry)
    return Wording.of(lesson.proposal) if lesson else None


def versions(entry: InboxEntry) -> tuple[tuple[str, Wording], ...]:
    """Return the different wordings of an item with whose they are; the proposed one comes first.

    A lesson that no model wrote about has one.
    """
    lesson = lesson_of(entry)
    if lesson is None or lesson.suggested is None:
        return ()
    found = {Wording.of(lesson.proposal): "As proposed"}
    for whose, texts in (
        ("The model's words", lesson.suggested),
        ("Code's words", lesson.grounded),
    ):
        found.setdefault(Wording.of(texts), whose)
    return tuple((whose, wording) for wording, whose in found.items())


def whose_words(entry: InboxEntry, draft: Reworded) -> str:
    """Return whose words a draft is made of: those of a version, or else the person's."""
    known = {wording: whose for whose, wording in versions(entry)}
    return known.get(draft, "Your wording") if isinstance(draft, Wording) else "Your wording"


def author_of(name: str, wording: Wording, entry: InboxEntry) -> str:
    """Return the author of a field: whoever's version the text equals, or else the person."""
    text, lesson = wording.text(name), lesson_of(entry)
    if lesson is None:
        return "person"
    proposed, grounded = Wording.of(lesson.proposal), Wording.of(lesson.grounded)
    if text == proposed.text(name):
        return lesson.authors.get(name, lesson.source)
    if text == grounded.text(name):
        return lesson.source
    if lesson.suggested is not None and text == Wording.of(lesson.suggested).text(name):
        return "model"
    if name == STEPS and set(wording.steps) <= set(proposed.steps):
        return lesson.authors.get(name, lesson.source)
    return "person"


def approvable(
    lesson: Lesson, wording: Wording
) -> tuple[ProceduralMemoryProposal, dict[str, Author]]:
    """Return a person's wording as a proposal, with the authors of fields the person didn't write.

    Raises:
        DomainError: A field is invalid; the message has its name.
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
    authors = dict[str, Author]()
    for texts, author in ((lesson.suggested, Author.MODEL), (lesson.grounded, lesson.source)):
        known = Wording.of(texts or lesson.grounded)
        same = [name for name in (*FIELDS, STEPS) if wording.text(name) == known.text(name)]
        authors |= {name: author for name in same if wording.text(name) or name not in OPTIONAL}
    if STEPS in lesson.authors and set(wording.steps) <= set(lesson.proposal.execution_steps):
        authors.setdefault(STEPS, lesson.authors[STEPS])
    return proposal, authors


def shown(text: str) -> str:
    """Return a text as an entry or editor shows it: control characters are visible glyphs."""
    return safe_text(text, multiline=True)


def written_text(text: str, before: str) -> str:
    """Return the edited text of a memory; if it wasn't edited, exactly the text before."""
    return before if text.strip() == shown(before).strip() else text.strip()


@cache
def field_limits() -> Mapping[str, int]:
    """Return the maximum length of each field in characters, and the maximum number of steps."""
    from synthorg_tui.curation.models import ProceduralMemoryProposal

    properties = ProceduralMemoryProposal.model_json_schema()["properties"]
    limits = {name: properties[name]["maxLength"] for name in FIELDS}
    return {**limits, STEPS: properties[STEPS]["maxItems"]}


def problems(wording: Reworded) -> tuple[str, ...]:
    """Return the reasons why a wording can't be approved; empty if it can."""
    if isinstance(wording, str):
        return _write_problems(wording)
    limits, problems = field_limits(), []
    for name in FIELDS:
        text = wording.text(name)
        if not text.strip() and name not in OPTIONAL:
            problems.append(f"{TITLES[name]} is empty")
        elif len(text) > limits[name]:
            problems.append(f"{TITLES[name]} has {len(text):,} characters; {limits[name]:,} fit")
    if wording.name and not _NAME.fullmatch(wording.name):
        problems.append("Name has other characters than a-z, 0-9 and single hyphens between words")
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
    """Split a text into steps, one a line.

    A line equal to a step ``before`` gives its exact text.
    """
    known = {shown(one_line(step)): step for step in before}
    steps = [_NUMBER.sub("", row, count=1).strip() for row in text.splitlines()]
    return tuple(known.get(step, step) for step in steps if step)


def steps_text(steps: Sequence[str]) -> str:
    """Join steps into a text with one a line, for an entry."""
    return "\n".join(f"{at}. {shown(one_line(step))}" for at, step in enumerate(steps, start=1))


def to_document(wording: Reworded) -> str:
    """Return the wording as a text document for an editor."""
    if isinstance(wording, str):
        return shown(wording)
    parts = [_HEAD]
    for name in FIELDS:
        body = "\n".join(
            (f"\\{row}" if _GUARDED.match(row) else row)
            for row in shown(wording.text(name)).split("\n")
        )
        parts.append(f"[{name.upper()}]\n{body}\n")
    parts.append(f"[STEPS]\n{steps_text(wording.steps)}\n")
    return "\n".join(parts)


def from_document(text: str, before: Wording) -> Wording:
    """Parse an edited document; a field that wasn't edited keeps its exact text."""
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
    """Parse an edited document made by ``to_document``."""
    if isinstance(before, str):
        return written_text(text, before)
    return from_document(text, before)


def entries_of(wording: Reworded) -> dict[str, str]:
    """Return the texts of the form's entries for a wording, by entry name."""
    if isinstance(wording, str):
        return {"text": shown(wording)}
    fields = {name: shown(wording.text(name)) for name in FIELDS}
    return {**fields, STEPS: steps_text(wording.steps)}


def from_entries(entries: Mapping[str, str], before: Reworded) -> Reworded:
    """Return the wording the entries hold; one that wasn't edited keeps its exact text."""
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
    """A field with its versions by author, and which one is used."""

    name: str
    texts: tuple[tuple[str, str], ...]
    taken: int

    @property
    def author(self) -> str:
        """The author of the version used."""
        return self.texts[self.taken][0]

    @property
    def text(self) -> str:
        """The text of the version used."""
        return self.texts[self.taken][1]


@dataclass(frozen=True, slots=True)
class Parts:
    """A lesson combined from versions: a text for each field, and which steps are included."""

    choices: tuple[Choice, ...]
    steps: tuple[tuple[str, bool], ...]

    @classmethod
    def of(cls, entry: InboxEntry, now: Wording) -> Parts:
        """Return the versions of evidence, model and person where they differ.

        ``now`` is used first.
        """
        lesson = lesson_of(entry)
        wordings = [Wording.of(lesson.grounded), Wording.of(lesson.proposal)] if lesson else []
        if lesson and lesson.suggested is not None:
            wordings.insert(1, Wording.of(lesson.suggested))
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
        """Return these parts with the version ``by`` places further on used for a field."""
        choices = tuple(
            replace(choice, taken=(choice.taken + by) % len(choice.texts))
            if choice.name == name
            else choice
            for choice in self.choices
        )
        return replace(self, choices=choices)

    def toggled(self, step: int) -> Parts:
        """Return these parts with a step included, or left out if it was included."""
        steps = tuple((text, takes != (at == step)) for at, (text, takes) in enumerate(self.steps))
        return replace(self, steps=steps)

    @property
    def wording(self) -> Wording:
        """Return the combined wording."""
        fields = {choice.name: choice.text for choice in self.choices}
        return Wording(**fields, steps=tuple(text for text, takes in self.steps if takes))
