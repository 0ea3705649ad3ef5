"""Publishing: approved policies as a block in the rule files of projects, and out of them again.

So agents that ask nothing of us follow them, too. What is written into somebody's repository is a
person's act: it wants a ``Person``, as a decision does, and the exact bytes that were shown. One
file of a project is ``project_block``; the record of what was published is ``publications``.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.policies import policy_line
from synthorg_tui.organisation.entry_checks import is_written, outdated
from synthorg_tui.organisation.import_plan import path_of, paths_of
from synthorg_tui.organisation.marked_block import DamagedBlockError, enclosed
from synthorg_tui.organisation.models import OrgEntry
from synthorg_tui.organisation.project_block import (
    FILES,
    BlockPlan,
    BlockState,
    ProjectFile,
    PublishError,
    write_plan,
)
from synthorg_tui.organisation.publications import ERASED_BLOCK, Publication, PublicationStore

if TYPE_CHECKING:
    from synthorg_tui.approvals.person import Person

CONVENTIONS: Final = "conventions"
ADRS: Final = "adrs"
"""Parts of the block beside the policies, for whoever asks for them."""


@dataclass(frozen=True, slots=True)
class PublishedBlock:
    """A place where something is published, and how it is now; ``problem`` says why not known."""

    publication: Publication
    state: BlockState
    problem: str = ""

    @property
    def is_current(self) -> bool:
        """Whether the file says what would be published now."""
        return self.state is BlockState.CURRENT and not self.problem


def block_for(
    entries: Sequence[OrgEntry], project: Path, name: str, parts: Iterable[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the block for a file of a project, empty for none, and the ids of the entries in it.

    Policies of the settings and written ones stand in the order in which they are listed, without
    those of other projects and those that were read from this very file. There is no budget: a
    file has room, and a person sees what is written.
    """
    own = [entry for entry in entries if _is_for(entry, project, name)]
    gone = outdated(own)
    titles = {OrgFactCategory.CORE_POLICY: "## Policies of the organisation"}
    if CONVENTIONS in parts:
        titles[OrgFactCategory.CONVENTION] = "## Conventions"
    if ADRS in parts:
        titles[OrgFactCategory.ADR] = "## Decisions"
    sections = [
        (title, found)
        for category, title in titles.items()
        if (found := [one for one in own if one.category is category and one not in gone])
    ]
    if not sections:
        return "", ()
    text = "\n\n".join(
        "\n".join((f"{title}\n", *(policy_line(_words(one)) for one in found)))
        for title, found in sections
    )
    return enclosed(text), tuple(one.id for _, found in sections for one in found)


def usual_file(project: Path) -> str:
    """Return the file of a project that policies go to: the first that it has, else the first."""
    return next((name for name in FILES if (project / name).is_file()), FILES[0])


def project_folder(path: Path) -> Path:
    """Return a project's folder as its files are recorded; raises ``PublishError`` without one."""
    folder = Path(os.path.realpath(path))
    if not folder.is_dir():
        raise PublishError(f"{path} is no folder", remedy="Name the folder of a project.")
    return folder


