"""The Organisation pane."""

from collections.abc import Mapping
from typing import Final

ORG_COMMANDS: Final[Mapping[str, str]] = {
    "organisation.filter": "org list",
    "organisation.reload": "org list",
    "organisation.deleted": "org list",
    "organisation.search": "org search",
    "organisation.add": "org add",
    "organisation.edit": "org edit",
    "organisation.edit_outside": "org edit",
    "organisation.retract": "org retract",
    "organisation.revive": "org revive",
    "organisation.undo": "org undo",
    "organisation.older": "org as-of",
    "organisation.newer": "org as-of",
    "organisation.day_earlier": "org as-of",
    "organisation.day_later": "org as-of",
    "organisation.week_earlier": "org as-of",
    "organisation.week_later": "org as-of",
    "organisation.changes": "org history",
    "organisation.source": "org show",
    "organisation.memory": "memories show",
    "organisation.known": "projects show",
    "organisation.view": "agents calls",
}
"""The command that does without a screen what an action of the pane does, by the action's id."""
