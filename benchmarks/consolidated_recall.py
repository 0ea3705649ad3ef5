"""What consolidating costs in recall: the older half of LoCoMo's sessions consolidated, all asked.

    python -m benchmarks.consolidated_recall --data FILE [--limit-conversations N]

The older half of each conversation's sessions is stored and consolidated half a year later, then
the newer half is stored, and every question is asked. ``not at all`` is the store without that,
``by itself`` what the program does unasked with the shipped settings, the others are plans that a
person adopts whole: one with the shipped cap, and as many without a cap as find something.

An archived turn counts as found only by a text that holds it to the letter, be it a copy or what it
was merged into. A text that holds several turns counts for all of them, at its one place.
"""

import asyncio
import sys
import tempfile
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from benchmarks.pipeline_quality import BUDGET, DatedMemory, drafted
from benchmarks.retrieval_quality import Data, load
from benchmarks.table import Grid, Report, command_line
from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import BatchStore
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.settings.root import RootConfig

MAX_LOSS: Final = 0.02
"""By how much recall may fall."""
_LATER: Final = timedelta(days=180)
_MOST_PLANS: Final = 10
_CUTS: Final = (5, 10, 20)
_HEADS: Final = ("R@5", "R@10", "R@20", "MRR", "live", "archived")


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.current = datetime.now().astimezone()

    def now(self) -> datetime:
        return self.current


def older(memories: Sequence[DatedMemory]) -> frozenset[str]:
    """Return the keys of the turns in the older half of each agent's sessions."""
    keys: set[str] = set()
    for agent in {memory.agent for memory in memories}:
        own = [memory for memory in memories if memory.agent == agent]
        sessions = list(dict.fromkeys(m.session for m in sorted(own, key=lambda m: m.at)))
        half = set(sessions[: len(sessions) // 2])
        keys.update(memory.key for memory in own if memory.session in half)
    return frozenset(keys)


def settings(share: float | None) -> RootConfig:
    """Return the shipped settings, with another cap of a plan when one is given."""
    shipped = shipped_settings()
    if share is None:
        return shipped
    given = shipped.model_dump(exclude_defaults=True)
    given.setdefault("memory", {}).setdefault("consolidation", {})["max_share_per_run"] = share
    return RootConfig.model_validate(given)


async def consolidate(engine: Engine, how: str) -> int:
    """Consolidate in one of the ways, and return how many memories were archived."""
    runs = engine.consolidation
    if how == "by itself":
        await runs.run_due()
    for _ in range({"one plan": 1, "all plans": _MOST_PLANS}.get(how, 0)):
        plan = await runs.plan(actor="benchmark")
        if not plan.groups:
            break
        await runs.apply(plan.number, actor="benchmark")
    return await runs.merged_since(None)


async def measure(data: Data, how: str) -> list[float]:
    """Return recall, mean reciprocal rank, and how many memories are live and archived."""
    memories, clock = data.dated_memories(), Hands()
    first = older(memories)
    with tempfile.TemporaryDirectory() as folder:
        chosen = settings(1.0 if how == "all plans" else None)
        async with Engine.open(chosen, data_dir=Path(folder), clock=clock) as engine:
            await fill(engine, [memory for memory in memories if memory.key in first])
            clock.current = max(memory.at for memory in memories) + _LATER
            archived = await consolidate(engine, how)
            await fill(engine, [memory for memory in memories if memory.key not in first])
            found = [
                (question.evidence, await given(engine, clock, memories, question.agent, text))
                for question in data.questions
                if (text := question.text)
            ]
            live = sum([await engine.memory.count(a) for a in {m.agent for m in memories}])
    return [*quality(found), live, archived]


async def fill(engine: Engine, memories: Sequence[DatedMemory]) -> None:
    assert isinstance(engine.memory, BatchStore)
    for agent in dict.fromkeys(memory.agent for memory in memories):
        own = [drafted(memory) for memory in memories if memory.agent == agent]
        await engine.memory.store_many(agent, own, actor="benchmark")


async def given(
    engine: Engine, clock: Hands, memories: Sequence[DatedMemory], agent: str, text: str
) -> list[frozenset[str]]:
    """Return, for each memory that the agent is given, which turns it holds, best first."""
    own = [memory for memory in memories if memory.agent == agent]
    clock.current = max(memory.at for memory in own) + timedelta(days=1)
    prepared = await engine.injection.prepare(InjectionRequest(agent, text, BUDGET))
    texts = [candidate.entry.content for candidate in prepared.explanation.included]
    return [frozenset(m.key for m in own if m.content in shown) for shown in texts[: max(_CUTS)]]


def quality(found: Sequence[tuple[Collection[str], list[frozenset[str]]]]) -> list[float]:
    """Return the recall of the evidence in the first 5, 10 and 20 texts, and the MRR in 20."""
    recalls, reciprocal = dict.fromkeys(_CUTS, 0.0), 0.0
    for evidence, held in found:
        for cut in _CUTS:
            recalls[cut] += len(set(evidence).intersection(*[set().union(*held[:cut])])) / len(
                evidence
            )
        first = next((at for at, keys in enumerate(held, 1) if keys & set(evidence)), None)
        reciprocal += 1 / first if first else 0.0
    return [value / max(1, len(found)) for value in (*recalls.values(), reciprocal)]


async def run(path: Path, limit: int | None) -> Grid:
    """Measure every way of consolidating."""
    data = load(path, limit)
    ways = ("not at all", "by itself", "one plan", "all plans")
    return Grid("older half consolidated", _HEADS, {how: await measure(data, how) for how in ways})


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--limit-conversations", type=int, metavar="N", help="only the first N")
    options = parser.parse_args()
    try:
        grid = asyncio.run(run(options.data, options.limit_conversations))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{options.data} can't be read as LoCoMo data: {error!r}", file=sys.stderr)
        return 2
    parameters = {"data": options.data.name, "conversations": options.limit_conversations}
    report = Report("consolidated_recall", parameters, grid.as_rows())
    print(report.as_json() if options.json else grid.as_table())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