class Publishing:
    """Plans and carries out what a person publishes; ``entries`` are the organisation's of now.

    Planning only reads files. Show the plans, then ``write`` them.
    """

    def __init__(self, entries: Sequence[OrgEntry], standing: Sequence[Publication]) -> None:
        self._entries = entries
        self._standing = {one.path: one for one in standing}

    def plan(self, project: Path, name: str, parts: Sequence[str] | None = None) -> BlockPlan:
        """Return how a file would get its block; ``parts`` ``None`` are those it has.

        Raises ``PublishError``, also when there is nothing to publish.
        """
        project = project_folder(project)
        known = self._standing.get(str(project / name))
        chosen = tuple(parts) if parts is not None else (known.parts if known else ())
        block, ids = block_for(self._entries, project, name, chosen)
        if not block:
            raise PublishError(
                "there are no policies to publish here",
                remedy="Write one with `org add`, or take the block out with --remove.",
            )
        file = ProjectFile(project, name, known)
        return _planned(file, block, ids, tuple(sorted(chosen)))

    def names_in(self, project: Path) -> tuple[str, ...]:
        """Return the files of a project that have a block by the record."""
        folder = os.path.realpath(project)
        return tuple(one.name for one in self._standing.values() if one.project == folder)

    def plan_removal(self, project: Path, name: str) -> BlockPlan:
        """Return how a file would be without its block; raises the errors of ``plan``."""
        folder = Path(os.path.realpath(project))
        return _planned(ProjectFile(folder, name, self._standing.get(str(folder / name))), "")

    def published(self, projects: Sequence[Path] = ()) -> tuple[PublishedBlock, ...]:
        """Return all places with a block by the record, and what becomes of each.

        With ``projects`` only theirs, and with them blocks of ours that nothing is recorded of.
        """
        folders = [project_folder(project) for project in projects]
        found = [
            self._look(one)
            for one in self._standing.values()
            if not folders or Path(one.project) in folders
        ]
        others = [
            Publication(str(folder / name), str(folder), "")
            for folder in folders
            for name in FILES
            if str(folder / name) not in self._standing
        ]
        unknown = [self._look(one) for one in others]
        return (*found, *(one for one in unknown if one.state is not BlockState.ABSENT))

    def _look(self, place: Publication) -> PublishedBlock:
        known = place if place.written else None
        project, name = Path(place.project), place.name
        wanted, _ = block_for(self._entries, project, name, place.parts)
        file = ProjectFile(project, name, known)
        try:
            return PublishedBlock(place, file.state(file.standing(), wanted))
        except (PublishError, DamagedBlockError) as error:
            return PublishedBlock(place, BlockState.UNKNOWN, error.message)


async def write(plans: Sequence[BlockPlan], records: PublicationStore, *, person: "Person") -> None:
    """Write what a person was shown, and record each file once it is written.

    Raises ``PublishError`` at the first file that can't be written; those before it stay.
    """
    act = await records.new_act()
    for plan in plans:
        if plan.is_needed:
            write_plan(plan)
        if plan.is_needed or not plan.is_recorded:
            await records.add(act, plan.publication, actor=str(person))


async def take_back(
    plans: Sequence[BlockPlan], records: PublicationStore, *, person: "Person"
) -> None:
    """Write what ``plan_undo`` planned, and record that the last act was taken back.

    Raises ``PublishError`` as ``write`` does; asked again, it goes on with what is left.
    """
    act = {one.path: one for one in await records.last_act()}
    for plan in plans:
        if plan.is_needed:
            write_plan(plan)
        await records.take_back([act[str(plan.path)]], actor=str(person))


def plan_undo(act: Sequence[Publication]) -> tuple[BlockPlan, ...]:
    """Return how the files of an act get back the blocks that they had before it.

    Raises ``PublishError`` where the block isn't the one that the act left.
    """
    return tuple(map(_undone, act))


def _undone(one: Publication) -> BlockPlan:
    if one.before == ERASED_BLOCK:
        raise PublishError(
            f"the block that {one.path} had before was erased", remedy="Publish again."
        )
    file = ProjectFile(Path(one.project), one.name, one if one.written else None)
    plan = file.plan(one.before, parts=() if one.written else one.parts)
    expected = (BlockState.STALE,) if one.written else (BlockState.ABSENT, BlockState.CURRENT)
    if plan.is_needed and plan.state not in expected:
        raise PublishError(
            f"the block in {one.path} was changed since, so the act isn't taken back",
            remedy="Publish again with --force, or remove it with --remove --force.",
        )
    return plan


def _planned(
    file: ProjectFile, block: str, entries: tuple[str, ...] = (), parts: tuple[str, ...] = ()
) -> BlockPlan:
    """The plan of a file; damage of its block is told with its path."""
    try:
        return file.plan(block, entries, parts)
    except DamagedBlockError as error:
        raise PublishError(f"{file.path}, {error.message}", remedy=error.remedy) from None


def _is_for(entry: OrgEntry, project: Path, name: str) -> bool:
    """Whether an entry holds in the project, and the file doesn't say it already by itself."""
    if not is_written(entry) or entry.retracted_at is not None:
        return False
    about = entry.traits.project
    if about and Path(os.path.realpath(about)) != project:
        return False
    return not about or name not in paths_of(entry.traits)


def _words(entry: OrgEntry) -> str:
    """What a block says of an entry: of a decision its title, its status and its file."""
    if entry.category is not OrgFactCategory.ADR:
        return entry.content
    traits = entry.traits
    title = traits.title or entry.content.strip().partition("\n")[0]
    where = ", ".join(filter(None, (traits.status, path_of(traits.source))))
    return " ".join(f"{title} ({where})".split()) if where else title
