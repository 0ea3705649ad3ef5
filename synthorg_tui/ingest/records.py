"""Records of a transcript file: redacted, numbered, and what was wrong with it counted.

The one place where a stranger's bytes become records: nothing behind it sees a secret or a
character that can't be stored, and no file, however large or dense, takes more than a bounded
amount of memory. Lines are numbered as in the file, since memories refer to them; what a record
means is for the readers.
"""

import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.executions.packed import PackedLines

if TYPE_CHECKING:
    import zstandard

Record = dict[str, object]

MAX_LINE_BYTES: Final = 24 * 1024 * 1024
"""A longer line is no record; its rest is read past. Decoding one takes five times as much."""
MAX_LINES: Final = 2_000_000
MAX_EXPANSION: Final = 200
"""How many times larger than on disk a compressed file may be: transcripts shrink to a tenth."""
MAX_STRING: Final = 60_000
"""Longer strings of a record are cut in the stored evidence: images, whole files, dumps."""
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


@dataclass(slots=True)
class TranscriptLines:
    """The lines of one transcript file while they are read; iterate over ``records`` once.

    ``redacted`` holds the lines read so far as they may be stored, one for each line of the file.
    ``malformed`` is the number of lines without a record; ``torn`` is set when the last line was
    still being written.
    """

    path: Path
    meter: ReadMeter = field(default_factory=ReadMeter)
    tally: RedactionTally = field(default_factory=RedactionTally)
    redacted: PackedLines = field(default_factory=PackedLines)
    malformed: int = 0
    torn: bool = False
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def digest(self) -> str:
        """The SHA-256 (hex) of the redacted lines read so far."""
        return self._digest.hexdigest()

    def records(self) -> Iterator[tuple[int, Record]]:
        """Yield the 1-based line number and the redacted record of each line that holds one.

        A last line without a line end that is no complete record is still being written: it is left
        for the next import. Raises ``OSError``, also when stopped through the meter, ``ValueError``
        for a broken archive, and ``NotWorthReadingError``.
        """
        with open_transcript(self.path) as stream:
            for raw in bounded_lines(stream, self.meter):
                record = self._decode(raw)
                if record is None and not raw.endswith(b"\n") and len(raw) < MAX_LINE_BYTES:
                    self.torn = True
                    self.redacted.pop()
                    return
                self._digest.update(self.redacted.last.encode() + b"\n")
                if len(self.redacted) > MAX_LINES:
                    raise NotWorthReadingError(f"it has more than {MAX_LINES:,} lines")
                if record is not None:
                    yield len(self.redacted), record

    def _decode(self, raw: bytes) -> Record | None:
        """Keep the line and give its record; ``None`` when it is blank or malformed."""
        text = raw.decode("utf-8", errors="replace").strip("\r\n\ufeff \t")
        if not text:
            self.redacted.append("")
            return None
        try:
            return self._keep_record(text)
        except (ValueError, RecursionError):
            self.malformed += raw.endswith(b"\n") or len(raw) >= MAX_LINE_BYTES
            self.redacted.append(_clipped(redact_text(_storable(text), self.tally)))
            return None

    def _keep_record(self, text: str) -> Record:
        """Keep the redacted line and give its record; ``ValueError`` when it holds none."""
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        if _UNSTORABLE_ESCAPE.search(text):
            value = _map_strings(value, _storable)
        record = mapping(redact_value(value, self.tally, raw=text))
        line = json.dumps(_map_strings(record, _clipped), ensure_ascii=False, separators=_COMPACT)
        self.redacted.append(line)
        return record


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


def mapping(value: object) -> Record:
    """Return ``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


_COMPACT = (",", ":")
_UNSTORABLE_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _storable(text: str) -> str:
    """Without lone surrogates and NUL, which databases and encoders refuse."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _map_strings(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_strings(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_map_strings(item, change) for item in value]
    return value


def _clipped(text: str) -> str:
    if len(text) <= MAX_STRING:
        return text
    return f"{text[:MAX_STRING]}… [{len(text) - MAX_STRING} more characters]"
