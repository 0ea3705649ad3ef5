"""``search``: finds memories by meaning and by words."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from synthorg_tui.cli import shapes
from synthorg_tui.cli.arguments import MEMORY_FILTERS, Argument, limit, past_moment
from synthorg_tui.cli.command import Command
from synthorg_tui.cli.commands.memories_reading import filter_of, title_of
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.errors import UsageError, usage_errors
from synthorg_tui.cli.output import (
    BLANK,
    Answer,
    Console,
    Line,
    Lines,
    Parts,
    View,
    cut,
    local_time,
    wrap,
)
from synthorg_tui.cli.records import Json
from synthorg_tui.core.text import counted, safe_text

if TYPE_CHECKING:
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.memory.listing import Facets, FoundMemories, ListedMemory
    from synthorg_tui.memory.models import MemoryQuery
    from synthorg_tui.memory.retrieval.passages import Passage, PassageFinder

QUERY: Final = Argument("query", nargs="+", metavar="QUERY", help="what to look for")
_BAR: Final = 8
"""Columns of the bar that shows a relevance from 0 to 1."""


def results_view(
    result: "FoundMemories",
    sources: Sequence[Json | None],
    query: str,
    took_ms: float | None = None,
) -> View:
    """Return results for a person; ``took_ms`` is the time of the search in milliseconds."""
    from synthorg_tui.memory.retrieval.passages import PassageFinder

    finder = PassageFinder(query)
    took = f" in {took_ms:.0f} ms" if took_ms is not None else ""
    found = enumerate(zip(result.hits, sources, strict=True), start=1)
    return (
        "" if result.hits else "No memory matches.",
        [_hit_view(rank, hit, shapes.place(source), finder) for rank, (hit, source) in found],
        bool(result.hits) and Line(f"{counted(len(result.hits), 'result')}{took}", "dim"),
    )


def _hit_view(rank: int, entry: "ListedMemory", place: str, finder: "PassageFinder") -> View:
    from synthorg_tui.memory.listing import owner_words

    title, rest = title_of(entry)
    copies = counted(entry.seen_times, "copy", "copies") if entry.seen_times > 1 else ""
    head = [
        (f"{rank:>2}", "dim"),
        (_bar(entry.fused or 0.0), "green"),
        (entry.kind.value, "cyan"),
        (entry.project_name,),
        (owner_words(entry.agent_id), "dim"),
        (local_time(entry.created_at), "dim"),
        (copies, "dim"),
    ]
    texts = [title, *([finder.best(rest).text] if rest.strip() else [])]
    return (
        Parts(head),
        lambda console: [
            _passage(console, finder.marked(cut(safe_text(text), console.width * lines - 8)))
            for lines, text in enumerate(texts, 1)
        ],
        Lines((f"    {detail}" for detail in (place, entry.id[:8]) if detail), "dim"),
        BLANK,
    )


def _passage(console: Console, passage: "Passage") -> View:
    """The text, which must be safe, wrapped and with the words that were searched for in bold."""
    at, rows = 0, []
    for row in wrap(passage.text, console.width - 4):
        start = max(passage.text.find(row, at), at)
        at = start + len(row)
        parts: list[tuple[str, ...]] = [("    ",)]
        for first, last in passage.marks:
            if start <= first < at:
                end = min(last, at)
                parts += [(passage.text[start:first],), (passage.text[first:end], "bold")]
                start = end
        rows.append(Parts([*parts, (passage.text[start:at],)], separator=""))
    return rows


async def find_memories(context: Context) -> Answer:
    """Find memories, best first."""
    args = context.args
    query = _query(context)
    if args.as_of is not None and (args.project or args.kind or args.session or args.tag):
        raise UsageError("--as-of goes with --agent, --category, --since and --until only")
    async with context.engine() as engine:
        started = time.perf_counter()
        within = await filter_of(context, engine)
        if args.archived:
            within = replace(within, states=("archived",))
        agents = frozenset(within.agents) or None
        if args.as_of is None:
            result = await engine.desk.find(query, agents=agents, within=within)
        else:
            result = await engine.desk.find(query, agents=agents, as_of=args.as_of)
        took_ms = round((time.perf_counter() - started) * 1000, 1)
        sources = await sources_of(result, engine.executions)
        if not result.hits:
            _explain_nothing(context, await engine.desk.facets())
    context.console.warning(result.degraded)
    return Answer(
        {
            "query": query.text,
            "took_ms": took_ms,
            "degraded": bool(result.degraded),
            "results": hits_json(result, sources),
        },
        results_view(result, sources, query.text or "", took_ms),
    )


GROUP: Final = Command(
    "search",
    examples=(
        'search "push a branch that has no upstream"',
        "search migration failed --agent claude-code --since 7d",
        "search --json --limit 3 flaky test",
    ),
    arguments=(
        QUERY,
        *MEMORY_FILTERS,
        Argument(
            "--as-of",
            metavar="WHEN",
            type=past_moment,
            help="what was known then, and which facts held (slower: it reads the whole store)",
        ),
        limit(10),
        Argument(
            "--archived",
            action="store_true",
            help="search the archive instead of live memories",
        ),
    ),
).runs(find_memories)


async def sources_of(result: "FoundMemories", executions: "ExecutionStore") -> list[Json | None]:
    """Return the source of each result (file and lines), in their order; ``None`` without one."""
    resolver = shapes.SourceResolver(executions)
    return [await resolver.resolve(hit.source) for hit in result.hits]


def hits_json(result: "FoundMemories", sources: Iterable[Json | None]) -> list[Json]:
    """Return the results as JSON; ``sources`` are those of the results, in the same order."""
    return [shapes.hit(hit, source) for hit, source in zip(result.hits, sources, strict=True)]


def _explain_nothing(context: Context, facets: "Facets") -> None:
    """Say why nothing can be found: nothing is there, or nobody of that name."""
    from synthorg_tui.memory.listing import owner_named

    agents = dict(facets.agents)
    if not agents:
        who = "agents fill it" if facets.final else "`synthorg-tui import` fills it"
        context.console.note(f"the store is empty; {who}")
        return
    unknown = [agent for agent in context.args.agent if owner_named(agent) not in agents]
    context.console.note(
        *(f"{agent} has no memories; `synthorg-tui agents` lists who has" for agent in unknown)
    )


def _bar(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return "━" * full + "─" * (_BAR - full)


def _query(context: Context) -> "MemoryQuery":
    """What is searched for; raises ``UsageError`` for what can't be."""
    from synthorg_tui.memory.models import MemoryQuery

    args = context.args
    text = " ".join(args.query).strip()
    if not text:
        raise UsageError("the query is empty")
    with usage_errors({"": "search", "text": "query"}):
        return MemoryQuery(
            text=text,
            categories=frozenset(args.category) or None,
            since=args.since,
            until=args.until,
            limit=args.limit,
        )
