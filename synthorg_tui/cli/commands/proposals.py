"""``proposals``: lists what waits for a decision, and lets a person at the terminal decide."""

from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import ID, PROJECT, Argument, coming_moment, limit
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands import proposals_view as view
from synthorg_tui.cli.commands.proposals_edit import edit_proposals, find, find_pending
from synthorg_tui.cli.context import AnyEngine, Context
from synthorg_tui.cli.errors import DeclinedError, UsageError
from synthorg_tui.cli.naming import project_named
from synthorg_tui.cli.output import Answer, Note, Warn, cut, local_time
from synthorg_tui.cli.records import fields, listing

if TYPE_CHECKING:
    from synthorg_tui.approvals.trail import TrailEntry
    from synthorg_tui.cli.terminal import Terminal
    from synthorg_tui.curation.review import Decision, InboxEntry, Review
    from synthorg_tui.curation.service import EditProposal
    from synthorg_tui.engine import Engine

_STATUSES: Final = ("pending", "approved", "rejected", "expired", "all")
_NOW: Final = "now"
_LAST: Final = "last"
_SCOPES: Final = ("agent", "role", "department", "org")
_TITLE_WIDTH: Final = 60
_ASKS: Final = "It asks at the terminal for the hash\nthat `proposals show` printed."


def _bound(text: str) -> "Callable[[float], bool]":
    from argparse import ArgumentTypeError

    from synthorg_tui.core.text import read_bound

    bound = read_bound(text)
    if bound is None:
        raise ArgumentTypeError(f"{text!r} is no number; write 0.8, '>0.8' or '<0.5'")
    return bound


def _is_wanted(entry: "InboxEntry", args: Namespace, project: str | None) -> bool:
    """Whether an item passes the filters of the arguments."""
    certain = entry.confidence
    return (
        (not args.kind or entry.is_of_kind(args.kind))
        and (not project or entry.is_of_project(project))
        and (args.certainty is None or (certain is not None and args.certainty(certain)))
    )


def _until(text: str) -> datetime | None:
    return None if text == _NOW else coming_moment(text)


@Command(
    "list",
    "list what waits for you",
    examples=("proposals list", "proposals list --status all --json"),
    arguments=(
        Argument(
            "--status",
            choices=_STATUSES,
            default="pending",
            metavar="NAME",
            help=", ".join(_STATUSES),
        ),
        Argument("--snoozed", action="store_true", help="those that are snoozed, too"),
        Argument(
            "--kind",
            metavar="NAME",
            help="lesson, prune ... or failure, gate, correction, habit ...",
        ),
        Argument("--project", metavar="NAME", help=f"only about this one: {PROJECT}"),
        Argument(
            "--certainty", metavar="N", type=_bound, help="at least 0.8, or as in '>0.8', '<0.5'"
        ),
    ),
).asks
async def list_proposals(context: Context, engine: AnyEngine) -> Answer:
    """List proposals, newest first."""
    from synthorg_tui.approvals.models import ApprovalStatus
    from synthorg_tui.approvals.proposals import crowding

    args = context.args
    status = None if args.status == "all" else ApprovalStatus(args.status)
    entries = await engine.reviews.inbox(include_snoozed=args.snoozed, status=status)
    project = await project_named(engine, args.project) if args.project else None
    entries = tuple(entry for entry in entries if _is_wanted(entry, args, project))
    snoozed = 0 if args.snoozed else (await engine.approvals.counts()).snoozed
    crowded = crowding(each.item for each in await engine.reviews.inbox(include_snoozed=True))
    context.console.note(crowded if context.wants_json else "")
    return Answer(
        [shapes.proposal(entry) for entry in entries],
        [
            view.listed(entries),
            Warn(crowded),
            Note(f"{snoozed} snoozed; --snoozed lists them, too" if snoozed else ""),
        ],
    )


