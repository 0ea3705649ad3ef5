"""What every vector index does, whichever engine is behind it."""

import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.errors import VectorIndexError
from synthorg_tui.memory.index.edge import EdgeIndex
from synthorg_tui.memory.index.protocol import (
    IndexFilter,
    IndexPoint,
    SparseVector,
    VectorIndex,
    Visibility,
)
from synthorg_tui.memory.index.server import Connect, ServerIndex
from synthorg_tui.memory.listing import ORG_NAMESPACE, ORG_OWNER
from synthorg_tui.providers.embedding.protocol import Vectors
from tests.tables import rows

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
NO_TERMS = SparseVector((), ())
EVERYTHING = IndexFilter(now=NOW)

MakeIndex = Callable[[], VectorIndex]


def uid(number: int) -> str:
    return str(uuid.UUID(int=number))


def terms(*indices: int) -> SparseVector:
    return SparseVector(indices, (1.0,) * len(indices))


def towards(angle: float) -> Vectors:
    """A unit vector in four dimensions, ``angle`` radians away from the first axis."""
    return np.array([np.cos(angle), np.sin(angle), 0, 0], dtype=np.float32)


def point(
    number: int,
    *,
    agent: str = "ada",
    category: MemoryCategory = MemoryCategory.EPISODIC,
    namespace: str = "default",
    tags: tuple[str, ...] = (),
    created_at: datetime = NOW,
    expires_at: datetime | None = None,
    shared: bool = False,
    level: str = "persistent",
    session: str | None = None,
    project: str | None = None,
    dense: Vectors | None = None,
    sparse: SparseVector = NO_TERMS,
) -> IndexPoint:
    return IndexPoint(
        id=uid(number),
        agent_id=agent,
        category=category,
        namespace=namespace,
        tags=tags,
        created_at=created_at,
        expires_at=expires_at,
        shared=shared,
        level=level,
        session_id=session,
        project=project,
        dense=towards(0.0) if dense is None else dense,
        sparse=sparse,
    )


def on_disk(path: Path) -> Connect:
    """The client's own in-process engine, which keeps its collections in a directory."""

    def connect() -> "AsyncQdrantClient":
        from qdrant_client import AsyncQdrantClient

        return AsyncQdrantClient(path=str(path))

    return connect


@pytest.fixture(params=["edge", "small edge", "server"])
def make_index(request: pytest.FixtureRequest, tmp_path: Path) -> MakeIndex:
    """Builds an unopened index; every one it builds is on the same stored data.

    A small one of the engine in this process has no indexes of the fields.
    """
    if request.param == "edge":
        return lambda: EdgeIndex(tmp_path / "index", field_points=1)
    if request.param == "small edge":
        return lambda: EdgeIndex(tmp_path / "index")
    return lambda: ServerIndex(on_disk(tmp_path / "qdrant"), collection="memories")


@pytest.fixture
async def index(make_index: MakeIndex) -> AsyncIterator[VectorIndex]:
    made = make_index()
    await made.open(fingerprint="mini", dims=4)
    yield made
    await made.close()


async def found(index: VectorIndex, where: IndexFilter) -> set[int]:
    """Numbers of the points that pass the filter, the same for both rankings."""
    hits = await index.search(where, dense=towards(0.0), sparse=terms(1), limit=100)
    assert {hit.id for hit in hits.dense} == {hit.id for hit in hits.sparse}
    return {uuid.UUID(hit.id).int for hit in hits.dense}


async def add(index: VectorIndex, *points: IndexPoint, revision: int = 1) -> None:
    await index.apply(points, [], revision=revision)


def with_terms(number: int, **fields: object) -> IndexPoint:
    return point(number, sparse=terms(1), **fields)  # type: ignore[arg-type]


# -- changes


async def test_a_point_is_found_right_after_it_was_applied(index: VectorIndex) -> None:
    await add(index, with_terms(1))
    assert await found(index, EVERYTHING) == {1}


