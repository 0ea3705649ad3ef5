"""How long each backend of organisation memory takes to answer, and what the first answer costs.

    python -m benchmarks.organisation --facts 10000

A quarter of the facts are sentences that relate made-up services, stores and teams, so that the
graph has something to walk; the rest are texts as in the other benchmarks. Stored vectors are
synthetic, queries use the real model. "Plain" questions are of words in the texts; "steps" ask who
owns the store that a service uses, and their answers are checked.
"""

import asyncio
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.scale import milliseconds, p50, p95, questions
from benchmarks.synthetic import SyntheticVectors, opened, real_embedder, texts
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.factory import create_org_backend
from synthorg_tui.memory.org.models import OrgFactAuthor, OrgFactWriteRequest, OrgMemoryQuery
from synthorg_tui.memory.org.store import OrgAct, OrgStore

BACKENDS = ("hybrid_prompt_retrieval", "temporal_kg", "graph_rag")
QUERIES = 100
MOST = 50.0
"""Milliseconds that half of the answers may take at most."""
_BATCH = 500
_PERSON = OrgFactAuthor(is_human=True)


def facts(count: int) -> Iterator[str]:
    """Yield the texts of facts: each eighth says who uses what, each eighth who owns it."""
    for number, text in enumerate(texts(count)):
        name = number // 8
        if number % 8 == 0:
            yield f"service-{name} uses store-{name}."
        elif number % 8 == 1:
            yield f"store-{name} is owned by Team T{name % 97}."
        else:
            yield text.replace("Memory", "Rule", 1)


async def fill(store: OrgStore, count: int) -> None:
    """Write the facts, distributed evenly over the categories."""
    categories = list(OrgFactCategory)
    waiting = [
        OrgChange(
            kind=OrgChangeKind.PUBLISH,
            author=_PERSON,
            request=OrgFactWriteRequest(content=text, category=categories[number % 4]),
        )
        for number, text in enumerate(facts(count))
    ]
    for first in range(0, count, _BATCH):
        await store.change(waiting[first : first + _BATCH], OrgAct("benchmark"))


async def timed(store: OrgStore, name: str, count: int) -> list[Row]:
    """Ask one backend and return rows with the results."""
    backend = create_org_backend(OrgMemoryConfig.model_validate({"backend": name}), store)
    await backend.connect()
    started = time.perf_counter()
    await backend.query(OrgMemoryQuery(context="Who owns the first store?"))
    first = (time.perf_counter() - started) * 1_000
    plain = questions(QUERIES, seed=BACKENDS.index(name) + 31)
    draw = random.Random(BACKENDS.index(name))
    services = [draw.randrange(count // 8) for _ in range(QUERIES)]
    missed = 0

    async def ask_plain(number: int) -> None:
        await backend.query(OrgMemoryQuery(context=plain[number]))

    async def ask_steps(number: int) -> None:
        nonlocal missed
        service = services[number]
        question = f"Who owns the store that service-{service} uses?"
        found = {each.content for each in await backend.query(OrgMemoryQuery(context=question))}
        missed += f"store-{service} is owned by Team T{service % 97}." not in found

    simple = await milliseconds(QUERIES, ask_plain)
    steps = await milliseconds(QUERIES, ask_steps)
    quick = Limit("<", MOST)
    every = Limit("<=", 0) if name == "graph_rag" else None
    return [
        Row(f"{name}: first answer", first, "ms"),
        Row(f"{name}: plain question, p50", p50(simple), "ms", quick, digits=1),
        Row(f"{name}: plain question, p95", p95(simple), "ms", digits=1),
        Row(f"{name}: question in steps, p50", p50(steps), "ms", quick, digits=1),
        Row(f"{name}: question in steps, p95", p95(steps), "ms", digits=1),
        Row(f"{name}: answers in steps missed of {QUERIES}", missed, "", every),
    ]


async def measure(data_dir: Path, count: int) -> list[Row]:
    async with opened(data_dir, SyntheticVectors(real_embedder())) as local:
        store = OrgStore(local.core)
        started = time.perf_counter()
        await fill(store, count)
        rows = [Row("writing the facts", time.perf_counter() - started, "s", digits=1)]
        for name in BACKENDS:
            rows += await timed(store, name, count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*rows, Row("resident memory, highest", peak, "MB")]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--facts", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measured = asyncio.run(measure(Path(scratch), options.facts))
    report = Report("organisation", {"facts": options.facts}, measured)
    print_report(report, as_json=options.json)


if __name__ == "__main__":
    main()
