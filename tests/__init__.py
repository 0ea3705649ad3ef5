"""The tests, in the rooms of the program."""

from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
"""The checkout that is tested."""
