"""A stream of facts that change: is a stale one ever given above the one that replaced it?

Several agents note facts about several subjects, in several projects, some of them late. After
every batch each agent is asked about each subject, in search, by the tool, and in the digest; the
truth is known. At the end every update must still be there, live or archived with its end.

    python -m benchmarks.fact_updates [--updates 500]
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.synthetic import opened, real_embedder
from benchmarks.table import Limit, Report, Row, command_line, print_report
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.memory.digest.builder import MemoryDigest
from synthorg_tui.memory.digest.config import MemoryV1Config
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryMetadata, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend

AGENTS = ("ada", "bob", "cy")
PROJECTS = ("/src/shop", "/src/mail", None)
SUBJECTS = (
    *("database port", "release branch", "coverage limit", "package manager", "deploy day"),
    *("log level", "python version", "time zone of reports", "review count", "cache size"),
)
WAYS = ("search", "tool", "digest")
START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Update:
    """One fact, as an agent was told it at a time."""

    agent: str
    project: str | None
    subject: str
    value: int
    at: datetime

    @property
    def about(self) -> tuple[str, str | None, str]:
        return (self.agent, self.project, self.subject)

    @property
    def draft(self) -> MemoryDraft:
        key = self.subject.replace(" ", "-")
        return MemoryDraft(
            request=MemoryStoreRequest(
                category=MemoryCategory.SEMANTIC,
                content=f"The {self.subject} is now {self.value}, said {self.agent}.",
                metadata=MemoryMetadata(tags=(f"fact:{key}", "non-inferable", "update")),
            ),
            created_at=self.at,
            project=self.project,
            level=MemoryLevel.PROJECT if self.project else MemoryLevel.PERSISTENT,
        )


@dataclass(slots=True)
class Tally:
    """What the questions gave: how many facts, stale ones above their successor, and current."""

    asked: int = 0
    facts: int = 0
    stale: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    current: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    kept: int = 0
    archived: int = 0


def stream(count: int, seed: int = 7) -> Iterator[Update]:
    """Yield updates, one in four of them told after a later one of the same subject."""
    rng = random.Random(seed)
    made = [
        Update(
            rng.choice(AGENTS),
            rng.choice(PROJECTS),
            rng.choice(SUBJECTS),
            1000 + number,
            START + timedelta(hours=number),
        )
        for number in range(count)
    ]
    places = [n + (rng.randint(20, 120) if rng.random() < 0.25 else 0) for n in range(count)]
    yield from (made[n] for n in sorted(range(count), key=lambda n: (places[n], n)))


async def measure(backend: LocalMemoryBackend, updates: Sequence[Update], batch: int) -> Tally:
    """Store the updates in batches, and ask about everything after each."""
    tally, truth = Tally(), dict[tuple[str, str | None, str], Update]()
    for start in range(0, len(updates), batch):
        for update in updates[start : start + batch]:
            await backend.store_many(update.agent, [update.draft], actor=update.agent)
            known = truth.get(update.about)
            if known is None or known.at < update.at:
                truth[update.about] = update
        for update in truth.values():
            await _ask(backend, update, truth, tally)
    await _count(backend, tally)
    return tally


async def _ask(
    backend: LocalMemoryBackend,
    update: Update,
    truth: dict[tuple[str, str | None, str], Update],
    tally: Tally,
) -> None:
    agent, project, subject = update.about
    text = f"what is the {subject} now"
    view = backend.scoped(Visibility(session_id=None, project=project))
    query = MemoryQuery(text=text, limit=50)
    found = await backend.admin.find(query, agents=frozenset({agent}))
    given = await view.retrieve(agent, query)
    digest = MemoryDigest(view.digest_items(), MemoryV1Config())
    built = await digest.build(agent, text)
    current = {other.draft.request.content for other in truth.values()}
    texts = {
        "search": [hit.content for hit in found.hits],
        "tool": [entry.content for entry in given],
        "digest": [line for line in built.part.split("\n") if " is now " in line],
    }
    tally.asked += 1
    for way, lines in texts.items():
        tally.facts += len(lines)
        stale = [line for line in lines if not any(text in line for text in current)]
        tally.stale[way] += len(stale)
        tally.current[way] += any(update.draft.request.content in line for line in lines)


async def _count(backend: LocalMemoryBackend, tally: Tally) -> None:
    rows = await backend.core.read(
        lambda db: db.execute(
            "SELECT count(*), count(*) FILTER (archived_why = 'superseded' AND valid_to > "
            "created_at) FROM memories"
        ).fetchone()
    )
    tally.kept, tally.archived = rows or (0, 0)


def report(tally: Tally, updates: Sequence[Update]) -> Report:
    """Return the figures with their limits."""
    subjects = len({update.about for update in updates})
    rows = [Row(f"stale, {way}", tally.stale[way], hold=Limit("<=", 0)) for way in WAYS]
    rows += [Row(f"current given, {way}", tally.current[way]) for way in WAYS]
    rows += [
        Row("questions, each asked in three ways", tally.asked),
        Row("facts given", tally.facts),
        Row("updates still there", tally.kept, hold=Limit(">=", len(updates))),
        Row(
            "of them archived with an end",
            tally.archived,
            hold=Limit(">=", len(updates) - subjects),
        ),
    ]
    return Report("fact_updates", {"updates": len(updates), "subjects": subjects}, rows)


async def _run(count: int) -> Report:
    updates = list(stream(count))
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder), real_embedder()) as backend:
            tally = await measure(backend, updates, batch=max(1, count // 5))
    return report(tally, updates)


def main() -> None:
    parser = command_line(__doc__ or "")
    parser.add_argument("--updates", type=int, default=500, metavar="N")
    args: argparse.Namespace = parser.parse_args()
    print_report(asyncio.run(_run(args.updates)), as_json=args.json)


if __name__ == "__main__":
    main()
