"""Memories as a folder of Markdown files: raw records, what was made of them, and a list of both.

A folder is one export: it is made anew as a whole, and what is no longer a memory leaves it. Names
are slugs, no link is followed, a file is there whole or not at all, and strangers' text stands in
fences, so that a viewer neither runs nor fetches anything because of it. Memories marked sensitive
are left out.
"""

import asyncio
import hashlib
import json
import logging
import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.files import write_atomically
from synthorg_tui.core.paths import expand_home
from synthorg_tui.core.text import counted, safe_text, truncate
from synthorg_tui.memory.consolidation.config import WikiExportConfig
from synthorg_tui.memory.consolidation.models import COMPRESSED_TAG, DETAILED_TAG
from synthorg_tui.memory.consolidation.strategy import CONSOLIDATED_TAG
from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.listing import BrowseFilter, ListedMemory, MemoryPage
from synthorg_tui.memory.retrieval.tags import parse_tags

RAW: Final = "raw"
WIKI: Final = "wiki"
PROJECTS: Final = "projects"
INDEX: Final = "index.md"
MAX_STEM: Final = 100
_AT_ONCE: Final = 1000
"""Memories that are read at once."""
_PRIVATE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_MARK: Final = "generator: synthorg-tui"
_DIARY: Final = frozenset({MemoryCategory.EPISODIC, MemoryCategory.WORKING})
_MADE: Final = frozenset({COMPRESSED_TAG, CONSOLIDATED_TAG})
_UNSAFE_IN_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")
_SPECIAL: Final = re.compile(r"([\\`*\[\]<>|])")

_log = logging.getLogger(__name__)


BrowseMemories: TypeAlias = Callable[..., Awaitable[MemoryPage]]
"""Lists memories as ``MemoryAdmin.browse`` does, in this process or another."""


@dataclass(frozen=True, slots=True)
class WikiExport:
    """What an export wrote.

    ``raw``, ``wiki`` and ``projects`` are numbers of files. ``removed`` files were of an earlier
    export; ``withheld`` memories are sensitive; ``omitted`` ones were beyond
    ``max_entries_per_view``; ``failed`` are names of files that couldn't be written.
    """

    root: Path
    raw: int = 0
    wiki: int = 0
    projects: int = 0
    removed: int = 0
    withheld: int = 0
    omitted: int = 0
    failed: tuple[str, ...] = ()


def write_wiki(
    root: Path, memories: Iterable[ListedMemory], config: WikiExportConfig, pages: Mapping[str, str]
) -> WikiExport:
    """Make a folder hold these memories, and ``pages`` of projects, Markdown by name.

    A file that can't be written is logged and named in the result; the others are written. Only
    files that an export wrote are ever replaced or removed.

    Args:
        root: The folder; made if it is missing. It may be a link, what is in it may not.
        memories: What is written.
        config: Which views, and how many memories each has at most.
        pages: The pages of projects.

    Raises:
        DomainError: The folder can't be made, or a link stands where a folder belongs.
    """
    given = list(memories)
    secret = Sensitivity.SENSITIVE
    shown = [one for one in given if parse_tags(one.tags).sensitivity is not secret]
    views = _views(shown, config)
    texts = {
        name: {f"{stem_of(one.id)}.md": memory_page(one) for one in view}
        for name, view in views.items()
    }
    head = f"---\n{_MARK}\n---\n\n"
    texts[PROJECTS] = {f"{stem_of(name)}.md": head + page for name, page in pages.items()}
    folders = {name: _folder(root, name) for name in texts}
    failed: list[str] = []
    written = {name: _write_all(folders[name], new, failed) for name, new in texts.items()}
    removed = sum(_remove_others(folders[name], new) for name, new in texts.items())
    _write_all(root, {INDEX: index_page(views, tuple(pages))}, failed)
    return WikiExport(
        root=root,
        **written,
        removed=removed,
        withheld=len(given) - len(shown),
        omitted=len(shown) - sum(map(len, views.values())),
        failed=tuple(failed),
    )


def _views(
    memories: Sequence[ListedMemory], config: WikiExportConfig
) -> dict[str, tuple[ListedMemory, ...]]:
    """The memories of each view, newest first, without those beyond its bound."""
    wanted = {RAW: config.include_raw_tier, WIKI: config.include_compressed_tier}
    views: dict[str, list[ListedMemory]] = {name: [] for name in wanted}
    for one in sorted(memories, key=lambda one: (one.created_at, one.id), reverse=True):
        # Raw is what happened, wiki what was made of it or is known.
        is_made = one.category not in _DIARY or not _MADE.isdisjoint(one.tags)
        views[RAW if DETAILED_TAG in one.tags or not is_made else WIKI].append(one)
    most = config.max_entries_per_view
    return {name: tuple(views[name][:most]) if wanted[name] else () for name in wanted}


def _folder(root: Path, name: str) -> Path:
    folder = root / name
    try:
        root.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        mode = folder.lstat().st_mode
    except OSError as error:
        raise DomainError(
            f"{folder} can't be made: {error.strerror or error}",
            remedy="Check the path and its permissions, or name another folder.",
        ) from error
    if not stat.S_ISDIR(mode):
        raise DomainError(f"{folder} is no plain folder", remedy="Remove it.")
    return folder


