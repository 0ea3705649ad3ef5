"""``proposals trail``: lists what was decided, adopted by a setting, or refused, over all items."""

from typing import TYPE_CHECKING, Final

from synthorg_tui.cli.arguments import Argument, limit
from synthorg_tui.cli.command import Answer, Command
from synthorg_tui.cli.output import cut, local_time

if TYPE_CHECKING:
    from synthorg_tui.approvals.trail import TrailEntry
    from synthorg_tui.cli.context import AnyEngine, Context

_LAST: Final = "last"
_TITLE_WIDTH: Final = 60


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
async def list_trail(context: "Context", engine: "AnyEngine") -> Answer:
    """List decisions and refusals, newest first."""
    from synthorg_tui.approvals.trail import summary
    from synthorg_tui.core.actors import actor_words, deed_of

    args = context.args
    if args.since == _LAST:
        entries = (await engine.trail.news())[: args.limit]
    else:
        entries = await engine.trail.entries(limit=args.limit)
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
    header, none = ("WHEN", "WHAT", "BY", "ID", "TITLE", "WHY"), "Nothing was decided or refused."
    return Answer(
        {"entries": [_json(entry) for entry in entries]},
        lambda console: console.table(header, rows, empty=none),
        note=summary(entries) if entries else "",
    )


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
