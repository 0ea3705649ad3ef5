"""Executions kept as evidence: the record, its redacted lines, and how far a file was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from synthorg_tui.core.execution import Execution, SourceRef


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The redacted transcript lines that a reference names.

    ``path`` is where the transcript was read; the lines come from the store, so they are there
    even when the file is gone.
    """

    ref: SourceRef
    path: str
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FileMark:
    """What was seen of a transcript file at its last import; equal marks need no new reading."""

    path: str
    size: int
    mtime_ns: int
    digest: str


class ExecutionStore(Protocol):
    """Keeps executions; saving one again replaces it."""

    async def save(self, execution: Execution, lines: Sequence[str], mark: FileMark) -> None:
        """Keep the record with its complete, redacted lines (compressed) and the file's mark."""
        ...

    async def get(self, execution_id: str) -> Execution | None:
        """The record, or ``None``."""
        ...

    async def excerpt(self, ref: SourceRef, *, context: int = 0) -> Excerpt | None:
        """The lines named, with ``context`` lines around; ``None`` when they aren't there."""
        ...

    async def marks(self) -> dict[str, FileMark]:
        """The marks of all imported files by path."""
        ...

    async def count(self) -> int:
        """How many executions are kept."""
        ...
