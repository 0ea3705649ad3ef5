"""What learning knows of failures by their words: the patterns and lists of ``failures.toml``."""

from pathlib import Path
from typing import Final

from synthorg_tui.core.patterns import Patterns

FAILURES: Final = Patterns(Path(__file__).with_name("failures.toml"))
REASONS: Final = Patterns(Path(__file__).with_name("reasons.toml"))
"""Patterns by which what a model says of a failure is judged."""
