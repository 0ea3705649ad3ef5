"""The readers, one for each agent; most new ones need only a description in ``formats``."""

from synthorg_tui.ingest.readers.aider import AiderReader
from synthorg_tui.ingest.readers.base import TranscriptReader
from synthorg_tui.ingest.readers.claude_code import ClaudeCodeReader
from synthorg_tui.ingest.readers.cline import ClineReader, RooReader
from synthorg_tui.ingest.readers.codex import CodexReader
from synthorg_tui.ingest.readers.copilot import CopilotReader
from synthorg_tui.ingest.readers.described import FORMATS, DescribedReader, descriptions
from synthorg_tui.ingest.readers.gemini import GeminiReader
from synthorg_tui.ingest.readers.generic import GenericReader
from synthorg_tui.ingest.readers.swe_agent import SweAgentReader

DESCRIBED = {each.name: DescribedReader(each) for each in descriptions(FORMATS)}
"""Those that are descriptions, by their names."""
READERS: tuple[TranscriptReader, ...] = (
    ClaudeCodeReader(),
    CodexReader(),
    CopilotReader(),
    GeminiReader(),
    ClineReader(),
    RooReader(),
    SweAgentReader(),
    AiderReader(),
    GenericReader(),
    *DESCRIBED.values(),
)
"""The order doesn't matter: no record is that of two."""
