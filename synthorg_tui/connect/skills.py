"""Puts approved skills where a client looks: as links to our files, so that there is one of each.

Which skills these are is the store's word (``approved``), never what lies in a folder.
"""

import asyncio
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.connect.records import FOLDER, Records
from synthorg_tui.core.errors import DomainError
from synthorg_tui.persistence.lock import has_store

_PATIENCE: Final = 20.0
"""Seconds to wait for an owner of a large store on a busy machine."""


@dataclass(frozen=True, slots=True)
class PlacedSkills:
    """What was linked in a client's folder, and what wasn't.

    ``left_alone`` are names that somebody else has there, ``changed`` those whose file isn't the
    approved one any more.
    """

    linked: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


async def approved(
    data_dir: Path, agent_id: str, *, config_path: Path | None = None
) -> dict[str, str]:
    """The skills that an agent may read: SHA-256 (hex) by name; none without a store.

    Raises ``DomainError`` when nobody can be asked.
    """
    if not has_store(data_dir):
        return {}
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.host.agent import AgentConnection

    identity = AgentIdentity(agent_id, client="placing skills")
    connection = AgentConnection(data_dir, identity, config_path=config_path, patience=_PATIENCE)
    try:
        return {card.name: card.sha256 for card in await connection.skills()}
    finally:
        await connection.close()


def shipped(settled: Collection[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The folders of skills that the program ships, and the names of those not ``settled``."""
    from synthorg_tui.skills.library import shipped_folders

    folders = shipped_folders()
    names = {name for folder in folders for name in _digests(folder)}
    return folders, tuple(sorted(names.difference(settled)))


def as_one(placed: Sequence[PlacedSkills]) -> PlacedSkills:
    """What was done from several sources, none of which has to have all that is wanted."""
    linked = {name for one in placed for name in one.linked}
    left_alone = {name for one in placed for name in one.left_alone} - linked
    changed = {name for one in placed for name in one.changed} - linked - left_alone
    return PlacedSkills(*(tuple(sorted(names)) for names in (linked, left_alone, changed)))


def place(source: Path, root: Path, wanted: Mapping[str, str]) -> PlacedSkills:
    """Link what is ``wanted`` (SHA-256 by name) from ``source`` into ``root``.

    Links to files that are missing or changed are removed. Raises ``OSError`` where the folder
    can't be written.
    """
    if os.path.realpath(root) == os.path.realpath(source):
        return PlacedSkills()
    present = _digests(source)
    changed = {name for name, digest in wanted.items() if present.get(name, digest) != digest}
    for link in _our_links(source, root):
        if link.name not in present or link.name in changed:
            link.unlink(missing_ok=True)
    names = sorted(present.keys() & wanted.keys() - changed)
    if names:
        root.mkdir(parents=True, exist_ok=True)
    left_alone = []
    for name in names:
        link = root / name
        if not os.path.lexists(link):
            link.symlink_to(source / name, target_is_directory=True)
        elif not _is_ours(link, source):
            left_alone.append(name)
    linked = tuple(name for name in names if name not in left_alone)
    return PlacedSkills(linked, tuple(left_alone), tuple(sorted(changed)))


def clear(source: Path, root: Path) -> tuple[str, ...]:
    """Remove our links from ``root``; their names."""
    links = sorted(_our_links(source, root))
    for link in links:
        link.unlink(missing_ok=True)
    return tuple(link.name for link in links)


async def refresh(data_dir: Path, agent_id: str, *, config_path: Path | None = None) -> None:
    """Place what was approved since, wherever the agent's clients look.

    For programs that have something else to do: what fails is left as it is.
    """
    if not (data_dir / FOLDER).is_dir():
        return
    with suppress(DomainError, OSError):
        records = [record for record in Records(data_dir).skills if record.agent_id == agent_id]
        wanted: Mapping[str, str] = {}
        if records:
            wanted = await approved(data_dir, agent_id, config_path=config_path)
        for record in records:
            with suppress(OSError):
                await asyncio.to_thread(place, Path(record.source), Path(record.root), wanted)


def _digests(source: Path) -> dict[str, str]:
    """The usable skills there: SHA-256 by name."""
    from synthorg_tui.skills.document import RootScope, SkillRoot
    from synthorg_tui.skills.library import SkillLibrary  # here: most callers have nothing to place

    files = SkillLibrary((SkillRoot(source, RootScope.OWN),)).scan()
    return {file.name: file.sha256 for file in files if file.document is not None}


def _our_links(source: Path, root: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in root.iterdir():
            if _is_ours(path, source):
                yield path


def _is_ours(link: Path, source: Path) -> bool:
    return link.is_symlink() and link.readlink() == source / link.name
