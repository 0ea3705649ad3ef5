"""What is known of commands and their output by their words: the patterns of ``calls.toml``."""

from pathlib import Path
from typing import Final

from synthorg_tui.core.patterns import Patterns

CALLS: Final = Patterns(Path(__file__).with_name("calls.toml"))