@Command(
    "show",
    "show all that an approval would do, and the hash to approve it with",
    examples=("proposals show lesson-3f2a --transcript",),
    arguments=(
        ID,
        Argument(
            "--transcript",
            action="store_true",
            help="the transcript lines of the evidence, too",
        ),
    ),
).asks
async def show_proposal(context: Context, engine: AnyEngine) -> Answer:
    """Show one proposal with every effect that approving it would have."""
    entry = await find(engine, context.args.id)
    review = await engine.reviews.review(entry.item.id)
    trail = await engine.approvals.events(entry.item.id)
    shown = entry.evidence if context.args.transcript else ()
    excerpts = [await engine.reviews.excerpt(evidence) for evidence in shown]
    return Answer(shapes.review(review, trail), view.review_view(review, trail, excerpts))


@Command(
    "trail",
    "list what was decided, adopted by a setting, or refused",
    more="Newest first. Listing doesn't count as telling you: the app tells it still.",
    examples=("proposals trail", "proposals trail --since last --json"),
    arguments=(
        Argument(
            "--since",
            choices=(_LAST,),
            metavar="WHEN",
            help=f"`{_LAST}`: what the app hasn't told you yet, and you didn't decide in it",
        ),
        limit(50, "at most that many (default: {})", most=10_000),
    ),
).asks
async def list_trail(context: Context, engine: AnyEngine) -> Answer:
    """List decisions and refusals, newest first."""
    from synthorg_tui.approvals.trail import summary
    from synthorg_tui.core.actors import actor_words, deed_of

    limit, is_news = context.args.limit, context.args.since == _LAST
    read = engine.trail.news() if is_news else engine.trail.entries(limit=limit)
    entries: Sequence[TrailEntry] = (await read)[:limit]
    return listing(
        "entries",
        entries,
        "number id=item_id title at event=kind actor how reason",
        {
            "WHEN": lambda entry: local_time(entry.at),
            "WHAT": lambda entry: deed_of(entry.kind, entry.actor),
            "BY": lambda entry: actor_words(entry.actor),
            "ID": lambda entry: entry.item_id,
            "TITLE": lambda entry: cut(entry.title, _TITLE_WIDTH),
            "WHY": lambda entry: cut(entry.reason, _TITLE_WIDTH),
        },
        empty="Nothing was decided or refused.",
        note=summary(entries) if entries else "",
    )


@Command(
    "approve",
    "let a proposal count",
    more=_ASKS,
    examples=("proposals approve lesson-3f2a", "proposals approve lesson-3f2a --scope org"),
    arguments=(
        ID,
        Argument(
            "--scope",
            choices=_SCOPES,
            metavar="NAME",
            help=f"for whom: {', '.join(_SCOPES)} (default: as proposed)",
        ),
    ),
).owns
async def approve(context: Context, engine: "Engine") -> Answer:
    """Approve a proposal, once the person has typed the hash of what was shown."""
    from synthorg_tui.approvals.models import DecisionRefusedError

    review = await find_pending(engine, context.args.id)
    async with person_at_terminal(context, engine, review) as terminal:
        if review.problem:
            raise DecisionRefusedError(review.problem)
        _require_hash(terminal, review, _approving(review, context.args.scope))
        with view.shown_again(context.console):
            decision = await engine.reviews.approve(
                review.item.id,
                shown=review.shown,
                person=terminal.person,
                edit=_scoped(context.args.scope),
            )
    return _decided(decision)


def _scoped(name: str | None) -> "EditProposal | None":
    """The change of an item to this scope; ``None`` leaves it as proposed."""
    from synthorg_tui.curation.edits import ProposalEdit
    from synthorg_tui.curation.models import ProceduralMemoryScope

    if name is None:
        return None
    return lambda _: ProposalEdit(scope=ProceduralMemoryScope(name))


@Command(
    "reject",
    "turn a proposal down for good",
    more=_ASKS,
    arguments=(
        ID,
        Argument("--reason", required=True, metavar="TEXT", help="why; it is kept"),
    ),
).runs
async def reject(context: Context) -> Answer:
    """Reject a proposal for good, with the reason given."""
    reason = context.args.reason.strip()
    if not reason:
        raise UsageError("the reason is empty")
    async with context.own_engine() as engine:
        review = await find_pending(engine, context.args.id)
        async with person_at_terminal(context, engine, review) as terminal:
            _require_hash(terminal, review, "Reject")
            with view.shown_again(context.console):
                decision = await engine.reviews.reject(
                    review.item.id, shown=review.shown, reason=reason, person=terminal.person
                )
    return _decided(decision)


