"""``proposals edit``: decides on several proposals in one file in the person's editor."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.naming import the_only
from synthorg_tui.cli.output import Answer, Warn
from synthorg_tui.cli.records import pairs
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.curation.review import InboxEntry, Review
    from synthorg_tui.curation.review_sheet import SheetVerdict
    from synthorg_tui.engine import Engine

_FOLDER: Final = "command"
"""Its own, so that an app that runs meanwhile doesn't tidy the file away."""
LEFT: Final = 1
"""Exit code when some of what was decided couldn't be carried out, and still waits."""


@Command(
    "edit",
    "decide on several proposals in one file in $EDITOR",
    more="What you\nsave is the decision: a section left as it is is approved, an edited one "
    "approved as\nyou wrote it, a deleted one rejected. It asks at the terminal before "
    "anything happens,\nand exits with 1 when an item changed meanwhile.",
    examples=("proposals edit", "proposals edit lesson-3f2a lesson-9b1c"),
    arguments=(
        Argument(
            "ids", nargs="*", metavar="ID", help="those to decide on (default: all that wait)"
        ),
    ),
).owns
async def edit_proposals(context: Context, engine: "Engine") -> Answer:
    """Open proposals in the editor and carry out what was saved, once the person agrees.

    Returns ``LEFT`` when an item changed meanwhile or was refused, else 0.
    """
    from synthorg_tui.approvals.models import ApprovalError
    from synthorg_tui.cli.terminal import deciding_person

    reviews = await _reviews(engine, context.args.ids)
    try:
        with deciding_person(engine.settings.approvals) as terminal:
            verdicts = await _edited(context, terminal, reviews)
            outcome = await engine.reviews.decide(verdicts, terminal.person)
    except ApprovalError as error:
        for review in reviews:
            item_id, reason = review.item.id, error.message
            await engine.approvals.refused(item_id, actor=context.actor, reason=reason)
        raise
    stale = [(review.item.id, "it changed meanwhile") for review in outcome.stale]
    left = [*stale, *outcome.refused]
    decided = [(each.item_id, each.kind) for each in outcome.decisions]
    return Answer(
        {"decided": pairs(decided, "id", "decision"), "left": pairs(left, "id", "why")},
        [
            f"Decided on {counted(len(decided), 'proposal')}.",
            Warn(*(f"{item_id} still waits: {why}" for item_id, why in left)),
        ],
        code=LEFT if left else 0,
        note="`synthorg-tui proposals undo` takes all of it back at once" if decided else "",
    )


async def _reviews(engine: "Engine", named: Sequence[str]) -> list["Review"]:
    if named:
        found = [await find_pending(engine, each) for each in named]
        return list({review.item.id: review for review in found}.values())
    entries = await engine.reviews.inbox()
    if not entries:
        raise UsageError("nothing waits for a decision")
    return [await engine.reviews.review(entry.item.id) for entry in entries]


async def find_pending(engine: "Engine", id_start: str) -> "Review":
    """Return the review of the one pending proposal whose id is this or starts so."""
    from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalStatus

    entry = await find(engine, id_start)
    if entry.item.status is not ApprovalStatus.PENDING:
        raise ApprovalConflictError(f"{entry.item.id} is {entry.item.status} already")
    return await engine.reviews.review(entry.item.id)


async def find(engine: AnyEngine, id_start: str) -> "InboxEntry":
    """Return the one proposal whose id is this or starts so."""
    from synthorg_tui.approvals.models import ApprovalNotFoundError

    entries = await engine.reviews.inbox(include_snoozed=True, status=None)
    none = ApprovalNotFoundError(
        f"no proposal has an id that starts with {id_start!r}",
        remedy="See `synthorg-tui proposals list --status all --snoozed`.",
    )
    matching = [entry for entry in entries if entry.item.id.startswith(id_start)]
    return the_only(matching, id_start, none, id_of=lambda entry: entry.item.id)


async def _edited(
    context: Context, terminal: "Terminal", reviews: Sequence["Review"]
) -> tuple["SheetVerdict", ...]:
    """What the person saved and confirmed; raises ``DeclinedError`` for nothing."""
    from synthorg_tui.core.editor import run_editor
    from synthorg_tui.curation.review_sheet import SheetError, read_sheet, sheet_of, summary

    path = _sheet(context.data_dir, sheet_of(reviews))
    line = 0
    while True:
        before = path.stat().st_mtime_ns
        await asyncio.to_thread(run_editor, path, line=line)
        text = path.read_text("utf-8", "replace")
        if not text.strip() or (path.stat().st_mtime_ns == before and not line):
            _remove(path)
            raise DeclinedError("nothing was saved: nothing was decided")
        try:
            verdicts = read_sheet(text, reviews)
        except SheetError as error:
            line = error.line
            if terminal.ask(f"{error.message}. Open it again? [Y/n]").lower() in ("n", "no"):
                raise DeclinedError(f"nothing was decided; the file is kept: {path}") from None
            continue
        for verdict in verdicts:
            reworded = " as reworded" if verdict.edit is not None else ""
            context.console.note(f"{verdict.decision.value}{reworded}: {verdict.title}")
        what = f"{counted(len(verdicts), 'proposal')}: {summary(verdicts)}"
        if terminal.ask(f"Decide on {what}? Type decide:").lower() != "decide":
            raise DeclinedError(f"nothing was decided; the file is kept: {path}")
        _remove(path)
        return verdicts


def _sheet(data_dir: Path, text: str) -> Path:
    """Write the file to edit where only its owner reads it; one that was kept is replaced."""
    from synthorg_tui.core.files import PRIVATE_FILE, ensure_private_dir, write_atomically
    from synthorg_tui.persistence import REVIEW_DIR

    folder = ensure_private_dir(ensure_private_dir(data_dir / REVIEW_DIR) / _FOLDER)
    path = folder / "proposals.md"
    write_atomically(path, text.encode("utf-8", "replace"), mode=PRIVATE_FILE, durable=False)
    return path


def _remove(path: Path) -> None:
    """Delete the file, what an editor left beside it, and the folders unless others use them."""
    with suppress(OSError):
        for each in path.parent.iterdir():
            each.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()
