"""What importing a project's files would change: one line each, as data, before anything is done.

The plan is a comparison of what the files say with the facts that came from them before. The words
of a rule are its identity: moved to another line, written with other emphasis, or said in two
files, it is the same rule. What a person changed or retracted here, and what looks like an attempt
to steer, is in the plan but not chosen by itself.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.text import compiled, jaccard
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin

IMPORTED: Final = "imported:"
"""Begins the tag with the fingerprint of what a file said when its fact was written from it."""
ALSO: Final = "also:"
"""Begins a tag with another place where a file says the same, as ``also:CLAUDE.md#L9``."""
APPLIES_TO: Final = "applies-to:"
"""Begins the tag with the files that a rule is about, as its own file names them."""
_SIMILAR: Final = 0.5
"""Share of common words from which a text of the same file is the other one, changed."""
_EDITED: Final = "edited here since it was imported"
_NAMESPACE: Final = uuid.UUID("5b0e3c1c-6f0d-5b7e-9a52-6d7b3a1f4c90")


class PlannedKind(StrEnum):
    """What importing would do: write a fact, a new version of one, retract one, or bring it back.

    ``CONFLICT`` is a change in a file to a fact that a person edited here.
    """

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    CONFLICT = "conflict"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class FileFact:
    """What a file says: the fact that it would be."""

    id: str
    category: OrgFactCategory
    content: str
    traits: OrgTraits
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One line of a plan; ``before`` is the present text of the fact, empty for a new one.

    ``flags`` say what in its text asks for a second look. ``version`` is the fact's present one, 0
    for a new one. ``note`` says what else is to be known.
    """

    number: int
    kind: PlannedKind
    fact_id: str
    category: OrgFactCategory
    content: str
    before: str
    traits: OrgTraits
    version: int
    flags: tuple[str, ...] = ()
    note: str = ""

    @property
    def is_chosen(self) -> bool:
        """Whether it is applied when nothing is chosen by hand."""
        plain = self.kind in (PlannedKind.NEW, PlannedKind.CHANGED, PlannedKind.GONE)
        return plain and not self.flags and not self.note

    @property
    def path(self) -> str:
        """The file that it comes from, relative to the project."""
        return path_of(self.traits.source)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read: how many rules or decisions it has, and other paths to it."""

    path: str
    kind: str
    found: int
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OrgImportPlan:
    """All that importing a project would change; ``unchanged`` counts what is there already.

    ``problems`` pairs paths with why something of them wasn't read. ``mark`` stands for the plan:
    applying names it, and is refused when files or facts have changed since.
    """

    project: str
    changes: tuple[PlannedChange, ...]
    files: tuple[ReadFile, ...]
    unchanged: int
    problems: tuple[tuple[str, str], ...] = ()
    cancelled: bool = False
    mark: str = ""

    def chosen(self, only: Sequence[str] = ()) -> tuple[PlannedChange, ...]:
        """The lines to apply: those chosen by themselves, or all of the kinds that are named.

        A kind is one of ``PlannedKind``, ``flagged``, or a category such as ``convention``. Naming
        only categories takes what is chosen by itself among them, and flagged lines are taken by
        ``flagged`` alone.
        """
        kinds = set(PlannedKind) & set(only)
        categories = set(OrgFactCategory) & set(only)
        flagged = "flagged" in only
        found = []
        for change in self.changes:
            if categories and change.category not in categories:
                continue
            named = change.kind in kinds and not change.flags
            asked = named or (flagged and bool(change.flags))
            if asked or (not kinds and not flagged and change.is_chosen):
                found.append(change)
        return tuple(found)


def path_of(source: str) -> str:
    """The file of a source such as ``AGENTS.md#L12``."""
    return source.rpartition("#L")[0] or source


def paths_of(traits: OrgTraits) -> frozenset[str]:
    """All files that say a fact."""
    others = [tag.removeprefix(ALSO) for tag in traits.others if tag.startswith(ALSO)]
    return frozenset(map(path_of, (traits.source, *others)))


