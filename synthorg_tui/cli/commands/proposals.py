"""``proposals``: what waits for a person, and the decisions of the person at the terminal."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from synthorg_tui.approvals.models import (
    ApprovalConflictError,
    ApprovalError,
    ApprovalNotFoundError,
    ApprovalStatus,
    DecisionRefusedError,
)
from synthorg_tui.cli import proposal_shapes as shapes
from synthorg_tui.cli.commands import proposals_view as view
from synthorg_tui.cli.console import cut, local_time
from synthorg_tui.cli.context import Context, DeclinedError, UsageError
from synthorg_tui.cli.terminal import (
    Terminal,
    controlling_terminal,
    require_open_to_decisions,
)

if TYPE_CHECKING:
    from synthorg_tui.cli.context import AnyEngine
    from synthorg_tui.curation.review import Decision, InboxEntry, Review
    from synthorg_tui.engine import Engine

_ACTOR = "command line"
_TITLE_WIDTH = 60
_NAMED_AT_MOST = 10


async def run_list(context: Context) -> int:
    """List proposals, newest first."""
    args = context.args
    status = None if args.status == "all" else ApprovalStatus(args.status)
    async with context.engine() as engine:
        entries = await engine.reviews.inbox(include_snoozed=args.snoozed, status=status)
        snoozed = (await engine.approvals.counts()).snoozed
    if context.wants_json:
        context.console.json([shapes.proposal(entry) for entry in entries])
        return 0
    view.show_list(context.console, entries)
    if snoozed and not args.snoozed:
        context.console.note(f"{snoozed} snoozed; --snoozed lists them, too")
    return 0


async def run_show(context: Context) -> int:
    """Show all that an approval would do."""
    async with context.engine() as engine:
        entry = await _find(engine, context.args.id)
        review = await engine.reviews.review(entry.item.id)
        trail = await engine.approvals.events(entry.item.id)
        excerpts = [
            await engine.reviews.excerpt(each) if context.args.transcript else None
            for each in entry.evidence
        ]
    if context.wants_json:
        context.console.json(shapes.review(review, trail))
    else:
        view.show_review(context.console, review, trail, excerpts)
    return 0


async def run_approve(context: Context) -> int:
    """Let a proposal count, once the person has typed the hash of what was shown."""
    async with _deciding(context) as engine:
        review = await _pending(engine, context.args.id)
        async with _person(engine, review) as terminal:
            if review.problem:
                raise DecisionRefusedError(review.problem)
            _agree(terminal, review, "Approve")
            with view.shown_anew(context.console):
                decision = await engine.reviews.approve(
                    review.item.id, shown=review.shown, person=terminal.person
                )
    return _told(context, decision)


async def run_reject(context: Context) -> int:
    """Turn a proposal down for good."""
    reason = context.args.reason.strip()
    if not reason:
        raise UsageError("the reason is empty")
    async with _deciding(context) as engine:
        review = await _pending(engine, context.args.id)
        async with _person(engine, review) as terminal:
            _agree(terminal, review, "Reject")
            with view.shown_anew(context.console):
                decision = await engine.reviews.reject(
                    review.item.id, shown=review.shown, reason=reason, person=terminal.person
                )
    return _told(context, decision)


async def run_snooze(context: Context) -> int:
    """Put a proposal out of the way, or wake it."""
    until = context.args.until
    async with _deciding(context) as engine:
        review = await _pending(engine, context.args.id)
        async with _person(engine, review) as terminal:
            what = f"Snooze until {local_time(until)}" if until else "Wake"
            answer = terminal.ask(f"{what} {_title(review)}? [y/N]")
            if answer.lower() not in ("y", "yes"):
                raise DeclinedError("nothing was changed")
            item = await engine.reviews.snooze(review.item.id, until, terminal.person)
    if context.wants_json:
        moment = item.snoozed_until
        context.console.json(
            {"id": item.id, "snoozed_until": moment.isoformat() if moment else None}
        )
    else:
        context.console.line(f"Snoozed until {local_time(until)}." if until else "It waits again.")
    return 0


async def run_undo(context: Context) -> int:
    """Take the last decision back."""
    async with _deciding(context) as engine, _person(engine, None) as terminal:
        titles = await engine.reviews.undoable()
        what = f"{len(titles)} approvals" if len(titles) > 1 else "the last decision"
        if titles and terminal.ask(f"Take {what} back? Type undo:") != "undo":
            raise DeclinedError("nothing was changed")
        decision = await engine.reviews.undo(terminal.person) if titles else None
    if decision is None:
        raise UsageError("there is no decision to take back")
    return _told(context, decision)


def _deciding(context: Context) -> "AbstractAsyncContextManager[Engine]":
    """The engine itself: owners decide nothing for others; a headless one makes room."""
    from synthorg_tui.host.opening import engine_for_app

    return engine_for_app(context.settings(), data_dir=context.data_dir)


@asynccontextmanager
async def _person(engine: "Engine", review: "Review | None") -> AsyncIterator[Terminal]:
    """The person at the terminal; what is refused to them stands in the proposal's trail."""
    try:
        require_open_to_decisions(engine.settings.approvals)
        with controlling_terminal() as terminal:
            yield terminal
    except ApprovalError as error:
        if review is not None:
            await engine.approvals.refused(review.item.id, actor=_ACTOR, reason=error.message)
        raise


def _agree(terminal: Terminal, review: "Review", what: str) -> None:
    """Have the hash typed in; raises ``DeclinedError`` for none, and for another it refuses."""
    item_id = review.item.id
    typed = terminal.ask(
        f"{what} {_title(review)}? Type the hash that `proposals show {item_id}` printed:"
    )
    if not typed:
        raise DeclinedError("nothing was changed")
    if typed.lower() != shapes.short_hash(review):
        raise DecisionRefusedError(
            "this is not the hash of what would be decided now",
            remedy=f"It may have changed; read `synthorg-tui proposals show {item_id}` again.",
        )


def _title(review: "Review") -> str:
    return f"“{cut(review.item.title, _TITLE_WIDTH)}”"


async def _pending(engine: "Engine", id_start: str) -> "Review":
    entry = await _find(engine, id_start)
    if entry.item.status is not ApprovalStatus.PENDING:
        raise ApprovalConflictError(f"{entry.item.id} is {entry.item.status} already")
    return await engine.reviews.review(entry.item.id)


async def _find(engine: "AnyEngine", id_start: str) -> "InboxEntry":
    """The one proposal whose id is this or starts so."""
    entries = await engine.reviews.inbox(include_snoozed=True, status=None)
    exact = [entry for entry in entries if entry.item.id == id_start]
    found = exact or [entry for entry in entries if entry.item.id.startswith(id_start)]
    if not found:
        raise ApprovalNotFoundError(
            f"no proposal has an id that starts with {id_start!r}",
            remedy="See `synthorg-tui proposals list --status all --snoozed`.",
        )
    if len(found) > 1:
        names = ", ".join(entry.item.id for entry in found[:_NAMED_AT_MOST])
        raise UsageError(f"several ids start with {id_start!r}: {names}")
    return found[0]


def _told(context: Context, decision: "Decision") -> int:
    if context.wants_json:
        context.console.json(shapes.decision(decision))
    else:
        view.show_decision(context.console, decision)
    return 0
