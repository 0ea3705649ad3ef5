"""Records of a transcript file: redacted, numbered, and what was wrong with it counted.

The one place where a stranger's bytes become records: nothing behind it sees a secret or a
character that can't be stored, and no file, however large or dense, takes more than a bounded
amount of memory. Lines are numbered as their source gives them, since memories refer to them; what
a record means is for the readers.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from synthorg_tui.core.redaction import RedactionTally, redact_text, redact_value
from synthorg_tui.executions.packed import PackedLines
from synthorg_tui.ingest import sources
from synthorg_tui.ingest.sources import (
    LineSource,
    NotWorthReadingError,
    ReadMeter,
    file_lines,
)

Record = dict[str, object]

MAX_LINES: Final = 2_000_000
MAX_STRING: Final = 60_000
"""Longer strings of a record are cut in the stored evidence: images, whole files, dumps."""


@dataclass(slots=True)
class TranscriptLines:
    """The lines of one transcript file while they are read; iterate over ``records`` once.

    ``source`` gives the lines of the file. ``redacted`` holds those read so far as they may be
    stored, one for each. ``malformed`` is the number of lines without a record; ``torn`` is set
    when the last line was still being written. ``joined`` lines are those of several files of one
    session, so that what the last of them doesn't lead back to isn't taken back.
    """

    path: Path
    meter: ReadMeter = field(default_factory=ReadMeter)
    source: LineSource = file_lines
    tally: RedactionTally = field(default_factory=RedactionTally)
    redacted: PackedLines = field(default_factory=PackedLines)
    malformed: int = 0
    torn: bool = False
    joined: bool = False
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
        for raw in self.source(self.path, self.meter):
            record = self._decode(raw)
            if record is None and not raw.endswith(b"\n") and len(raw) < sources.MAX_LINE_BYTES:
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
            self.malformed += raw.endswith(b"\n") or len(raw) >= sources.MAX_LINE_BYTES
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