def wording(text: str) -> str:
    """The words of a text by which it is the same rule: without emphasis, case and wrapping."""
    plain = compiled(r"[*_`~]|[.;:!]+(?=\s|$)").sub("", text.casefold())
    return " ".join(plain.split())


def fingerprint(text: str) -> str:
    """A short hash of the words of a text."""
    return hashlib.sha256(wording(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fact_id_of(project: str, kind: str, key: str) -> str:
    """The id of the fact that a project's rule or record becomes; always the same."""
    return str(uuid.uuid5(_NAMESPACE, f"{project}\n{kind}\n{key}"))


def make_plan(
    project: str,
    facts: Sequence[FileFact],
    known: Iterable[OrgEntry],
    lost: frozenset[str],
    files: Sequence[ReadFile] = (),
    problems: Sequence[tuple[str, str]] = (),
    *,
    cancelled: bool = False,
) -> OrgImportPlan:
    """Compare what files say with what is stored, retracted facts included.

    ``lost`` are paths that couldn't be read now: what came from them stays. Nothing is gone either
    when the reading was cancelled.
    """
    comparison = _Comparison(project, facts, known)
    changes = [*comparison.changes()]
    if not cancelled:
        changes += comparison.gone(lost)
    changes.sort(key=_in_order)
    numbered = tuple(replace(change, number=n) for n, change in enumerate(changes, 1))
    plan = OrgImportPlan(
        project, numbered, tuple(files), comparison.unchanged, tuple(problems), cancelled
    )
    return replace(plan, mark=_mark(plan))


def _in_order(change: PlannedChange) -> tuple[str, int, str]:
    line = change.traits.source.rpartition("#L")[2]
    return change.path, int(line) if line.isdecimal() else 0, change.kind


def _mark(plan: OrgImportPlan) -> str:
    said = [
        (c.kind, c.fact_id, c.category, c.content, list(c.traits.tags), c.version)
        for c in plan.changes
    ]
    return hashlib.sha256(json.dumps([plan.project, said]).encode()).hexdigest()[:16]


class _Comparison:
    """Pairs what files say with facts: by fingerprint, by words, then by likeness."""

    def __init__(self, project: str, facts: Sequence[FileFact], known: Iterable[OrgEntry]) -> None:
        self._facts = facts
        everything = [e for e in known if e.traits.project in ("", project)]
        self._imported = [
            e
            for e in everything
            if e.origin is OrgOrigin.FACT and _imported(e) and e.traits.project == project
        ]
        self._ids = {e.id for e in everything}
        self._others = {
            wording(e.content): e
            for e in everything
            if e.retracted_at is None and not (_imported(e) and e.traits.project == project)
        }
        self._pairs: dict[str, OrgEntry] = {}
        self.unchanged = 0
        self._pair()

    def _pair(self) -> None:
        free = {entry.id: entry for entry in self._imported}
        prints: dict[str, list[OrgEntry]] = {}
        for entry in self._imported:
            prints.setdefault(_imported(entry), []).append(entry)
        for fact in self._facts:
            same = free.get(fact.id)
            alike = [e for e in prints.get(fingerprint(fact.content), []) if e.id in free]
            alike.sort(key=lambda e: e.retracted_at is not None)
            if same is None and alike:
                same = alike[0]
            if same is not None:
                self._pairs[fact.id] = free.pop(same.id)
        self._pair_by_likeness(free)

    def _pair_by_likeness(self, free: dict[str, OrgEntry]) -> None:
        """A rule of a file that is gone and one that is new may be the same, in other words."""
        by_path: dict[str, list[OrgEntry]] = {}
        for entry in free.values():
            if entry.retracted_at is None:
                by_path.setdefault(path_of(entry.traits.source), []).append(entry)
        for fact in self._facts:
            if fact.id in self._pairs or fact.category is OrgFactCategory.ADR:
                continue
            if wording(fact.content) in self._others:
                continue
            likely = [
                (_likeness(fact, entry), entry)
                for entry in by_path.get(path_of(fact.traits.source), ())
                if entry.id in free
            ]
            likely = [pair for pair in likely if pair[0] >= _SIMILAR]
            if likely:
                best = max(likely, key=lambda pair: pair[0])[1]
                self._pairs[fact.id] = free.pop(best.id)

    def changes(self) -> Iterable[PlannedChange]:
        """The lines for everything that the files say and the store doesn't."""
        for fact in self._facts:
            entry = self._pairs.get(fact.id)
            change = self._new(fact) if entry is None else _difference(fact, entry)
            if change is None:
                self.unchanged += 1
            else:
                yield change

    def gone(self, lost: frozenset[str]) -> Iterable[PlannedChange]:
        """The lines for facts of files that don't say them any more."""
        paired = {entry.id for entry in self._pairs.values()}
        for entry in self._imported:
            kept = entry.id in paired or entry.retracted_at is not None
            if kept or paths_of(entry.traits) & lost:
                continue
            gone = FileFact(entry.id, entry.category, "", entry.traits)
            note = _EDITED if is_edited(entry) else ""
            yield _planned(PlannedKind.GONE, gone, entry.id, entry.content, entry.version, note)

    def _new(self, fact: FileFact) -> PlannedChange | None:
        if wording(fact.content) in self._others:
            return None
        fact_id = fact.id
        if fact_id in self._ids:  # of a fact that says something else by now
            fact_id = fact_id_of(fact.traits.project, "again", f"{fact.id}\n{fact.content}")
        return _planned(PlannedKind.NEW, fact, fact_id, "", 0)


def is_edited(entry: OrgEntry) -> bool:
    """Whether a person changed the text of a fact since it was imported."""
    return _imported(entry) != fingerprint(entry.content)


def _imported(entry: OrgEntry) -> str:
    marks = (t.removeprefix(IMPORTED) for t in entry.traits.others if t.startswith(IMPORTED))
    return next(marks, "")


def _likeness(fact: FileFact, entry: OrgEntry) -> float:
    words = compiled(r"\w+")
    return jaccard(
        set(words.findall(wording(fact.content))), set(words.findall(wording(entry.content)))
    )


def _difference(fact: FileFact, entry: OrgEntry) -> PlannedChange | None:
    """The line for a fact that is stored; ``None`` when its file says the same as before."""
    said_the_same = _imported(entry) == fingerprint(fact.content)
    kind, note = PlannedKind.CHANGED, ""
    if entry.retracted_at is not None:
        kind, note = PlannedKind.RETRACTED, "retracted here"
    elif said_the_same and _same_traits(fact, entry):
        return None
    elif said_the_same and is_edited(entry):
        fact = replace(fact, content=entry.content)
    elif is_edited(entry):
        kind, note = PlannedKind.CONFLICT, _EDITED
    return _planned(kind, fact, entry.id, entry.content, entry.version, note)


def _same_traits(fact: FileFact, entry: OrgEntry) -> bool:
    """Whether what is known beside the text is the same, whatever the lines and headings."""
    new, old = fact.traits, entry.traits
    if (new.status, new.date, new.supersedes) != (old.status, old.date, old.supersedes):
        return False
    scopes = [{t for t in each.others if t.startswith(APPLIES_TO)} for each in (new, old)]
    return paths_of(new) == paths_of(old) and scopes[0] == scopes[1]


def _planned(
    kind: PlannedKind, fact: FileFact, fact_id: str, before: str, version: int, note: str = ""
) -> PlannedChange:
    return PlannedChange(
        0,
        kind,
        fact_id,
        fact.category,
        fact.content,
        before,
        fact.traits,
        version,
        fact.flags,
        note,
    )
