"""Importing the rules and decisions that a project keeps in files: looked at, shown, then applied.

Files are data of strangers: secrets are redacted, every text is scanned as proposals are, and
nothing is written before a plan was shown. A plan is applied in one transaction, by the mark under
which it was shown, and undone as one act like every other write of a person.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from synthorg_tui.approvals.scan import scan
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.text import counted
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.errors import OrgMemoryQueryError, OrgMemoryWriteError
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest
from synthorg_tui.memory.org.tags import OrgTraits
from synthorg_tui.organisation.adr import DecisionRecord, read_records
from synthorg_tui.organisation.import_plan import (
    ALSO,
    APPLIES_TO,
    IMPORTED,
    FileFact,
    OrgImportPlan,
    PlannedChange,
    PlannedKind,
    ReadFile,
    fact_id_of,
    fingerprint,
    make_plan,
    paths_of,
    wording,
)
from synthorg_tui.organisation.project_files import (
    FileProblem,
    ProjectFiles,
    SourceFileKind,
    find_files,
)
from synthorg_tui.organisation.rule_files import read_rules
from synthorg_tui.organisation.rule_text import FoundRule
from synthorg_tui.organisation.service import OrganisationService

MAX_FACTS: Final = 5000
"""Rules and decisions of one project; a report says what is left out."""


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import wrote: facts added (brought back ones included), changed and retracted."""

    added: int = 0
    changed: int = 0
    retracted: int = 0

    def __str__(self) -> str:
        """Say it in words."""
        parts = ((self.added, "added"), (self.changed, "changed"), (self.retracted, "retracted"))
        return ", ".join(f"{count:,} {word}" for count, word in parts if count) or "nothing"


