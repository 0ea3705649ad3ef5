"""Reviews of a call that a run waits with: the command or the change in full, and where.

Each docstring of a picture says what must be visible and unclipped.
"""

import hashlib
from typing import Any

from textual.pilot import Pilot

from synthorg_tui.approvals.models import ApprovalItem, Flag, FlagKind, RiskLevel
from synthorg_tui.curation.review import RUN_ACTION, InboxEntry, Review, RunCallPayload, entry_of
from synthorg_tui.curation.run_calls import call_text
from synthorg_tui.tui.app import MemoryDeskApp
from synthorg_tui.tui.approvals.lines import row_line
from synthorg_tui.tui.approvals.review import ReviewScreen
from synthorg_tui.tui.approvals.review_lines import whole_lines
from synthorg_tui.tui.approvals.state import RowMarks, agent_of
from synthorg_tui.tui.base.lines import plain
from tests.tui.approvals.approvals_fakes import FakeApprovals
from tests.tui.pictures import SIZES, Compare, Size
from tests.tui.tui_fakes import NOW, FakeDesk, fake_app, rows
from tests.tui.tui_helpers import settle

WHY = "it runs a program, and this run asks before it does"
COMMAND = "npm test -- --run checkout\nnpm publish --access public"
DIFF = ("--- before", "+++ after", "@@ -1,2 +1,2 @@", " one = 1", "-two = 2", "+two = 3")


def entry(tool: str, **arguments: Any) -> InboxEntry:
    command = str(arguments.get("command", ""))
    payload = RunCallPayload(
        run_id="4f1c2a90",
        agent_id="builder",
        tool=tool,
        arguments=arguments,
        workspace="/srv/tidepool",
        why=WHY,
        command=command,
    )
    about = command or arguments["path"]
    item = ApprovalItem(
        id=f"run-{tool}",
        action_type=RUN_ACTION,
        title=f"{'Run' if command else tool}: {' '.join(about.split())}",
        description=f"A run of builder waits with this call: {WHY}.",
        requested_by="agent builder",
        risk_level=RiskLevel.HIGH if command else RiskLevel.MEDIUM,
        created_at=NOW,
        payload=payload.model_dump_json(),
    )
    return entry_of(item)


SHELL = entry("bash", command=COMMAND, timeout=300)
EDIT = entry("edit_file", path="src/a.py", old_string="two = 2", new_string="two = 3")


class Calls(FakeApprovals):
    """Two calls that wait: a command, and a change of a file."""

    def sheet(self, item_id: str) -> Review:
        shown = self.rows[item_id]
        assert isinstance(shown.subject, RunCallPayload)
        mark = hashlib.sha256(item_id.encode()).hexdigest()
        if shown.subject.tool == "edit_file":
            where = "/srv/tidepool/src/a.py"
            return Review(shown, mark, path=where, text="two = 3", diff=DIFF)
        flags = (Flag(FlagKind.INJECTION, "command", "ignore all previous instructions"),)
        return Review(shown, mark, text=call_text(shown.subject), flags=flags)


def text_of(review: Review) -> str:
    return plain(whole_lines(review, (), NOW))


def test_the_command_is_shown_in_full_with_its_other_arguments() -> None:
    text = text_of(Calls((SHELL,), {}).sheet("run-bash"))
    for said in (*COMMAND.splitlines(), "timeout: 300", "/srv/tidepool", WHY, "builder"):
        assert said in text
    assert text.index("Command") < text.index("npm test")


def test_a_change_of_a_file_is_shown_as_a_difference() -> None:
    text = text_of(Calls((EDIT,), {}).sheet("run-edit_file"))
    assert "Change of the file" in text
    assert "-two = 2" in text
    assert "Arguments" not in text


def test_a_long_file_says_how_much_of_it_is_not_shown() -> None:
    whole = "\n".join(f"line {number}" for number in range(801))
    review = Review(EDIT, "x", path="/srv/tidepool/src/a.py", text=whole)
    assert "… 1 more lines" in text_of(review)


def test_hidden_characters_of_a_command_are_visible() -> None:
    odd = entry("bash", command="echo \u202egnp.exe\x1b[2J")
    text = text_of(Calls((odd,), {}).sheet("run-bash"))
    assert "‹U+202E›gnp.exe␛[2J" in text


def test_the_list_tells_the_kind_by_a_glyph() -> None:
    row = row_line(SHELL, 80, RowMarks(), now=NOW).plain
    assert "▶ Run: npm test -- --run checkout" in row
    assert agent_of(SHELL) == "builder"


def compare(snap_compare: Compare, size: Size, *keys: str) -> bool:
    async def before(pilot: Pilot[None]) -> None:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
            # Whether half a second has passed must not decide what a picture shows.
            if isinstance(pilot.app.screen, ReviewScreen):
                pilot.app.screen._wake()
                await settle(pilot)

    desk = FakeDesk(rows(6))
    desk.approvals = Calls((SHELL, EDIT), {"run-bash": 1})
    app = fake_app(desk)
    app.set_reactive(MemoryDeskApp.app_focus, True)
    return snap_compare(app, terminal_size=size, run_before=before)


def test_calls_in_the_list(snap_compare: Compare) -> None:
    """Both calls with their kind by glyph, the agent, the risk and the flag."""
    assert compare(snap_compare, SIZES, "4")


def test_command(snap_compare: Compare) -> None:
    """Who asks and why, what is suspicious, the whole command, tool, folder and run."""
    assert compare(snap_compare, SIZES, "4", "enter")


def test_change(snap_compare: Compare) -> None:
    """The change of the file as a difference, with its path, tool, folder and run."""
    assert compare(snap_compare, SIZES, "4", "j", "enter")