async def test_applying_the_same_change_again_changes_nothing(index: VectorIndex) -> None:
    for _ in range(2):
        await index.apply([with_terms(1), with_terms(2)], [uid(9)], revision=1)
    assert await index.count() == 2
    assert await found(index, EVERYTHING) == {1, 2}


async def test_an_upsert_replaces_vectors_and_fields(index: VectorIndex) -> None:
    await add(index, point(1, tags=("old",), sparse=terms(1)))
    await add(index, point(1, tags=("new",), sparse=terms(2)), revision=2)
    assert await index.count() == 1
    old = IndexFilter(now=NOW, tags=("old",))
    assert (await index.search(old, dense=towards(0), sparse=None, limit=5)).dense == ()
    assert (await index.search(EVERYTHING, dense=None, sparse=terms(1), limit=5)).sparse == ()
    hits = await index.search(EVERYTHING, dense=None, sparse=terms(2), limit=5)
    assert [hit.id for hit in hits.sparse] == [uid(1)]


async def test_an_upsert_without_terms_removes_the_old_terms(index: VectorIndex) -> None:
    await add(index, with_terms(1))
    await add(index, point(1), revision=2)
    hits = await index.search(EVERYTHING, dense=towards(0), sparse=terms(1), limit=5)
    assert [hit.id for hit in hits.dense] == [uid(1)]
    assert hits.sparse == ()


async def test_a_deleted_point_is_in_neither_ranking(index: VectorIndex) -> None:
    await add(index, with_terms(1), with_terms(2))
    await index.apply([], [uid(1)], revision=2)
    assert await found(index, EVERYTHING) == {2}
    assert await index.count() == 1


async def test_deleting_what_is_not_there_does_nothing(index: VectorIndex) -> None:
    await index.apply([], [uid(7)], revision=1)
    assert await index.count() == 0


async def test_an_id_both_upserted_and_deleted_is_gone(index: VectorIndex) -> None:
    await index.apply([with_terms(1)], [uid(1)], revision=1)
    assert await index.count() == 0


async def test_more_points_than_one_batch_are_all_applied(index: VectorIndex) -> None:
    await add(index, *(with_terms(number) for number in range(1, 251)))
    assert await index.count() == 250


async def test_a_vector_of_another_length_is_an_index_error(index: VectorIndex) -> None:
    with pytest.raises(VectorIndexError):
        await add(index, point(1, dense=np.ones(3, dtype=np.float32)))


# -- dense


async def test_dense_hits_come_by_cosine_best_first(index: VectorIndex) -> None:
    angles = {1: 0.9, 2: 0.1, 3: 0.5}
    await add(index, *(point(number, dense=towards(angle)) for number, angle in angles.items()))
    hits = (await index.search(EVERYTHING, dense=towards(0.0), sparse=None, limit=3)).dense
    assert [hit.id for hit in hits] == [uid(2), uid(3), uid(1)]
    assert [hit.score for hit in hits] == pytest.approx(np.cos([0.1, 0.5, 0.9]), abs=5e-4)


async def test_a_point_without_a_dense_vector_is_found_by_terms_only(index: VectorIndex) -> None:
    bare = IndexPoint(
        uid(1), "ada", MemoryCategory.WORKING, "default", (), NOW, None, False,
        "persistent", None, None, None, terms(1),
    )  # fmt: skip
    await add(index, bare)
    hits = await index.search(EVERYTHING, dense=towards(0), sparse=terms(1), limit=5)
    assert hits.dense == ()
    assert [hit.id for hit in hits.sparse] == [uid(1)]


# -- sparse


async def test_a_rare_term_beats_a_common_one(index: VectorIndex) -> None:
    common = [point(number, sparse=terms(1)) for number in range(1, 10)]
    await add(index, *common, point(10, sparse=terms(2)))
    hits = (await index.search(EVERYTHING, dense=None, sparse=terms(1, 2), limit=3)).sparse
    assert hits[0].id == uid(10)
    assert hits[0].score > hits[1].score