class OrgImports:
    """Plans and applies imports of projects' files."""

    def __init__(self, book: OrganisationService) -> None:
        self._book = book

    async def projects(self) -> tuple[Path, ...]:
        """Return the folders from which active facts were imported, sorted."""
        traits = [OrgTraits.of(tags) for tags in await self._book.tags()]
        found = {
            each.project for each in traits if any(tag.startswith(IMPORTED) for tag in each.others)
        }
        return tuple(Path(project) for project in sorted(found) if project)

    async def plan(
        self,
        project: Path,
        *,
        progress: Callable[[int, int], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> OrgImportPlan:
        """Look at a project's files and tell what importing them would change; writes nothing.

        ``progress`` is told how many files are read, of how many, also from another thread.
        Raises ``OrgMemoryQueryError`` when the project is no folder that can be read.
        """
        try:
            found = await asyncio.to_thread(find_files, project, cancel)
            lost = frozenset(problem.path for problem in found.problems)
            facts, files = await asyncio.to_thread(_read, found, progress, cancel)
        except OSError as error:
            raise OrgMemoryQueryError(
                f"{project}: {error.strerror or error}", remedy="Give the folder of a project."
            ) from error
        known = await self._book.entries(retracted=True)
        root, cancelled = str(found.root), found.cancelled
        return make_plan(root, facts, known, lost, files, found.problems, cancelled=cancelled)

    async def apply(
        self, project: Path, mark: str, numbers: Sequence[int], *, actor: str
    ) -> ImportOutcome:
        """Carry out lines of a plan by their numbers, in one transaction.

        Raises ``OrgMemoryWriteError`` when files or facts aren't as they were in the plan with this
        mark, and what writing raises; nothing has changed then.
        """
        plan = await self.plan(project)
        if plan.mark != mark:
            raise OrgMemoryWriteError(
                "files or facts have changed since the plan was shown",
                remedy="Look at it again, then decide.",
            )
        wanted = [change for change in plan.changes if change.number in frozenset(numbers)]
        if wanted:
            await self._book.apply(changes_of(wanted), actor=actor)
        counts = [
            sum(change.kind in kinds for change in wanted)
            for kinds in (
                (PlannedKind.NEW, PlannedKind.RETRACTED),
                (PlannedKind.CHANGED, PlannedKind.CONFLICT),
                (PlannedKind.GONE,),
            )
        ]
        return ImportOutcome(*counts)


def _read(
    found: ProjectFiles, progress: Callable[[int, int], None] | None, cancel: threading.Event | None
) -> tuple[list[FileFact], list[ReadFile]]:
    """What the files of a project say; adds to ``found`` what of them couldn't be read."""
    project = str(found.root)
    rules: dict[FoundRule, None] = {}
    files: list[ReadFile] = []
    rule_files = [file for file in found.files if file.kind is SourceFileKind.RULES]
    for number, file in enumerate(rule_files, 1):
        if cancel is not None and cancel.is_set():
            found.cancelled = True
            break
        said = read_rules(found.root, file, found.problems)
        rules |= dict.fromkeys(said)
        files.append(ReadFile(file.path, file.kind, len(said), file.also))
        if progress is not None:
            progress(number, len(rule_files))
    record_files = [file for file in found.files if file.kind is SourceFileKind.ADR]
    records = read_records(record_files)
    of_record = {record.path for record in records}
    files += [ReadFile(f.path, f.kind, int(f.path in of_record), f.also) for f in record_files]
    for record in records:
        for named in record.unresolved:
            reason = f"names a record that isn't there: {named}"
            found.problems.append(FileProblem(record.path, reason))
    facts = [*_rule_facts(project, list(rules)), *_record_facts(project, records)]
    if len(facts) > MAX_FACTS:
        more = counted(len(facts) - MAX_FACTS, "rule")
        reason = f"{more} left out: more than {MAX_FACTS:,} in the project"
        found.problems.append(FileProblem(".", reason))
    return facts[:MAX_FACTS], files


def changes_of(planned: Sequence[PlannedChange]) -> list[OrgChange]:
    """The writes that lines of a plan stand for, by a person."""
    author = OrgFactAuthor(is_human=True)
    return [
        OrgChange(
            kind=OrgChangeKind.RETRACT,
            author=author,
            fact_id=change.fact_id,
            expected_version=change.version,
        )
        if change.kind is PlannedKind.GONE
        else OrgChange(
            kind=OrgChangeKind.PUBLISH,
            author=author,
            fact_id=change.fact_id,
            request=OrgFactWriteRequest(
                content=change.content, category=change.category, tags=change.traits.tags
            ),
            expected_version=change.version,
        )
        for change in planned
    ]


def _rule_facts(project: str, rules: Sequence[FoundRule]) -> list[FileFact]:
    """The facts of rules: those with the same words, in whatever files, are one."""
    facts: dict[str, FileFact] = {}
    for found in rules:
        content = _clean(found.text)
        key = wording(content)
        if not key:
            continue
        known = facts.get(key)
        if known is not None:
            if found.path not in paths_of(known.traits):
                others = (*known.traits.others, f"{ALSO}{found.source}")
                facts[key] = replace(known, traits=replace(known.traits, others=others))
            continue
        marks = [f"{IMPORTED}{fingerprint(content)}"]
        if found.scope:
            marks.append(f"{APPLIES_TO}{_clean(found.scope)}")
        title = _clean(found.section)
        facts[key] = FileFact(
            fact_id_of(project, "rule", key),
            found.category,
            content,
            OrgTraits(project=project, source=found.source, title=title, others=tuple(marks)),
            _flags(found.text, found.section, found.scope),
        )
    return list(facts.values())


def _record_facts(project: str, records: Sequence[DecisionRecord]) -> list[FileFact]:
    ids = {record.path: fact_id_of(project, "adr", record.path) for record in records}
    facts = []
    for record in records:
        content = _clean(record.content)
        traits = OrgTraits(
            project=project,
            source=record.source,
            title=_clean(record.title),
            status=_clean(record.status),
            date=_clean(record.date),
            supersedes=tuple(ids[path] for path in record.supersedes),
            others=(f"{IMPORTED}{fingerprint(content)}",),
        )
        flags = _flags(record.text, record.title, record.status)
        facts.append(FileFact(ids[record.path], OrgFactCategory.ADR, content, traits, flags))
    return facts


def _flags(*texts: str) -> tuple[str, ...]:
    """What in texts of a file asks for a second look, in words."""
    found = scan({str(number): text for number, text in enumerate(texts)})
    return tuple(dict.fromkeys(f"{flag.kind}: {flag.found}" for flag in found))


def _clean(text: str) -> str:
    return redact_text(text, RedactionTally()).strip()
