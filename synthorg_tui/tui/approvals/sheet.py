"""Deciding on several items in one file in the person's editor.

The file is kept until its decisions were carried out or nothing was saved: a text that can't be
read, or a summary that was answered with no, is opened again where it was left. It is in a folder
of the data directory that only this user can read, and goes at the latest when the app does; what
an app that was killed left there goes with the next file. What the text means is in
``curation.review_sheet``.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
from synthorg_tui.core.paths import short_path
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.approvals.adapter import EngineApprovals
from synthorg_tui.tui.approvals.lines import bulk_line
from synthorg_tui.tui.base.dialogs import ConfirmDialog
from synthorg_tui.tui.base.editor import EditorError, edit_file
from synthorg_tui.tui.base.formatting import counted
from synthorg_tui.tui.base.lines import Line, line, one_line
from synthorg_tui.tui.jobs import run_job, toast

if TYPE_CHECKING:
    from synthorg_tui.curation.review import BulkOutcome, Review
    from synthorg_tui.curation.review_sheet import SheetVerdict

_NAME = "proposals.md"
_MARKS = {"approve": ("✓", "good"), "reject": ("✗", "bad"), "later": ("·", "faint")}


@dataclass(slots=True)
class _OpenSheet:
    """A file that was written for these reviews; the editor goes on at ``line``, from 1."""

    path: Path
    reviews: tuple["Review", ...]
    line: int = 0

    def close(self) -> None:
        """Delete the file, with what an editor put beside it."""
        _clear(self.path.parent)


class SheetEditing:
    """Opens items in the editor, asks whether the summary is meant, and has it carried out.

    ``decided`` is called with the outcome.
    """

    def __init__(self, screen: Screen[None], decided: "Callable[[BulkOutcome], None]") -> None:
        self._screen = screen
        self._decided = decided
        self._kept: _OpenSheet | None = None

    def open(self, approvals: EngineApprovals, item_ids: Sequence[str]) -> None:
        """Open these items, or go on with the file that was left, where an agent doesn't run it."""

        async def begin() -> None:
            await approvals.may_decide(item_ids)
            if self._kept is None:
                self._kept = await _sheet_for(approvals, item_ids)
            self._edit(approvals, self._kept)

        run_job(self._screen, begin, group="change", newest_only=False)

    def close(self) -> None:
        """Delete the file that was left, if any."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    @property
    def goes_on(self) -> bool:
        """Whether a file was left to be gone on with."""
        return self._kept is not None

    def _edit(self, approvals: EngineApprovals, sheet: _OpenSheet) -> None:
        from synthorg_tui.curation.review_sheet import SheetError, read_sheet

        before = _state(sheet.path)
        try:
            edit_file(self._screen.app, sheet.path, line=sheet.line)
        except EditorError as error:
            self._drop(f"{error.message}: nothing was decided")
            return
        text = sheet.path.read_text("utf-8", "replace")
        if not text.strip() or (_state(sheet.path) == before and not sheet.line):
            self._drop("Nothing was saved: nothing was decided")
            return
        try:
            verdicts = read_sheet(text, sheet.reviews)
        except SheetError as error:
            sheet.line = error.line
            self._ask_again(approvals, sheet, error.message)
            return
        sheet.line = 1
        self._ask(approvals, verdicts)

    def _drop(self, message: str) -> None:
        self.close()
        toast(self._screen, message, severity="warning")

    def _ask_again(self, approvals: EngineApprovals, sheet: _OpenSheet, problem: str) -> None:
        def answered(again: bool | None) -> None:
            if again:
                self._edit(approvals, sheet)
            else:
                self._say_kept()

        note = "Nothing was decided, and what you wrote is kept."
        dialog = ConfirmDialog(
            "The file can't be read. Open it again?",
            [line((one_line(problem), "warn"))],
            yes="Open",
            note=note,
        )
        self._screen.app.push_screen(dialog, answered)

    def _ask(self, approvals: EngineApprovals, verdicts: "Sequence[SheetVerdict]") -> None:
        from synthorg_tui.curation.review_sheet import summary

        def answered(yes: bool | None) -> None:
            if yes:
                run_job(self._screen, decide, group="change", newest_only=False)
            else:
                self._say_kept()

        async def decide() -> None:
            outcome = await approvals.decide(verdicts)
            self.close()
            left = outcome.stale or outcome.refused
            said = bulk_line(outcome, "Decided on")
            toast(self._screen, said, severity="warning" if left else "information")
            self._decided(outcome)

        note = f"{key_of('approvals.undo')} undoes all of them at once."
        rows = [_verdict_line(verdict) for verdict in verdicts]
        question = f"Decide on {counted(len(verdicts), 'item')}: {summary(verdicts)}?"
        self._screen.app.push_screen(
            ConfirmDialog(question, rows, yes="Decide", note=note), answered
        )

    def _say_kept(self) -> None:
        assert self._kept is not None
        goes_on = f"{key_of('approvals.edit_outside')} goes on where you were"
        place = f"the app keeps {short_path(str(self._kept.path))} until it closes"
        toast(self._screen, f"Nothing was decided; {goes_on}; {place}", severity="warning")


async def _sheet_for(approvals: EngineApprovals, item_ids: Sequence[str]) -> _OpenSheet:
    from synthorg_tui.curation.review_sheet import sheet_of

    reviews = tuple([await approvals.review(item_id) for item_id in item_ids])
    text = await asyncio.to_thread(sheet_of, reviews)
    _clear(approvals.sheet_folder)
    path = ensure_private_dir(approvals.sheet_folder) / _NAME
    write_atomically(path, text.encode("utf-8", "replace"), mode=PRIVATE_FILE, durable=False)
    return _OpenSheet(path, reviews)


def _clear(folder: Path) -> None:
    """Delete what is ours in the folder, and the folder unless a person keeps something there."""
    with suppress(OSError):
        for path in folder.glob(f"*{_NAME}*"):
            path.unlink()
        folder.rmdir()


def _state(path: Path) -> tuple[int, bytes]:
    """What shows that a file was saved, even as it was."""
    return path.stat().st_mtime_ns, path.read_bytes()


def _verdict_line(verdict: "SheetVerdict") -> Line:
    mark, role = _MARKS[verdict.decision.value]
    row = line((f"{mark} ", role), (one_line(verdict.title), "text"))
    return row.add("  reworded", "accent") if verdict.edit is not None else row
