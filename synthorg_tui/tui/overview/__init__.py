"""The overview: figures of the whole store as pictures, each one key away from its rows."""

from collections.abc import Mapping
from typing import Final

OVERVIEW_COMMANDS: Final[Mapping[str, str]] = {
    "app.overview": "overview",
    "overview.more": "overview",
    "overview.less": "overview",
    "overview.reload": "overview",
    "overview.copy": "overview",
}
"""The commands that do the same without a screen, by the action's id; for the table of keys."""
