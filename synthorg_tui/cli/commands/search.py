"""``search``: finds memories by meaning and by words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import Subparsers, add_command, add_memory_filters, whole
from synthorg_tui.cli.commands import COMMANDS
from synthorg_tui.cli.errors import UsageError
from synthorg_tui.cli.output import Console, local_time
from synthorg_tui.core.text import counted, safe_text

if TYPE_CHECKING:
    from synthorg_tui.cli.context import Context
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.memory.listing import FoundMemories, ListedMemory
    from synthorg_tui.memory.models import MemoryQuery

_CONTENT_LINES = 3


def add(commands: Subparsers) -> None:
    """Add the parser of ``search`` to ``commands``."""
    parser = add_command(
        commands,
        "search",
        run_search,
        COMMANDS["search"].summary,
        examples=(
            'search "push a branch that has no upstream"',
            "search migration failed --agent claude-code --since 7d",
            "search --json --limit 3 flaky test",
        ),
    )
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to look for")
    add_memory_filters(parser)
    parser.add_argument(
        "--limit", metavar="N", type=whole(1, 1000), default=10, help="at most (default 10)"
    )


async def run_search(context: "Context") -> int:
    """Find memories and print them, best first."""
    import time

    args = context.args
    query = _query(context)
    async with context.engine() as engine:
        started = time.perf_counter()
        result = await engine.desk.find(query, agents=frozenset(args.agent) or None)
        took_ms = round((time.perf_counter() - started) * 1000, 1)
        sources = await sources_of(result, engine.executions)
        agents = None if result.hits else dict((await engine.desk.facets()).agents)
    if agents is not None:
        _explain_nothing(context, agents)
    if result.degraded:
        context.console.warning(result.degraded)
    if context.wants_json:
        context.console.json(
            {
                "query": query.text,
                "took_ms": took_ms,
                "degraded": bool(result.degraded),
                "results": hits_json(result, sources),
            }
        )
    else:
        show_results(context.console, result, sources, took_ms)
    return 0


async def sources_of(
    result: "FoundMemories", executions: "ExecutionStore"
) -> list[shapes.Json | None]:
    """Return the source of each result (file and lines), in their order; ``None`` without one."""
    resolver = shapes.SourceResolver(executions)
    return [await resolver.resolve(hit.source) for hit in result.hits]


def hits_json(result: "FoundMemories", sources: Iterable[shapes.Json | None]) -> list[shapes.Json]:
    """Return the results as JSON; ``sources`` are those of the results, in the same order."""
    return [shapes.hit(hit, source) for hit, source in zip(result.hits, sources, strict=True)]


def _explain_nothing(context: "Context", agents: Mapping[str, int]) -> None:
    """Say why nothing can be found: nothing is there, or nobody of that name."""
    if not agents:
        context.console.note("the store is empty; `synthorg-tui import` fills it")
        return
    for agent in context.args.agent:
        if agent not in agents:
            context.console.note(
                f"{safe_text(agent)} has no memories; `synthorg-tui agents` lists who has"
            )


def show_results(
    console: Console,
    result: "FoundMemories",
    sources: Sequence[shapes.Json | None],
    took_ms: float | None = None,
) -> None:
    """Print results for a person; ``took_ms`` is the time of the search in milliseconds."""
    if not result.hits:
        console.line("No memory matches.")
        return
    for rank, (hit, source) in enumerate(zip(result.hits, sources, strict=True), start=1):
        _show_hit(console, rank, hit, shapes.place(source))
    took = f" in {took_ms:.0f} ms" if took_ms is not None else ""
    console.line(f"{counted(len(result.hits), 'result')}{took}", "dim")


def _show_hit(console: Console, rank: int, entry: "ListedMemory", place: str) -> None:
    console.parts(
        [
            (f"{rank:>2}", "dim"),
            (f"{entry.fused:.2f}", "green"),
            (entry.category.value, "cyan"),
            (entry.agent_id,),
            (local_time(entry.created_at), "dim"),
        ]
    )
    console.block(entry.content, indent=4, max_lines=_CONTENT_LINES)
    for detail in (place, "  ".join([entry.id[:8], *(f"#{tag}" for tag in entry.tags)])):
        if detail:
            console.line(f"    {detail}", "dim")
    console.line()


def _query(context: "Context") -> "MemoryQuery":
    from pydantic import ValidationError

    from synthorg_tui.memory.models import MemoryQuery

    args = context.args
    text = " ".join(args.query).strip()
    if not text:
        raise UsageError("the query is empty")
    try:
        return MemoryQuery(
            text=text,
            categories=frozenset(args.category) or None,
            tags=tuple(args.tag),
            since=args.since,
            until=args.until,
            limit=args.limit,
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "search"
        reason = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{'query' if field == 'text' else field}: {reason}") from error