async def test_a_sparse_score_is_idf_times_the_term_counts(index: VectorIndex) -> None:
    await add(index, point(1, sparse=SparseVector((1,), (3.0,))), point(2, sparse=terms(2)))
    hits = (await index.search(EVERYTHING, dense=None, sparse=terms(1), limit=3)).sparse
    assert hits[0].score == pytest.approx(3 * np.log((2 - 1 + 0.5) / (1 + 0.5) + 1), rel=1e-4)


async def test_idf_counts_all_points_whatever_the_filter(index: VectorIndex) -> None:
    await add(index, point(1, sparse=terms(1)), point(2, agent="bob", sparse=terms(2)))
    everyone = await index.search(EVERYTHING, dense=None, sparse=terms(1), limit=3)
    only_ada = IndexFilter(now=NOW, agents=frozenset({"ada"}))
    alone = await index.search(only_ada, dense=None, sparse=terms(1), limit=3)
    assert alone.sparse[0].score == pytest.approx(everyone.sparse[0].score)


async def test_points_that_share_no_term_are_not_hits(index: VectorIndex) -> None:
    await add(index, point(1, sparse=terms(1)))
    hits = await index.search(EVERYTHING, dense=None, sparse=terms(2), limit=3)
    assert hits.sparse == ()


async def test_the_largest_32_bit_term_index_works(index: VectorIndex) -> None:
    await add(index, point(1, sparse=terms(2**32 - 1)))
    hits = await index.search(EVERYTHING, dense=None, sparse=terms(2**32 - 1), limit=3)
    assert [hit.id for hit in hits.sparse] == [uid(1)]


async def test_an_empty_sparse_vector_is_not_queried(index: VectorIndex) -> None:
    await add(index, with_terms(1), point(2))
    hits = await index.search(EVERYTHING, dense=towards(0), sparse=NO_TERMS, limit=5)
    assert {hit.id for hit in hits.dense} == {uid(1), uid(2)}
    assert hits.sparse == ()


async def test_a_search_for_nothing_finds_nothing(index: VectorIndex) -> None:
    await add(index, with_terms(1))
    hits = await index.search(EVERYTHING, dense=None, sparse=NO_TERMS, limit=5)
    assert (hits.dense, hits.sparse) == ((), ())


async def test_limit_holds_for_each_ranking(index: VectorIndex) -> None:
    await add(index, *(with_terms(number) for number in range(1, 6)))
    hits = await index.search(EVERYTHING, dense=towards(0), sparse=terms(1), limit=3)
    assert (len(hits.dense), len(hits.sparse)) == (3, 3)


async def test_an_empty_index_answers(index: VectorIndex) -> None:
    assert await found(index, EVERYTHING) == set()


# -- filters


async def test_agents_keeps_the_named_ones(index: VectorIndex) -> None:
    await add(index, *(with_terms(n, agent=name) for n, name in enumerate("abc", start=1)))
    assert await found(index, IndexFilter(now=NOW, agents=frozenset("ac"))) == {1, 3}


async def test_exclude_agent_drops_only_that_one(index: VectorIndex) -> None:
    await add(index, with_terms(1, agent="a"), with_terms(2, agent="b"))
    assert await found(index, IndexFilter(now=NOW, exclude_agent="a")) == {2}


@rows(("shared", "expected"), [(True, {1}), (False, {2}), (None, {1, 2})])
async def test_shared_picks_one_side_or_both(
    index: VectorIndex, shared: bool | None, expected: set[int]
) -> None:
    await add(index, with_terms(1, shared=True), with_terms(2, shared=False))
    assert await found(index, IndexFilter(now=NOW, shared=shared)) == expected


@rows(
    ("shared", "agents", "exclude", "expected"),
    [
        (False, {"a"}, None, {1}),
        (True, {"a"}, None, {2}),
        (None, {"a"}, None, {1, 2}),
        (False, {"a", "b"}, None, {1, 3}),
        (True, set(), "a", {4}),
        (False, set(), "a", {3}),
        (None, set(), "a", {3, 4}),
    ],
)
async def test_shared_and_agents_hold_together(
    index: VectorIndex,
    shared: bool | None,
    agents: set[str],
    exclude: str | None,
    expected: set[int],
) -> None:
    await add(
        index,
        with_terms(1, agent="a"),
        with_terms(2, agent="a", shared=True),
        with_terms(3, agent="b"),
        with_terms(4, agent="b", shared=True),
    )
    where = IndexFilter(now=NOW, shared=shared, agents=frozenset(agents), exclude_agent=exclude)
    assert await found(index, where) == expected


