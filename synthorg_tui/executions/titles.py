"""Titles of sessions: one line that says what happened.

The list of sessions and the memory of a session both begin with it. A title is made of what the
record holds, without any model.
"""

from synthorg_tui.core.text import safe_text
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.output_lines import one_line

MAX_TITLE = 100


def session_title(execution: Execution) -> str:
    """Return what happened in a session, on one safe line of at most ``MAX_TITLE`` characters."""
    title = one_line(safe_text(execution.summary or execution.task, multiline=True), MAX_TITLE)
    return title or f"Session {execution.session_id}"[:MAX_TITLE]
