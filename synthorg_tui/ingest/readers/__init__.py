"""The readers, one for each agent; a new one needs only its file and its place in the tuple."""

from synthorg_tui.ingest.readers.base import TranscriptReader
from synthorg_tui.ingest.readers.claude_code import ClaudeCodeReader
from synthorg_tui.ingest.readers.cline import ClineReader, RooReader
from synthorg_tui.ingest.readers.codex import CodexReader
from synthorg_tui.ingest.readers.generic import GenericReader
from synthorg_tui.ingest.readers.goose import GooseReader
from synthorg_tui.ingest.readers.opencode import OpenCodeReader

READERS: tuple[TranscriptReader, ...] = (
    ClaudeCodeReader(),
    CodexReader(),
    GenericReader(),
    OpenCodeReader(),
    GooseReader(),
    ClineReader(),
    RooReader(),
)
"""Asked in this order whether a record is theirs."""