async def test_categories_keeps_any_of_them(index: VectorIndex) -> None:
    kinds = (MemoryCategory.WORKING, MemoryCategory.SOCIAL, MemoryCategory.SEMANTIC)
    await add(index, *(with_terms(n, category=kind) for n, kind in enumerate(kinds, start=1)))
    assert await found(index, IndexFilter(now=NOW, categories=frozenset(kinds[:2]))) == {1, 2}


async def test_namespaces_keeps_any_of_them(index: VectorIndex) -> None:
    await add(index, *(with_terms(n, namespace=name) for n, name in enumerate("abc", start=1)))
    assert await found(index, IndexFilter(now=NOW, namespaces=frozenset("ab"))) == {1, 2}


ORG_POINT = {"agent": ORG_OWNER, "namespace": ORG_NAMESPACE}


@rows(
    "fields",
    [
        {},
        {"shared": False},
        {"exclude_agent": "bob"},
        {"namespaces": frozenset({"default"})},
        {"categories": frozenset(MemoryCategory)},
        {"tags": ("project:/app",)},
        {"visibility": Visibility("s1", "/app")},
    ],
    ids=lambda fields: "-".join(fields) or "everything",
)
async def test_no_search_that_does_not_name_it_sees_what_the_organisation_knows(
    index: VectorIndex, fields: dict[str, object]
) -> None:
    tags = ("project:/app",)
    await add(index, with_terms(1, **ORG_POINT, tags=tags), with_terms(2, tags=tags))
    where = IndexFilter(now=NOW, **fields)  # type: ignore[arg-type]
    assert await found(index, where) == {2}


async def test_a_search_that_names_it_finds_what_the_organisation_knows(
    index: VectorIndex,
) -> None:
    await add(index, with_terms(1, **ORG_POINT), with_terms(2))
    named = IndexFilter(now=NOW, namespaces=frozenset({ORG_NAMESPACE}))
    assert await found(index, named) == {1}


async def test_a_memory_stored_in_that_namespace_before_it_was_reserved_is_still_found(
    index: VectorIndex,
) -> None:
    await add(index, with_terms(1, agent="ada", namespace=ORG_NAMESPACE))
    assert await found(index, EVERYTHING) == {1}


async def test_a_point_must_carry_all_tags(index: VectorIndex) -> None:
    await add(index, with_terms(1, tags=("x",)), with_terms(2, tags=("x", "y")), with_terms(3))
    assert await found(index, IndexFilter(now=NOW, tags=("x", "y"))) == {2}
    assert await found(index, IndexFilter(now=NOW, tags=("x",))) == {1, 2}


async def test_since_is_inclusive_and_until_exclusive(index: VectorIndex) -> None:
    times = (NOW - TICK, NOW, NOW + TICK)
    await add(index, *(with_terms(n, created_at=at) for n, at in enumerate(times, start=1)))
    assert await found(index, IndexFilter(now=NOW, since=NOW)) == {2, 3}
    assert await found(index, IndexFilter(now=NOW, until=NOW)) == {1}
    assert await found(index, IndexFilter(now=NOW, since=NOW, until=NOW + TICK)) == {2}


async def test_a_point_is_hidden_from_the_moment_it_expires(index: VectorIndex) -> None:
    times = (NOW - TICK, NOW, NOW + TICK, None)
    await add(index, *(with_terms(n, expires_at=at) for n, at in enumerate(times, start=1)))
    assert await found(index, IndexFilter(now=NOW)) == {3, 4}


