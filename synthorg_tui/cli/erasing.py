"""What every purge on the command line does besides: files, copies of the database, the result.

Which memories and sessions are erased is for the commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import YES, Argument
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.output import ProgressLine, View, Warn
from synthorg_tui.cli.records import Json
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.curation.erasure import Erased
    from synthorg_tui.memory.store.copies import StoreCopy
    from synthorg_tui.memory.store.residue import Remains

WORD = "purge"
"""What a person types to confirm."""


ERASING: Final = (
    YES,
    Argument("--backups", action="store_true", help="delete the backups that hold it, too"),
)
"""The options that every purge has."""


@dataclass(frozen=True, slots=True)
class ErasedFiles:
    """What a purge did to files: copies that were deleted, copies that hold it, what remains."""

    remains: "Remains"
    deleted: tuple["StoreCopy", ...] = ()
    holding: tuple["StoreCopy", ...] = field(default=())

    def as_json(self) -> Json:
        """Return the fields that a purge adds to its result."""
        return {
            "remains": "" if self.remains.is_empty else self.remains.told,
            "deleted_copies": [str(copy.path) for copy in self.deleted],
            "copies": [str(copy.path) for copy in self.holding],
        }


async def tell_copies(
    context: Context,
    engine: AnyEngine,
    *,
    memory_ids: Sequence[str] = (),
    session_ids: Sequence[str] = (),
) -> None:
    """Say which copies of the database a purge of these would delete, and which it wouldn't."""
    if context.args.yes:
        return
    for copy in await engine.maintenance.copies(memory_ids, session_ids):
        path = short_path(str(copy.path))
        if not copy.is_backup:
            context.console.note(f"A database that a restore set aside is deleted: {path}")
        elif context.args.backups:
            context.console.note(f"A backup is deleted: {path}")
        else:
            context.console.note(f"A backup keeps it: {path} (--backups deletes it, too)")


async def erase_files(context: Context, engine: AnyEngine) -> ErasedFiles:
    """Write the store's files anew without what was purged, and delete copies that hold it."""
    with ProgressLine(context.console) as line:
        remains = await engine.maintenance.compact(
            progress=lambda done, size: line.update(f"erasing from disk: {done:,} of {size:,} MB")
        )
    deleted = await engine.maintenance.delete_copies(backups=context.args.backups)
    return ErasedFiles(remains, deleted, await engine.maintenance.copies())


def erased_view(done: str, erased: "Erased", files: ErasedFiles) -> View:
    """Return what a purge did, for a person; ``done`` is its first line."""
    names = ", ".join(short_path(str(copy.path)) for copy in files.holding)
    held = counted(len(files.holding), "copy of the database", "copies of the database")
    remains = f"{files.remains.told}; `synthorg-tui doctor --fix` tries again"
    return (
        done,
        [f"Removed {short_path(removed)}" for removed in erased.removed],
        [f"Deleted {short_path(str(copy.path))}" for copy in files.deleted],
        Warn(*(f"{short_path(path)} stays: {why}" for path, why in erased.left)),
        bool(names) and Warn(f"still in {held}, to be deleted by hand: {names}"),
        not files.remains.is_empty and Warn(remains),
    )