@Command(
    "snooze",
    "put a proposal out of the way for a time",
    more="It asks at the terminal.",
    examples=("proposals snooze lesson-3f2a 7d", f"proposals snooze lesson-3f2a {_NOW}"),
    arguments=(
        ID,
        Argument(
            "until",
            metavar="WHEN",
            type=_until,
            help=f"2026-01-31, or 12h, 7d, 2w from now; `{_NOW}` wakes it",
        ),
    ),
).owns
async def snooze(context: Context, engine: "Engine") -> Answer:
    """Hide a proposal until a given time, or show it again at once."""
    until = context.args.until
    review = await find_pending(engine, context.args.id)
    async with person_at_terminal(context, engine, review) as terminal:
        what = f"Snooze until {local_time(until)}" if until else "Wake"
        terminal.agree(f"{what} {_title(review)}?")
        item = await engine.reviews.snooze(review.item.id, until, terminal.person)
    return Answer(
        fields(item, "id snoozed_until"),
        f"Snoozed until {local_time(until)}." if until else "It waits again.",
    )


@Command(
    "undo",
    "take the last decision back",
    more="It asks at the terminal.\nAgain, it takes back the one before.",
).owns
async def undo(context: Context, engine: "Engine") -> Answer:
    """Undo the most recent decision."""
    async with person_at_terminal(context, engine, None) as terminal:
        titles = await engine.reviews.undoable()
        what = f"{len(titles)} approvals" if len(titles) > 1 else "the last decision"
        if titles and terminal.ask(f"Take {what} back? Type undo:") != "undo":
            raise DeclinedError("nothing was changed")
        decision = await engine.reviews.undo(terminal.person) if titles else None
    if decision is None:
        raise UsageError("there is no decision to take back")
    return _decided(decision)


GROUP: Final = Command(
    "proposals",
    about="See and decide what waits for your approval. An ID may be shortened to its\n"
    "first characters. Decisions are taken at a terminal, by you and not by an agent.",
    examples=(
        "proposals list",
        "proposals show lesson-3f2a",
        "proposals approve lesson-3f2a",
        'proposals reject lesson-3f2a --reason "only true for one project"',
    ),
    commands=(
        list_proposals,
        show_proposal,
        list_trail,
        approve,
        reject,
        snooze,
        undo,
        edit_proposals,
    ),
)


@asynccontextmanager
async def person_at_terminal(
    context: Context, engine: "Engine", review: "Review | None"
) -> "AsyncIterator[Terminal]":
    """The person at the terminal; what is refused to them stands in the proposal's trail."""
    from synthorg_tui.approvals.models import ApprovalError
    from synthorg_tui.cli.terminal import deciding_person

    try:
        with deciding_person(engine.settings.approvals) as terminal:
            yield terminal
    except ApprovalError as error:
        if review is not None:
            item_id, reason = review.item.id, error.message
            await engine.approvals.refused(item_id, actor=context.actor, reason=reason)
        raise


def _require_hash(terminal: "Terminal", review: "Review", what: str) -> None:
    """Have the hash typed in.

    Raises ``DeclinedError`` when nothing is typed, ``DecisionRefusedError`` for another hash, and
    for what the person may not decide about.
    """
    from synthorg_tui.approvals.models import DecisionRefusedError

    item_id = review.item.id
    if review.barred:
        raise DecisionRefusedError(review.barred, remedy="Ask one of them.")
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


def _approving(review: "Review", name: str | None) -> str:
    """What is about to happen, with whom it would reach where that isn't as proposed."""
    if name is None:
        return "Approve"
    agents = next((each for scope, each in review.reach.items() if scope == name), ())
    return f"For {', '.join(agents)}: approve" if agents else f"For the scope {name}: approve"


def _title(review: "Review") -> str:
    return f"“{cut(review.item.title, _TITLE_WIDTH)}”"


def _decided(decision: "Decision") -> Answer:
    shape = fields(decision, "kind id=item_id title memory_ids paths left_alone")
    return Answer(shape, view.decision_view(decision))