async def visible(index: VectorIndex, session: str | None, project: str | None) -> set[int]:
    await add(
        index,
        with_terms(1, session="s1", project="/p1"),
        with_terms(2, level="project", session="s1", project="/p1"),
        with_terms(3, level="session", session="s1", project="/p1"),
        with_terms(4, level="project"),
        with_terms(5, level="session"),
    )
    return await found(index, IndexFilter(now=NOW, visibility=Visibility(session, project)))


@rows(
    ("session", "project", "expected"),
    [
        (None, None, {1, 4, 5}),
        ("s2", "/p2", {1, 4, 5}),
        ("s2", "/p1", {1, 2, 4, 5}),
        ("s1", "/p2", {1, 3, 4, 5}),
        ("s1", "/p1", {1, 2, 3, 4, 5}),
    ],
)
async def test_memories_of_a_project_or_session_show_only_there_and_those_of_none_everywhere(
    index: VectorIndex, session: str | None, project: str | None, expected: set[int]
) -> None:
    assert await visible(index, session, project) == expected


async def test_the_person_at_the_desk_sees_every_level(index: VectorIndex) -> None:
    await visible(index, None, None)
    assert await found(index, IndexFilter(now=NOW, visibility=None)) == {1, 2, 3, 4, 5}


async def test_all_conditions_hold_together(index: VectorIndex) -> None:
    await add(
        index,
        with_terms(1, agent="a", tags=("x",)),
        with_terms(2, agent="a"),
        with_terms(3, agent="b", tags=("x",)),
    )
    where = IndexFilter(now=NOW, agents=frozenset("a"), tags=("x",), since=NOW)
    assert await found(index, where) == {1}


# -- lifecycle


async def test_a_new_index_is_at_revision_0(make_index: MakeIndex) -> None:
    index = make_index()
    assert await index.open(fingerprint="mini", dims=4) == 0
    await index.close()


async def test_reopening_keeps_points_and_the_revision(make_index: MakeIndex) -> None:
    first, second = make_index(), make_index()
    await first.open(fingerprint="mini", dims=4)
    await add(first, with_terms(1), revision=41)
    await first.apply([], [], revision=42)
    await first.close()
    assert await second.open(fingerprint="mini", dims=4) == 42
    assert await found(second, EVERYTHING) == {1}
    await second.close()


async def test_an_index_can_be_opened_again_after_closing(make_index: MakeIndex) -> None:
    index = make_index()
    for expected in (0, 1):
        assert await index.open(fingerprint="mini", dims=4) == expected
        await add(index, with_terms(1), revision=1)
        await index.close()


@pytest.mark.parametrize(("fingerprint", "dims"), [("other", 4), ("mini", 3)])
async def test_another_embedder_starts_from_nothing(
    make_index: MakeIndex, fingerprint: str, dims: int
) -> None:
    first, second = make_index(), make_index()
    await first.open(fingerprint="mini", dims=4)
    await add(first, with_terms(1), revision=5)
    await first.close()
    assert await second.open(fingerprint=fingerprint, dims=dims) == 0
    assert await second.count() == 0
    await second.close()


async def test_clear_drops_every_point_and_the_revision(make_index: MakeIndex) -> None:
    first, second = make_index(), make_index()
    await first.open(fingerprint="mini", dims=4)
    await add(first, with_terms(1), revision=5)
    await first.clear()
    assert await first.count() == 0
    await add(first, with_terms(2), revision=3)
    assert await found(first, EVERYTHING) == {2}
    await first.close()
    assert await second.open(fingerprint="mini", dims=4) == 3
    await second.close()


async def test_ids_lists_every_point_once(index: VectorIndex) -> None:
    wanted = [uid(number) for number in range(1, 2_104)]
    await add(index, *(point(number) for number in range(1, 2_104)))
    listed = [point_id async for point_id in index.ids()]
    assert sorted(listed) == wanted


async def test_closing_twice_does_nothing(make_index: MakeIndex) -> None:
    index = make_index()
    await index.open(fingerprint="mini", dims=4)
    await index.close()
    await index.close()


async def test_a_closed_index_refuses_to_work(make_index: MakeIndex) -> None:
    with pytest.raises(VectorIndexError):
        await make_index().count()
