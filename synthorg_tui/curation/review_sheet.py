"""Several proposals as one text whose saved state is the decision about each of them.

A person writes it in an editor: what is left as it is gets approved, what is edited is approved as
reworded, and a section that is gone is rejected. Making and reading the text is here; who may
decide, and doing it, is for ``service``. Every section carries the hash of what was shown.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from pydantic import ValidationError

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.text import counted, safe_text
from synthorg_tui.curation.edits import ProposalEdit
from synthorg_tui.curation.models import (
    WORDED_FIELDS,
    Lesson,
    ProceduralMemoryProposal,
    ProceduralMemoryScope,
)
from synthorg_tui.curation.review import BY_ITSELF, OrgPayload, Review
from synthorg_tui.curation.scopes import scope_of, scopes_of
from synthorg_tui.executions.output_lines import one_line

_HEAD: Final = """\
# What you save decides about each section:
#
#   left as it is     it is approved
#   text edited       it is approved as you wrote it
#   section deleted   it is rejected, and not proposed again
#
# A line "decision:" says otherwise: approve, reject, or later, which leaves it waiting;
# "decision: reject because ..." gives the reason. Keep the lines of "===" and in brackets.
# A line "scope:" says for whom it is; the line above it says whom each scope would reach.
# Lines that start with # are left out. Before anything happens, a summary asks you;
# leave the editor without saving, or save an empty file, to decide nothing.
"""
DELETED: Final = "deleted in the editor"
_STEPS: Final = "execution_steps"
_TEXT: Final = "text"
_FIELDS: Final = tuple(dict.fromkeys((*WORDED_FIELDS, "check")))
_SECTION: Final = re.compile(r"=== (\S+) ([0-9a-f]{12}) ===\s*")
_DECISION: Final = re.compile(r"decision:\s*(\w*)(?:\s+because\s+(.*))?\s*", re.IGNORECASE)
_SCOPE: Final = re.compile(r"scope:\s*(\w*)\s*", re.IGNORECASE)
_HEADING: Final = re.compile(r"\[([A-Z_ ]+)\]\s*")
_GUARDED: Final = re.compile(r"\\*(?:#|\[|=== |decision:|scope:)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+\. ?")
_SCOPES: Final = ", ".join(ProceduralMemoryScope)
_BY_ITSELF: Final = "! it is approved by itself, in its review; here it can only be rejected"
_MAX_TITLE: Final = 90
_Kind = TypeVar("_Kind", bound=StrEnum)


class SheetDecision(StrEnum):
    """What a person wants of one item."""

    APPROVE = "approve"
    REJECT = "reject"
    LATER = "later"


_DONE: Final = {
    SheetDecision.APPROVE: "approved",
    SheetDecision.REJECT: "rejected",
    SheetDecision.LATER: "left for later",
}


@dataclass(frozen=True, slots=True)
class SheetVerdict:
    """The decision about one item; it holds only while the item is what ``shown`` is the hash of.

    ``edit`` is the person's wording, ``None`` where it wasn't changed. ``reason`` is that of a
    rejection.
    """

    item_id: str
    shown: str
    title: str
    decision: SheetDecision
    edit: ProposalEdit | None = None
    reason: str = ""


class SheetError(DomainError):
    """The text can't be read; ``line``, from 1, is where."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"Line {line}: {message}")
        self.line = line


@dataclass(slots=True)
class _Section:
    """A section as it was read; ``fields`` are texts by name, with the line of their heading."""

    item_id: str
    shown: str
    line: int
    decision: SheetDecision = SheetDecision.APPROVE
    reason: str = ""
    scope: ProceduralMemoryScope | None = None
    fields: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def sheet_of(reviews: Sequence[Review]) -> str:
    """Return the text with a section for each item; doubtful ones are left for later at first."""
    return "\n".join([_HEAD, *map(_section_text, reviews)])


def read_sheet(text: str, reviews: Sequence[Review]) -> tuple[SheetVerdict, ...]:
    """Return the decision about each of these items from an edited text made by ``sheet_of``.

    A blank text decides nothing and returns none. Raises ``SheetError`` for what can't be read.
    """
    if not text.strip():
        return ()
    known = {review.item.id: review for review in reviews}
    sections: dict[str, _Section] = {}
    for section in _sections(text):
        review = known.get(section.item_id)
        if review is None or review.shown[:12] != section.shown:
            raise SheetError(section.line, "this is no item of this file: keep its line as it was")
        if section.item_id in sections:
            raise SheetError(section.line, "this item is in the file twice")
        sections[section.item_id] = section
    return tuple(_verdict(review, sections.get(review.item.id)) for review in reviews)


