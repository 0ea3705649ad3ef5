"""Sources of a transcript's lines: a file of lines, a packed one, a document of JSON.

Most agents write a record a line. What is written in another way is taken apart into lines here, so
that a place in it has a number everywhere; nothing a source gives is redacted yet. No source takes
more than a bounded amount of memory.
"""

import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from synthorg_tui.core.errors import DomainError

if TYPE_CHECKING:
    import zstandard

MAX_LINE_BYTES: Final = 24 * 1024 * 1024
"""A longer line is no record; its rest is read past. Decoding one takes five times as much."""
MAX_EXPANSION: Final = 200
"""How many times larger than on disk a compressed file may be: transcripts shrink to a tenth."""
MAX_DOCUMENT: Final = 24 * 1024 * 1024
"""Bytes of a JSON document, which is decoded as a whole; that takes five times as much memory."""
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_CHUNK: Final = 1 << 20


class NotWorthReadingError(DomainError):
    """The file is so large, or expands so much, that it isn't a transcript; it will never be."""


@dataclass(slots=True)
class ReadMeter:
    """Progress of a reading, shared with the thread that reads.

    ``bytes`` is the number of decompressed bytes read; setting ``stop`` ends the reading.
    """

    bytes: int = 0
    stop: threading.Event = field(default_factory=threading.Event)


LineSource = Callable[[Path, ReadMeter], Iterator[bytes]]
"""Yields the lines of a file, each with its line end unless it was still being written.

Raises ``OSError``, also when stopped through the meter, ``ValueError`` for a broken file, and
``NotWorthReadingError``.
"""


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session that is no file of its own; ``path`` names it, ``size`` is its estimate in bytes.

    A session is read again when ``size`` or ``mtime_ns`` (nanoseconds) differ from the last time.
    """

    path: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A ``LineSource`` of sessions that aren't one file each: rows of a database, many files.

    ``sessions`` lists those behind a file that was found; it raises ``OSError`` and ``ValueError``.
    """

    lines: LineSource
    sessions: Callable[[Path], Sequence[ListedSession]]

    def __call__(self, path: Path, meter: ReadMeter) -> Iterator[bytes]:
        """Yield the lines of one session by the path that ``sessions`` gave it."""
        return self.lines(path, meter)


def file_lines(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield the lines of a file as they are, decompressed; a ``LineSource``."""
    with open_transcript(path) as stream:
        yield from bounded_lines(stream, meter)


def document_items(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield a JSON document as lines: what is said once, then one line an item; a ``LineSource``.

    Each list of objects at the top level is taken apart: ``{"id": 1, "messages": [{"a": 2}]}``
    gives ``{"id": 1}`` and ``{"messages": {"a": 2}}``. A document that is a list gives its items
    as they are. What was added at the end keeps the numbers of the lines before it.
    """
    if path.stat().st_size > MAX_DOCUMENT:
        raise NotWorthReadingError(f"it is a JSON document of more than {MAX_DOCUMENT >> 20} MiB")
    raw = path.read_bytes()
    if meter.stop.is_set():
        raise InterruptedError("cancelled")
    meter.bytes += len(raw)
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError("no complete JSON document") from error
    for item in items_of(document):
        yield json.dumps(item).encode() + b"\n"


def items_of(document: object) -> Iterator[object]:
    """Yield what a document says once, then each item of its lists, as ``document_items`` tells."""
    if isinstance(document, list):
        yield from document
    elif isinstance(document, dict):
        lists = {name: value for name, value in document.items() if _is_items(value)}
        yield {name: value for name, value in document.items() if name not in lists}
        for name, value in lists.items():
            yield from ({name: item} for item in value)


def _is_items(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def bounded_lines(stream: BinaryIO, meter: ReadMeter | None = None) -> Iterator[bytes]:
    """Yield each line of a file with its line end, at most ``MAX_LINE_BYTES`` of it.

    A longer one comes without its end; the rest is read past. Raises ``OSError``, also when stopped
    through the meter.
    """
    meter = meter or ReadMeter()
    rest = False
    while raw := stream.readline(MAX_LINE_BYTES):
        if meter.stop.is_set():
            raise InterruptedError("cancelled")
        meter.bytes += len(raw)
        if not rest:
            yield raw
        rest = not raw.endswith(b"\n")


def small_text(path: Path, limit: int = 1 << 20) -> str:
    """Return a file's text; empty for a link, for one larger than so many bytes, and for none."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > limit:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def open_transcript(path: Path) -> BinaryIO:
    """Open a file for reading in binary, decompressing zstandard.

    Raises ``OSError``, ``ValueError`` for a broken archive, and ``NotWorthReadingError`` for one
    that expands beyond ``MAX_EXPANSION``: it is decompressed once without looking at it, which
    takes a fiftieth of the time that reading its lines would.
    """
    stream = path.open("rb")
    if stream.read(4) != _ZSTD_MAGIC:
        stream.seek(0)
        return stream
    expanded, most = 0, MAX_EXPANSION * path.stat().st_size
    with _decompressing(stream, closes=False) as raw:
        while chunk := raw.read(_CHUNK):
            expanded += len(chunk)
            if expanded > most:
                stream.close()
                raise NotWorthReadingError(
                    f"it expands to more than {MAX_EXPANSION} times its size"
                )
    return io.BufferedReader(_decompressing(stream), _CHUNK)


def unpacked(data: bytes) -> bytes:
    """Return bytes, decompressed if they are zstandard's; ``ValueError`` if they grow too large."""
    if not data.startswith(_ZSTD_MAGIC):
        return data
    with _decompressing(io.BytesIO(data)) as raw:
        plain = raw.read(MAX_DOCUMENT + 1)
    if len(plain) > MAX_DOCUMENT:
        raise ValueError(f"it expands to more than {MAX_DOCUMENT >> 20} MiB")
    return plain


def _decompressing(stream: BinaryIO, *, closes: bool = True) -> "_ZstdRaw":
    from zstandard import ZstdDecompressor  # here: only archived transcripts need it

    stream.seek(0)
    decompressor = ZstdDecompressor()
    return _ZstdRaw(decompressor.stream_reader(stream, read_across_frames=True, closefd=closes))


class _ZstdRaw(io.RawIOBase):
    """A zstandard reader whose errors are ``ValueError`` with a readable text."""

    def __init__(self, reader: "zstandard.ZstdDecompressionReader") -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        from zstandard import ZstdError

        assert isinstance(buffer, memoryview | bytearray)
        try:
            data = self._reader.read(len(buffer)) or b""
        except ZstdError as error:
            raise ValueError(f"broken zstandard file: {error}") from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._reader.close()  # type: ignore[no-untyped-call]  # untyped in its stubs
        super().close()
