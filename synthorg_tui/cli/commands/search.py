"""``search``."""

import time

from pydantic import ValidationError

from synthorg_tui.cli import shapes
from synthorg_tui.cli.console import Console, local_time, plural
from synthorg_tui.cli.context import Context, UsageError
from synthorg_tui.core.text import safe_text
from synthorg_tui.memory.listing import FoundMemories, ListedMemory
from synthorg_tui.memory.models import MemoryQuery

_CONTENT_LINES = 3


async def run_search(context: Context) -> int:
    """Find memories and print them, best first."""
    args = context.args
    query = _query(context)
    async with context.engine() as engine:
        started = time.perf_counter()
        result = await engine.desk.find(query, agents=frozenset(args.agent) or None)
        took_ms = round((time.perf_counter() - started) * 1000, 1)
        resolver = shapes.SourceResolver(engine.executions)
        sources = [await resolver.resolve(hit.source) for hit in result.hits]
        agents = None if result.hits else dict((await engine.desk.facets()).agents)
    if agents is not None:
        _explain_nothing(context, agents)
    if result.degraded:
        context.console.warning(result.degraded)
    if context.wants_json:
        hits = [shapes.hit(h, s) for h, s in zip(result.hits, sources, strict=True)]
        context.console.json(
            {
                "query": query.text,
                "took_ms": took_ms,
                "degraded": bool(result.degraded),
                "results": hits,
            }
        )
    else:
        show_results(context.console, result, sources, took_ms)
    return 0


def _explain_nothing(context: Context, agents: dict[str, int]) -> None:
    """Why nothing can be found: nothing is there, or nobody of that name."""
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
    result: FoundMemories,
    sources: list[shapes.Json | None],
    took_ms: float | None = None,
) -> None:
    """Print results for a person."""
    if not result.hits:
        console.line("No memory matches.")
        return
    for rank, (hit, source) in enumerate(zip(result.hits, sources, strict=True), start=1):
        _show_hit(console, rank, hit, shapes.place(source))
    took = f" in {took_ms:.0f} ms" if took_ms is not None else ""
    console.line(f"{plural(len(result.hits), 'result')}{took}", "dim")


def _show_hit(console: Console, rank: int, entry: ListedMemory, place: str) -> None:
    console.parts(
        [
            (f"{rank:>2}", "dim"),
            (f"{entry.fused or 0.0:.2f}", "green"),
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


def _query(context: Context) -> MemoryQuery:
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