async def export_memories(
    root: Path,
    config: WikiExportConfig,
    browse: BrowseMemories,
    *,
    agents: tuple[str, ...] = (),
    pages: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> WikiExport:
    """Write the memories that a listing has, page by page read, without holding up the app.

    Args:
        root: The folder.
        config: Which views, and how many memories each has at most.
        browse: ``browse`` of ``MemoryAdmin``.
        agents: Whose memories; without any those of all agents.
        pages: Pages of projects, Markdown by name.
        progress: Is told how many of how many memories were read.

    Raises:
        MemoryRetrievalError: They can't be read.
        DomainError: As for ``write_wiki``.
    """
    found: list[ListedMemory] = []
    while True:
        page = await browse(BrowseFilter(agents=agents), offset=len(found), limit=_AT_ONCE)
        found += page.entries
        progress(len(found), page.total)
        if not page.entries or len(found) >= page.total:
            return await asyncio.to_thread(write_wiki, root, found, config, pages or {})


async def export_after_consolidation(
    config: WikiExportConfig,
    data_dir: Path,
    browse: BrowseMemories,
    merged_since: Callable[[datetime | None], Awaitable[int]],
    *,
    pages: Callable[[], Awaitable[Mapping[str, str]]],
) -> WikiExport | None:
    """Write the folder if the settings want it, once memories were merged since it was written.

    Args:
        config: Whether it is written, where, and what.
        data_dir: Where the folder is without another in ``config``.
        browse: ``browse`` of ``MemoryAdmin``.
        merged_since: Says how many memories were merged since a moment, ``None`` for ever.
        pages: Makes the pages of projects; asked only when the folder is written.

    Returns:
        What was written, or ``None`` when nothing was to be.
    """
    if not config.enabled or config.trigger != "on_consolidation":
        return None
    root = export_root(config, data_dir)
    written_at = None
    with suppress(OSError):  # it was never written
        written_at = datetime.fromtimestamp((root / INDEX).stat().st_mtime, UTC)
    if not await merged_since(written_at):
        return None
    return await export_memories(root, config, browse, pages=await pages())


def export_root(config: WikiExportConfig, data_dir: Path) -> Path:
    """Return the folder that the settings name; without one it is ``wiki`` in ``data_dir``."""
    return expand_home(config.export_root) if config.export_root else data_dir / WIKI


def stem_of(name: str) -> str:
    """Return the name of a file without its ending, of characters that are safe everywhere.

    A slash becomes an underscore. A name of which more had to be changed gets part of its hash, so
    that it shares no file with another.
    """
    safe = _UNSAFE_IN_NAME.sub("_", name).lstrip(".")[:MAX_STEM]
    if safe == name.replace("/", "_"):
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe or 'memory'}-{digest}"


def memory_page(memory: ListedMemory) -> str:
    """Return the Markdown of one memory: its facts as YAML, its text in a fence."""
    facts: dict[str, object] = {
        "id": memory.id,
        "agent_id": memory.agent_id,
        "category": memory.category.value,
        "created_at": memory.created_at.isoformat(),
        "source": memory.source,
        "confidence": memory.confidence,
        "tags": list(memory.tags),
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in facts.items() if value is not None]
    text = safe_text(memory.content, multiline=True)
    return "\n".join(("---", _MARK, *lines, "---", "", _fenced(text), ""))


def index_page(views: Mapping[str, Sequence[ListedMemory]], pages: Sequence[str]) -> str:
    """Return the list of all files, with their counts."""
    counts = ", ".join(f"{len(view):,} {name}" for name, view in views.items())
    lines = [
        "---",
        _MARK,
        "---",
        "",
        "# Memories",
        "",
        f"{counts}, {counted(len(pages), 'project')}",
    ]
    if pages:
        lines += ["", f"## {PROJECTS}", ""]
        lines += [f"- [{_title(name)}]({PROJECTS}/{stem_of(name)}.md)" for name in pages]
    for name, view in views.items():
        lines += ["", f"## {name} ({len(view):,})", ""]
        lines += [
            f"- {one.created_at:%Y-%m-%d} [{_title(one.content)}]({name}/{stem_of(one.id)}.md) "
            f"{one.category.value}, {_title(one.agent_id)}"
            for one in view
        ]
    return "\n".join((*lines, ""))


def _write_all(folder: Path, files: Mapping[str, str], failed: list[str]) -> int:
    """Write files and return how many could be; the others are noted.

    What somebody else put in a file's place stays.
    """
    count = 0
    for name, text in files.items():
        path = folder / name
        try:
            if os.path.lexists(path) and not _is_ours(path):
                raise FileExistsError("somebody else's file has this name")
            data = text.encode("utf-8", "backslashreplace")
            write_atomically(path, data, mode=_PRIVATE, durable=False)
            count += 1
        except OSError as error:
            _log.warning("%s can't be written: %s", path, error)
            failed.append(name if name == INDEX else f"{folder.name}/{name}")
    return count


def _remove_others(folder: Path, keep: Mapping[str, str]) -> int:
    """Remove files of earlier exports and return how many that were."""
    count = 0
    for path in sorted(folder.glob("*.md")):
        with suppress(OSError):
            if path.name not in keep and _is_ours(path):
                path.unlink()
                count += 1
    return count


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return _MARK.encode() in file.read(200)


def _fenced(text: str) -> str:
    """The text as a block of code that nothing in it can end."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _title(text: str) -> str:
    """The first line of a text, short, and with nothing that Markdown takes for a sign."""
    line = next(filter(None, map(str.strip, text.splitlines())), "memory")
    return _SPECIAL.sub(r"\\\1", safe_text(truncate(line, 80)))
