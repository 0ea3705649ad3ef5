"""Records of a transcript file: redacted, numbered, and what was wrong with it counted.

The one place where a stranger's bytes become records: nothing behind it sees a secret or a
character that can't be stored. Lines are numbered as in the file, since memories refer to them;
what a record means is for the readers.
"""

import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value

if TYPE_CHECKING:
    import zstandard

Record = dict[str, object]

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_STRING = 60_000
"""Longer strings of a record are cut in the stored evidence: images, whole files, dumps."""
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


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
    redacted: list[str] = field(default_factory=list)
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
        for the next import. Raises ``OSError``, also when stopped through the meter, and
        ``ValueError`` for a broken archive.
        """
        with open_transcript(self.path) as stream:
            while raw := stream.readline(MAX_LINE_BYTES):
                if self.meter.stop.is_set():
                    raise InterruptedError("cancelled")
                self.meter.bytes += len(raw)
                record = self._decode(raw)
                if record is None and not raw.endswith(b"\n") and not stream.read(1):
                    self.torn = True
                    self.redacted.pop()
                    return
                self._digest.update(self.redacted[-1].encode() + b"\n")
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


def open_transcript(path: Path) -> BinaryIO:
    """Open a file for reading in binary, decompressing zstandard; raises ``OSError``."""
    stream = path.open("rb")
    if stream.read(4) != _ZSTD_MAGIC:
        stream.seek(0)
        return stream
    stream.seek(0)
    from zstandard import ZstdDecompressor  # here: only archived transcripts need it

    reader = ZstdDecompressor().stream_reader(stream, read_across_frames=True, closefd=True)
    return io.BufferedReader(_ZstdRaw(reader), 1 << 20)


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