def summary(verdicts: Sequence[SheetVerdict]) -> str:
    """Return what is decided as words, such as "3 approved, 1 reworded, 2 rejected"."""
    counts = {"approved": 0, "reworded": 0, "rejected": 0, "left for later": 0}
    for verdict in verdicts:
        counts["reworded" if verdict.edit is not None else _DONE[verdict.decision]] += 1
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)


def is_doubtful(review: Review) -> bool:
    """Return whether an item is flagged, contradicts a skill, or can't be approved like this.

    That is one with a problem, and one that is approved by itself.
    """
    subject = review.entry.subject
    both = subject is not None and subject.type == "file_change" and subject.change == "conflict"
    contradicts = any(near.verdict == "conflict" for near in review.near)
    is_single = review.entry.kind in BY_ITSELF
    return bool(review.flags or review.problem or both or contradicts or is_single)


def _section_text(review: Review) -> str:
    decision = SheetDecision.LATER if is_doubtful(review) else SheetDecision.APPROVE
    lines = [f"=== {review.item.id} {review.shown[:12]} ===", f"decision: {decision.value}"]
    lines += [f"# {text}" for text in _remarks(review)]
    if (scope := scope_of(review.entry.subject)) is not None:
        lines.append(f"scope: {scope.value}")
    for name, text in _rendered(review).items():
        lines += [f"[{name.upper()}]", *text.split("\n"), ""]
    return "\n".join([*lines, ""])


def _remarks(review: Review) -> list[str]:
    """What a person should know of an item besides its text, one line each."""
    entry, item = review.entry, review.item
    facts = [str(entry.kind), item.risk_level.value + " risk"]
    facts += [f"confidence {entry.confidence:.2f}"] if entry.confidence is not None else []
    facts += [f"seen in {counted(entry.recurrence, 'run')}"] if entry.recurrence else []
    lines = [one_line(item.title, _MAX_TITLE), " · ".join(facts)]
    if not _rendered(review):
        lines += [one_line(text, _MAX_TITLE) for text in item.description.splitlines()]
    lines += _request_remarks(review)
    lines += [f"! can only be rejected: {review.problem}"] if review.problem else []
    lines += [f"! look out, {flag.kind} in {flag.place}: {flag.found}" for flag in review.flags]
    verdicts = {"full": "replaces", "partial": "stands beside", "conflict": "! contradicts"}
    for near in review.near:
        name = near.name or near.memory_id
        lines.append(f"{verdicts.get(near.verdict, 'is like')} {name}: {near.discovery}")
    for scope, agents in review.reach.items():
        lines.append(f"scope {scope.value} reaches {', '.join(agents) or 'nobody yet'}")
    return [one_line(safe_text(text), 200) for text in lines]


def _request_remarks(review: Review) -> list[str]:
    """What writes to organisation memory say and replace, and calls do, which no text tells."""
    subject = review.entry.subject
    if review.entry.kind in BY_ITSELF:
        return [_BY_ITSELF, *(review.diff or review.text.splitlines())]
    if not isinstance(subject, OrgPayload):
        return []
    is_told = review.entry.rewordable_text is None  # as the item's description
    said = [f"why: {subject.why}"] if subject.why and not is_told else []
    requests = (change.request for change in subject.changes if change.request)
    said += [f"as {', '.join((request.category, *request.tags))}" for request in requests]
    return [*said, *(review.diff or review.text.splitlines())]


def _rendered(review: Review) -> dict[str, str]:
    """The editable texts of an item as they stand in the file; none when nothing is editable."""
    subject, written = review.entry.subject, review.entry.rewordable_text
    if written is not None:
        return {_TEXT: _guarded(written)}
    if not isinstance(subject, Lesson):
        return {}
    texts = {name: _guarded(getattr(subject.proposal, name)) for name in _FIELDS if name != _STEPS}
    steps = (one_line(safe_text(step)) for step in subject.proposal.execution_steps)
    texts[_STEPS] = "\n".join(f"{at}. {step}" for at, step in enumerate(steps, start=1))
    return {name: text for name, text in texts.items() if text or name in WORDED_FIELDS}


