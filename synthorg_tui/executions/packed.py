"""The redacted lines of a transcript, compressed while they are read.

A transcript may be larger than the memory, so its lines are never all in memory as text. The blocks
made here are stored as they are: how large one is can change, what is in it can't.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

BLOCK_LINES: Final = 500
_BLOCK_CHARACTERS: Final = 64 * 1024
"""A block ends at this size, too. The database needs memory for thousands of blocks at once when it
writes its file, so a block is to be some 10 kB."""


class LineBlock(NamedTuple):
    """Lines ``first`` to ``last`` (1-based, inclusive), joined and compressed by zstandard."""

    first: int
    last: int
    data: bytes

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of each line."""
        import zstandard

        text = zstandard.ZstdDecompressor().decompress(self.data).decode("utf-8", "surrogatepass")
        yield from enumerate(text.split("\n"), self.first)


class PackedLines:
    """The lines of one execution, numbered from 1 in the order in which they are appended.

    The last line can be taken back, since a file may end in a line that is still being written.
    """

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._blocks: list[LineBlock] = []
        self._open: list[str] = []
        self._open_size = 0
        self._packed = 0
        self.has_text = False
        for line in lines:
            self.append(line)

    def __len__(self) -> int:
        return self._packed + len(self._open)

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks():
            for _, line in block.lines():
                yield line

    @property
    def last(self) -> str:
        """The line that was appended last; raises ``IndexError`` when there is none."""
        return self._open[-1]

    def append(self, line: str) -> None:
        """Add a line; a line end at its end is left out."""
        if len(self._open) >= BLOCK_LINES or self._open_size >= _BLOCK_CHARACTERS:
            self._blocks.append(self._pack())
            self._packed += len(self._open)
            self._open, self._open_size = [], 0
        line = line.rstrip("\n")
        self._open.append(line)
        self._open_size += len(line)
        self.has_text = self.has_text or bool(line)

    def pop(self) -> None:
        """Remove the line that was appended last; not twice without an ``append`` in between."""
        self._open_size -= len(self._open.pop())

    def blocks(self) -> list[LineBlock]:
        """Return all lines in blocks, in their order."""
        return [*self._blocks, self._pack()] if self._open else list(self._blocks)

    def _pack(self) -> LineBlock:
        import zstandard

        text = "\n".join(self._open).encode("utf-8", "surrogatepass")
        first = self._packed + 1
        data = zstandard.ZstdCompressor(level=3).compress(text)
        # A copy: what the compressor returns goes on taking the room of the whole text.
        return LineBlock(first, self._packed + len(self._open), bytes(memoryview(data)))
