"""Aider's chat history, a file of Markdown, taken apart into one line a thing said.

A line of the person's starts with ``#### `` and ends in two blanks, one of Aider's own with ``> ``;
all others are the agent's reply, which may hold lines that look like them between code fences.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from synthorg_tui.ingest.sources import NotWorthReadingError, ReadMeter, bounded_lines

ENVELOPE: Final = "aider"
"""The key of each record that says whose it is: ``chat``, ``user``, ``tool`` or ``assistant``."""
MAX_FILE: Final = 64 * 1024 * 1024
"""Bytes of a history: all of its chats are in memory until they are stored."""
_MAX_REPLY: Final = 1024 * 1024
_CHAT = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_SAID: Final = "#### "
_TOLD: Final = "> "
_FENCE = re.compile(r"(`{3,}|~{3,})")
_BLANK: Final = "<blank>"


def history_lines(path: Path, meter: ReadMeter) -> Iterator[bytes]:
    """Yield a history as one line a thing said; a ``LineSource``."""
    if path.stat().st_size > MAX_FILE:
        raise NotWorthReadingError(f"it holds more than {MAX_FILE >> 20} MiB")
    state = _Parts()
    with path.open("rb") as stream:
        for raw in bounded_lines(stream, meter):
            yield from map(_line, state.feed(raw.decode("utf-8", "replace").rstrip("\r\n")))
    yield from map(_line, state.flush())


def _line(part: dict[str, str]) -> bytes:
    return json.dumps(part).encode() + b"\n"


@dataclass(slots=True)
class _Parts:
    """What is being said: ``text`` are the lines so far of a message by ``speaker``."""

    speaker: str = ""
    text: list[str] = field(default_factory=list)
    size: int = 0
    fence: str = ""
    has_reply: bool = False

    def feed(self, line: str) -> Iterator[dict[str, str]]:
        """Yield what this line ends, and what it is itself when that is whole."""
        if (chat := _CHAT.fullmatch(line.rstrip())) is not None:
            yield from self.flush()
            self.fence, self.has_reply = "", False
            yield {ENVELOPE: "chat", "at": chat[1]}
        elif not self.fence and line.startswith(_TOLD):
            yield from self.flush()
            yield {ENVELOPE: "tool", "text": line.removeprefix(_TOLD).strip()}
        elif not self.fence and self._is_said(line):
            said = line.removeprefix(_SAID).strip()
            yield from self._add("user", "" if said == _BLANK else said)
        elif line.strip() or self.speaker == "assistant":
            self._look_for_fence(line)
            self.has_reply = self.has_reply or bool(line.strip())
            yield from self._add("assistant", line)
        else:
            yield from self.flush()

    def _is_said(self, line: str) -> bool:
        """A heading of the agent's has the same mark, but doesn't end as Aider ends a line."""
        return line.startswith(_SAID) and (line.endswith("  ") or not self.has_reply)

    def _look_for_fence(self, line: str) -> None:
        match = _FENCE.match(line)
        if match is None:
            return
        if not self.fence:
            self.fence = match[1]
        elif line.strip() == match[1] and match[1].startswith(self.fence):
            self.fence = ""

    def _add(self, speaker: str, text: str) -> Iterator[dict[str, str]]:
        if self.speaker != speaker or self.size > _MAX_REPLY:
            yield from self.flush()
            self.speaker = speaker
        self.text.append(text)
        self.size += len(text)

    def flush(self) -> Iterator[dict[str, str]]:
        """Yield what was said last, now that it is whole."""
        text = "\n".join(self.text).strip()
        if text:
            yield {ENVELOPE: self.speaker, "text": text}
        self.speaker, self.text, self.size = "", [], 0