def _guarded(text: str) -> str:
    rows = safe_text(text, multiline=True).strip().split("\n")
    return "\n".join(f"\\{row}" if _GUARDED.match(row) else row for row in rows)


def _unguarded(rows: Sequence[str]) -> str:
    plain = (row[1:] if row.startswith("\\") and _GUARDED.match(row) else row for row in rows)
    return "\n".join(plain).strip()


def _sections(text: str) -> list[_Section]:
    found: list[_Section] = []
    body: list[str] | None = None
    for number, row in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if match := _SECTION.fullmatch(row):
            found.append(_Section(match[1], match[2], number))
            body = None
        elif row.startswith("==="):
            raise SheetError(number, "a section starts with === ID HASH ===, as it was written")
        elif row.startswith("#") or (body is None and not row.strip()):
            continue
        elif not found:
            raise SheetError(number, "this text stands before the first section")
        elif match := _DECISION.fullmatch(row):
            found[-1].decision = _named(
                SheetDecision, match[1], "approve, reject and later", number
            )
            found[-1].reason = (match[2] or "").strip()
        elif match := _SCOPE.fullmatch(row):
            found[-1].scope = _named(ProceduralMemoryScope, match[1], _SCOPES, number)
        elif match := _HEADING.fullmatch(row):
            body = _begin(found[-1], match[1].lower(), number)
        elif body is None:
            raise SheetError(number, "this text stands under no heading in brackets")
        else:
            body.append(row)
    return found


def _named(kinds: type[_Kind], name: str, names: str, number: int) -> _Kind:
    """The member of this name; raises ``SheetError`` with all ``names`` when there is none."""
    try:
        return kinds(name.lower())
    except ValueError:
        raise SheetError(number, f"{name or 'nothing'} is none of {names}") from None


def _begin(section: _Section, name: str, number: int) -> list[str]:
    if name not in (*_FIELDS, _TEXT) or name in section.fields:
        raise SheetError(number, f"[{name.upper()}] is twice in its section, or no heading of it")
    section.lines[name] = number
    return section.fields.setdefault(name, [])


def _verdict(review: Review, section: _Section | None) -> SheetVerdict:
    key = (review.item.id, review.shown, review.item.title)
    if section is None:
        return SheetVerdict(*key, SheetDecision.REJECT, reason=DELETED)
    if section.decision is not SheetDecision.APPROVE:
        return SheetVerdict(*key, section.decision, reason=section.reason or DELETED)
    return SheetVerdict(*key, section.decision, _edit(review, section))


def _edit(review: Review, section: _Section) -> ProposalEdit | None:
    """The person's wording; ``None`` when it is what was shown."""
    before = {name: _unguarded(text.split("\n")) for name, text in _rendered(review).items()}
    after = {name: _unguarded(rows) for name, rows in section.fields.items()}
    changed = {
        name: after.get(name, "")
        for name in {*before, *after}
        if after.get(name, "") != before.get(name, "")
    }
    subject = review.entry.subject
    scope = section.scope if section.scope is not scope_of(subject) else None
    if scope is not None and scope not in scopes_of(subject):
        raise SheetError(section.line, f"this can't be for the scope {scope.value}")
    if not changed:
        return None if scope is None else ProposalEdit(scope=scope)
    is_text = review.entry.rewordable_text is not None
    if is_text and changed.keys() == {_TEXT} and changed[_TEXT]:
        return ProposalEdit(changed[_TEXT], scope=scope)
    if isinstance(subject, Lesson) and _TEXT not in changed:
        return ProposalEdit(_reworded(subject.proposal, changed, section), scope=scope)
    raise SheetError(section.line, "this text can't stand for the item; delete it to reject it")


def _reworded(
    proposal: ProceduralMemoryProposal, changed: Mapping[str, str], section: _Section
) -> ProceduralMemoryProposal:
    fields: dict[str, object] = {**proposal.model_dump(), **changed}
    if _STEPS in changed:
        known = {one_line(safe_text(step)): step for step in proposal.execution_steps}
        steps = (_NUMBER.sub("", row, count=1).strip() for row in changed[_STEPS].splitlines())
        fields[_STEPS] = tuple(known.get(step, step) for step in steps if step)
    try:
        return ProceduralMemoryProposal.model_validate(fields)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else ""
        line = section.lines.get(name, section.line)
        raise SheetError(line, f"{name.replace('_', ' ')}: {problem['msg']}") from error
