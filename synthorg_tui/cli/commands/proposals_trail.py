"""``proposals trail``: lists what was decided, adopted by a setting, or refused, over all items."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Subparsers, add_command, whole
from synthorg_tui.cli.output import cut, local_time

if TYPE_CHECKING:
    from synthorg_tui.approvals.trail import TrailEntry
    from synthorg_tui.cli.context import Context

_LAST: Final = "last"
_TITLE_WIDTH: Final = 60
_MAX_LISTED: Final = 10_000


def add_trail(actions: Subparsers) -> None:
    """Add the parser of ``proposals trail`` to those of ``proposals``."""
    parser = add_command(
        actions,
        "trail",
        run_trail,
        "list what was decided, adopted by a setting, or refused",
        more="Newest first. Listing doesn't count as telling you: the app tells it still.",
        examples=("proposals trail", "proposals trail --since last --json"),
    )
    parser.add_argument(
        "--since",
        choices=(_LAST,),
        metavar="WHEN",
        help=f"`{_LAST}`: what the app hasn't told you yet, and you didn't decide in it",
    )
    parser.add_argument(
        "--limit",
        type=whole(1, _MAX_LISTED),
        default=50,
        metavar="N",
        help="at most that many (default: 50)",
    )


async def run_trail(context: "Context") -> int:
    """List decisions and refusals, newest first."""
    args = context.args
    async with context.engine() as engine:
        if args.since == _LAST:
            entries = (await engine.trail.news())[: args.limit]
        else:
            entries = await engine.trail.entries(limit=args.limit)
    if context.wants_json:
        context.console.json({"entries": [_json(entry) for entry in entries]})
        return 0
    _show(context, entries)
    return 0


def _show(context: "Context", entries: "tuple[TrailEntry, ...]") -> None:
    from synthorg_tui.approvals.trail import summary
    from synthorg_tui.core.actors import actor_words, deed_of

    if not entries:
        context.console.line("Nothing was decided or refused.")
        return
    rows = [
        (
            local_time(entry.at),
            deed_of(entry.kind, entry.actor),
            actor_words(entry.actor),
            entry.item_id,
            cut(entry.title, _TITLE_WIDTH),
            cut(entry.reason, _TITLE_WIDTH),
        )
        for entry in entries
    ]
    context.console.table(("WHEN", "WHAT", "BY", "ID", "TITLE", "WHY"), rows)
    context.console.note(summary(entries))


def _json(entry: "TrailEntry") -> dict[str, object]:
    return {
        "number": entry.number,
        "id": entry.item_id,
        "title": entry.title,
        "at": entry.at.isoformat(),
        "event": entry.kind.value,
        "actor": entry.actor,
        "how": entry.how.value,
        "reason": entry.reason,
    }
