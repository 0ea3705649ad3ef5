"""How well a search finds memories: recall of evidence on a LoCoMo file, and nonsense rejected.

Usage: python -m benchmarks.retrieval_quality --data FILE [--limit-conversations N]

One memory for each turn of a conversation, in the real index with the bundled embedding model and
the default settings; the memories of one conversation belong to one agent. A question is asked
among them. ``fused`` is what a search lists; the other rows are its two sources on their own. The
last table is what agents are given: the whole pipeline, in each configuration worth comparing.
"""

import asyncio
import json
import random
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.nonsense import NONSENSE
from benchmarks.pipeline_quality import DatedMemory, Pipeline, filled, variants
from benchmarks.table import Grid, Report, Row, command_line
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import IndexFilter, IndexHits, IndexPoint, SparseVector
from synthorg_tui.memory.retrieval.relevance import (
    DEFAULT_CUTOFF,
    SEARCH_DEPTH,
    FusedHit,
    RelevanceCutoff,
    fuse_hits,
    meaning_of,
    relevant_hits,
)
from synthorg_tui.memory.retrieval.sparse import BM25Tokenizer
from synthorg_tui.providers.embedding.config import MiniLMConfig
from synthorg_tui.providers.embedding.factory import create_embedder
from synthorg_tui.providers.embedding.protocol import Embedder, Vectors

CUTS = (5, 10, 20)
THRESHOLDS = (0.40, 0.45, 0.50, 0.55, 0.60, 0.65)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Question:
    """A question of the data file, its agent, and the memories that answer it."""

    text: str
    agent: str
    evidence: frozenset[str]


@dataclass(frozen=True)
class Data:
    """The memories of a data file as (id, agent, content), and its questions.

    It also has the number of questions without known evidence. ``dates`` holds when memories were
    said, as far as the file has it, ``places`` their session and its turn.
    """

    memories: list[tuple[str, str, str]]
    questions: list[Question]
    skipped: int
    dates: dict[str, datetime]
    places: dict[str, tuple[str, int]]

    def dated_memories(self) -> list[DatedMemory]:
        """Return the memories with their dates; those without one have the date ``NOW``."""
        return [
            DatedMemory(*memory, self.dates.get(memory[0], NOW), *self.places[memory[0]])
            for memory in self.memories
        ]


@dataclass(frozen=True)
class Searched:
    """The rankings of a question's hits by source, and the fused hits with their coverage."""

    question: Question
    hits: IndexHits
    fused: tuple[FusedHit, ...]
    coverage: dict[str, float]

    def listed(self, cutoff: RelevanceCutoff = DEFAULT_CUTOFF) -> list[str]:
        """Return the ids of the hits that a search with this cutoff lists."""
        relevant = relevant_hits(
            self.fused, coverage=lambda hit: self.coverage[hit.id], limit=max(CUTS), cutoff=cutoff
        )
        return [hit.id for hit in relevant]


def load(path: Path, limit: int | None) -> Data:
    conversations = json.loads(path.read_text(encoding="utf-8"))[:limit]
    memories: list[tuple[str, str, str]] = []
    questions: list[Question] = []
    dates: dict[str, datetime] = {}
    places: dict[str, tuple[str, int]] = {}
    asked = 0
    for number, conversation in enumerate(conversations):
        agent = str(conversation.get("sample_id", f"conversation-{number}"))
        ids = {}
        for turn, at, place in _turns(conversation["conversation"]):
            key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{number}/{turn['dia_id']}"))
            ids[turn["dia_id"]] = key
            memories.append((key, agent, _content(turn)))
            places[key] = place
            if at is not None:
                dates[key] = at
        for qa in conversation["qa"]:
            asked += 1
            named = re.findall(r"D\d+:\d+", " ".join(map(str, qa.get("evidence", []))))
            evidence = frozenset(ids[turn] for turn in named if turn in ids)
            if evidence:
                questions.append(Question(qa["question"], agent, evidence))
    return Data(memories, questions, asked - len(questions), dates, places)


def _turns(
    conversation: dict[str, Any],
) -> Iterable[tuple[dict[str, Any], datetime | None, tuple[str, int]]]:
    for name, value in conversation.items():
        if isinstance(value, list):
            at = _date(conversation.get(f"{name}_date_time", ""))
            yield from ((turn, at, (name, line)) for line, turn in enumerate(value, 1))


def _date(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _content(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    shared = f" [shares {caption}]" if caption else ""
    return f"{turn['speaker']}: {turn.get('text', '')}{shared}"


def _point(key: str, agent: str, dense: Vectors, sparse: SparseVector) -> IndexPoint:
    return IndexPoint(
        id=key,
        agent_id=agent,
        category=MemoryCategory.EPISODIC,
        namespace="default",
        tags=(),
        created_at=NOW,
        expires_at=None,
        shared=False,
        level="persistent",
        session_id=None,
        project=None,
        dense=dense,
        sparse=sparse,
    )


class Bench:
    """A search index filled with the memories of a data file."""

    def __init__(self, data: Data, index: EdgeIndex, embedder: Embedder) -> None:
        self._data = data
        self._index = index
        self._embedder = embedder
        self._tokenizer = BM25Tokenizer()
        self._contents = {key: content for key, _, content in data.memories}

    async def fill(self) -> float:
        """Embed and index the memories, and return the number of texts embedded per second."""
        await self._index.open(fingerprint=self._embedder.fingerprint, dims=self._embedder.dims)
        await self._embedder.embed_query("load the model")
        started = time.perf_counter()
        vectors = await self._embedder.embed([content for _, _, content in self._data.memories])
        seconds = time.perf_counter() - started
        points = [
            _point(key, agent, vector, self._tokenizer.encode_document(content))
            for (key, agent, content), vector in zip(self._data.memories, vectors, strict=True)
        ]
        await self._index.apply(points, (), revision=1)
        return len(points) / seconds

    async def search(self, questions: Sequence[Question]) -> list[Searched]:
        vectors = await self._embedder.embed([meaning_of(q.text) for q in questions])
        return [await self._search(q, vector) for q, vector in zip(questions, vectors, strict=True)]

    async def _search(self, question: Question, vector: Vectors) -> Searched:
        agents = frozenset({question.agent}) if question.agent else None
        hits = await self._index.search(
            IndexFilter(now=NOW, agents=agents),
            dense=vector,
            sparse=self._tokenizer.encode(question.text),
            limit=SEARCH_DEPTH,
        )
        fused = fuse_hits(hits, limit=2 * max(CUTS))
        terms = self._tokenizer.tokenize(question.text)
        coverage = {
            hit.id: self._tokenizer.coverage(terms, self._contents[hit.id]) for hit in fused
        }
        return Searched(question, hits, fused, coverage)


def quality(answers: Sequence[tuple[Question, list[str]]]) -> list[float]:
    """Return the recall of the evidence in the first 5, 10 and 20 hits, and the MRR in 20."""
    recalls: dict[int, float] = dict.fromkeys(CUTS, 0.0)
    reciprocal = 0.0
    for question, ranked in answers:
        ids, evidence = ranked[: max(CUTS)], question.evidence
        for cut in CUTS:
            recalls[cut] += len(evidence.intersection(ids[:cut])) / len(evidence)
        first = next((rank for rank, key in enumerate(ids, 1) if key in evidence), None)
        reciprocal += 1 / first if first else 0.0
    values = [*recalls.values(), reciprocal]
    return [value / max(1, len(answers)) for value in values]


def quality_grid(results: Sequence[Searched]) -> Grid:
    rankings: dict[str, Callable[[Searched], list[str]]] = {
        "dense": lambda result: [hit.id for hit in result.hits.dense],
        "sparse": lambda result: [hit.id for hit in result.hits.sparse],
        "fused, no cutoff": lambda result: [hit.id for hit in result.fused],
        "fused": lambda result: result.listed(),
    }
    lines = {
        name: quality([(result.question, ranked(result)) for result in results])
        for name, ranked in rankings.items()
    }
    return Grid("", (*(f"R@{cut}" for cut in CUTS), "MRR"), lines)


async def pipeline_grid(pipeline: Pipeline, data: Data) -> Grid:
    """Measure the digests under each configuration, and return a table."""
    lines = {}
    for name, retrieval in variants().items():
        answers = [(q, await pipeline.given(q.agent, q.text, retrieval)) for q in data.questions]
        answered = sum(bool(ids) for _, ids in answers) / max(1, len(answers))
        memories = sum(len(ids) for _, ids in answers) / max(1, len(answers))
        lines[name] = [*quality(answers), answered, memories]
    return Grid("given", (*(f"R@{cut}" for cut in CUTS), "MRR", "answered", "memories"), lines)


async def rejection(pipeline: Pipeline, data: Data) -> Row:
    """Measure the share of nonsense queries that get an empty digest by default."""
    nonsense = [question.text for group in nonsense_questions().values() for question in group]
    agents = list(dict.fromkeys(agent for _, agent, _ in data.memories))
    silent = [
        not await pipeline.given(agents[number % len(agents)], text)
        for number, text in enumerate(nonsense)
    ]
    share = sum(silent) / len(silent)
    return Row("nonsense for which agents are given nothing", share, digits=3)


def cutoff_grid(real: Sequence[Searched], nonsense: dict[str, list[Searched]]) -> Grid:
    """Return a table of the shares of real questions answered and nonsense rejected, by cutoff."""
    lines = {}
    for threshold in THRESHOLDS:
        cutoff = DEFAULT_CUTOFF._replace(convincing=threshold)
        rejected = [1 - _answered(results, cutoff) for results in nonsense.values()]
        everything = [result for results in nonsense.values() for result in results]
        shares = [_answered(real, cutoff), 1 - _answered(everything, cutoff), *rejected]
        mark = " (default)" if threshold == DEFAULT_CUTOFF.convincing else ""
        lines[f"{threshold:.2f}{mark}"] = shares
    return Grid("convincing", ("real answered", "nonsense rejected", *nonsense), lines)


def _answered(results: Sequence[Searched], cutoff: RelevanceCutoff) -> float:
    return sum(bool(result.listed(cutoff)) for result in results) / max(1, len(results))


def nonsense_questions() -> dict[str, list[Question]]:
    """Return questions about other topics, random words and random letters, by kind.

    They are asked among all memories.
    """
    rng = random.Random(7)
    words = sorted({word for queries in NONSENSE.values() for q in queries for word in q.split()})
    letters = "abcdefghijklmnopqrstuvwxyz"
    queries = {
        **NONSENSE,
        "random words": [" ".join(rng.sample(words, rng.randint(2, 6))) for _ in range(60)],
        "random letters": [
            " ".join("".join(rng.choices(letters, k=rng.randint(4, 9))) for _ in range(2))
            for _ in range(30)
        ],
    }
    return {name: [Question(q, "", frozenset()) for q in group] for name, group in queries.items()}


@dataclass(frozen=True)
class Quality:
    """The results of a run: amount of data, three comparisons, and the answers to nonsense."""

    counts: tuple[Row, ...]
    grids: tuple[Grid, ...]
    rejected: Row

    def as_rows(self) -> list[Row]:
        grids = [row for grid in self.grids for row in grid.as_rows()]
        return [*self.counts, *grids, self.rejected]

    def as_table(self) -> str:
        counts = ", ".join(f"{row.value:.0f} {row.name}" for row in self.counts)
        rejected = f"{self.rejected.name}: {self.rejected.value:.3f}"
        return "\n\n".join((counts, *(grid.as_table() for grid in self.grids), rejected))


async def run(path: Path, limit: int | None) -> Quality:
    """Measure the first ``limit`` conversations of a data file, or all if it is ``None``."""
    data = load(path, limit)
    embedder = create_embedder(MiniLMConfig())
    with tempfile.TemporaryDirectory() as directory:
        index = EdgeIndex(Path(directory) / "index")
        bench = Bench(data, index, embedder)
        rate = await bench.fill()
        real = await bench.search(data.questions)
        nonsense = {n: await bench.search(qs) for n, qs in nonsense_questions().items()}
        await index.close()
    await embedder.close()
    async with filled(data.dated_memories()) as pipeline:
        given = await pipeline_grid(pipeline, data)
        rejected = await rejection(pipeline, data)
    counts = (
        Row("memories", len(data.memories)),
        Row("embedded a second", rate),
        Row("questions", len(data.questions)),
        Row("skipped without known evidence", data.skipped),
    )
    return Quality(counts, (quality_grid(real), cutoff_grid(real, nonsense), given), rejected)


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a file in LoCoMo's format")
    parser.add_argument("--limit-conversations", type=int, metavar="N", help="only the first N")
    options = parser.parse_args()
    try:
        measured = asyncio.run(run(options.data, options.limit_conversations))
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"{options.data} can't be read as LoCoMo data: {error!r}", file=sys.stderr)
        return 2
    parameters = {"data": options.data.name, "conversations": options.limit_conversations}
    report = Report("retrieval_quality", parameters, measured.as_rows())
    print(report.as_json() if options.json else measured.as_table())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
