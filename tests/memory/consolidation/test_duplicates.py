"""Clusters: what says the same is found, and what says something else is never joined."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.consolidation.duplicates import (
    Cluster,
    ClusterKind,
    Comparable,
    clusters_of,
)
from synthorg_tui.memory.consolidation.similarity import numbers_of, turns, words_of
from synthorg_tui.providers.embedding.protocol import Vectors
from tests.tables import rows

START = datetime(2026, 1, 1, tzinfo=UTC)
SAME = np.array([1.0, 0.0], dtype=np.float32)
OTHER = np.array([0.0, 1.0], dtype=np.float32)


def memory(
    place: int,
    content: str,
    *,
    key: str | None = None,
    project: str | None = None,
    agent: str = "a",
    pinned: bool = False,
    by_person: bool = False,
    audience: str = "",
    vector: Vectors | None = SAME,
) -> Comparable:
    return Comparable(
        id=f"m{place:05}",
        content=content,
        created_at=START + timedelta(days=place),
        agent_id=agent,
        project=project,
        key=key,
        pinned=pinned,
        by_person=by_person,
        audience=audience,
        vector=vector,
    )


def of_texts(*texts: str, vector: Vectors | None = SAME) -> tuple[Cluster, ...]:
    return clusters_of([memory(place, text, vector=vector) for place, text in enumerate(texts)])


def recovery(branch: str, remedy: str, error: str = "The current branch {} has no upstream") -> str:
    return (
        f"git push worked with {remedy}\nFailed: git push (exit code 128): "
        f"{error.format(branch)}. Some thought of the agent.\nThen worked: git push {remedy}\n"
        f"In shop on branch {branch}."
    )


def test_the_same_text_is_one_cluster_whatever_its_white_space() -> None:
    (cluster,) = of_texts("run  the checks\n", "run the checks", "something else")

    assert cluster.kind is ClusterKind.EXACT
    assert cluster.members == ("m00001", "m00000")
    assert (cluster.count, cluster.last) == (2, START + timedelta(days=1))


def test_the_kept_one_is_a_persons_then_pinned_then_newest() -> None:
    text = "run the checks"
    plain = [memory(1, text), memory(2, text)]
    pinned = memory(0, text, pinned=True)
    said = memory(0, text, by_person=True)

    assert clusters_of(plain)[0].kept == "m00002"
    for best in (pinned, said):
        assert clusters_of([*plain, best])[0].kept == best.id


@rows(
    "other",
    [
        memory(1, "run the checks", project="/b"),
        memory(1, "run the checks", agent="b"),
        memory(1, "run the checks", audience="shared"),
        memory(1, "run the checks", key="checks"),
    ],
)
def test_what_others_are_given_stands_for_itself(other: Comparable) -> None:
    assert clusters_of([memory(0, "run the checks"), other]) == ()


def test_of_facts_with_one_key_the_newest_stands_for_all() -> None:
    (cluster,) = clusters_of(
        [
            memory(5, "Port 9000", key="port"),
            memory(7, "Port 9100", key="port"),
            memory(6, "Port 80", key="port", pinned=True),
            memory(8, "Port 9100", key="other"),
        ]
    )

    assert (cluster.kind, cluster.kept) == (ClusterKind.SAME_KEY, "m00007")
    assert cluster.members == ("m00007", "m00006", "m00005")


def test_a_persons_fact_and_an_agents_of_one_key_both_stand() -> None:
    said = memory(1, "Port 80", key="port", by_person=True)

    assert clusters_of([said, memory(2, "Port 9000", key="port")]) == ()


def test_recoveries_of_one_failure_are_one_cluster_whatever_the_branch() -> None:
    (cluster,) = of_texts(
        recovery("first", "--set-upstream origin first"),
        recovery("second", "--set-upstream origin second"),
    )

    assert cluster.kind is ClusterKind.SAME_FAILURE
    assert cluster.count == 2


@rows(
    "other",
    [
        recovery("second", "--force"),
        recovery("second", "--set-upstream origin second", "The remote has commits that {} lacks"),
    ],
)
def test_another_error_or_another_remedy_is_another_recovery(other: str) -> None:
    assert of_texts(recovery("first", "--set-upstream origin first"), other) == ()


@rows(
    ("one", "other"),
    [
        ("Always run the formatter before a commit.", "always run formatter before the commits"),
        ("Run **all** checks first", "Run all checks first."),
        (
            "Run the formatter before each commit, and push the branch afterwards.",
            "Please run the formatter before each commit and push that branch afterwards",
        ),
    ],
)
def test_the_same_words_are_near_without_a_vector(one: str, other: str) -> None:
    (cluster,) = of_texts(one, other, vector=None)

    assert cluster.kind is ClusterKind.NEAR


MORE = "Format the changed files, stage them, write a message, push the branch, open a request"
MOST = (
    "Format the changed files, stage them, write a message, push the branch, open a request pronto"
)


def test_a_word_more_is_near_only_where_the_meaning_is_the_same() -> None:
    near = [memory(0, MORE), memory(1, MOST)]
    far = [memory(0, MORE), memory(1, MOST, vector=OTHER)]
    unknown = [memory(0, MORE), memory(1, MOST, vector=None)]

    assert [cluster.kind for cluster in clusters_of(near)] == [ClusterKind.NEAR]
    assert clusters_of(far) == clusters_of(unknown) == ()


@rows(
    ("one", "other"),
    [
        ("Always squash commits before merging", "Never squash commits before merging"),
        ("Do commit generated files", "Don't commit generated files"),
        ("Do commit generated files", "Do NOT commit generated files"),
        ("Push to main when it is green", "Push to main unless it is green"),
        ("Use tabs, not spaces", "Use spaces, not tabs"),
        ("Format before the tests run", "Tests run before the format"),
        ("Wait 30 seconds", "Wait 300 seconds"),
        ("Keep 3 copies for 7 days", "Keep 7 copies for 3 days"),
        ("The config is in etc/app.toml", "The config is in etc/app.yaml"),
        ("Call it with -f", "Call it with -F"),
        ("Call it with --force", "Call it with --force-with-lease"),
        ("Ask Alice about the deployment", "Ask Bob about the deployment"),
        ("a < b must hold", "a > b must hold"),
        ("The build was broken on the main branch", "The build is broken on the main branch"),
        ("May be published", "Must be published"),
        ("Delete the tested snapshots", "Delete the untested snapshots"),
        ("Read .env first", "Read env first"),
    ],
)
def test_opposites_and_other_values_never_join_however_near_their_vectors(
    one: str, other: str
) -> None:
    filler = ". Format the changed files, stage them, write a message, push it, open a request"

    assert of_texts(one, other) == ()
    assert of_texts(one + filler, other + filler) == ()


@rows("word", ["not", "never", "only", "staging", "7", "--all", "Bob"])
def test_a_word_more_that_may_turn_the_meaning_never_joins(word: str) -> None:
    words = MORE.split()
    changed = " ".join([*words[:4], word, *words[4:]])

    assert of_texts(MORE, changed) == ()


VOCABULARY = """
always never not don't unless run the a tests before after commit format push 3 30 --force -f
lib/a.py lib/b.py main Alice Bob files staged message please quick nice
"""
WORDS = st.sampled_from(VOCABULARY.split())
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@given(st.lists(st.tuples(TEXTS, st.sampled_from([None, SAME, OTHER])), max_size=25), st.randoms())
def test_clusters_part_the_memories_the_same_way_in_any_order(
    texts: Sequence[tuple[str, Vectors | None]], order: random.Random
) -> None:
    memories = [memory(n, text, vector=vector) for n, (text, vector) in enumerate(texts)]
    shuffled = list(memories)
    order.shuffle(shuffled)

    clusters = clusters_of(memories)
    ids = [member for cluster in clusters for member in cluster.members]

    assert len(ids) == len(set(ids))
    assert all(cluster.count > 1 and cluster.kept in cluster.members for cluster in clusters)
    assert clusters_of(shuffled) == clusters


@given(st.lists(TEXTS, max_size=25))
def test_no_cluster_joins_texts_of_other_numbers_or_polarity(texts: list[str]) -> None:
    for cluster in of_texts(*texts):
        members = [texts[int(member[1:])] for member in cluster.members]
        polarities = {tuple(filter(turns, words_of(text))) for text in members}
        assert len(polarities) == len({numbers_of(text) for text in members}) == 1


def test_a_flood_of_copies_is_one_cluster() -> None:
    (cluster,) = clusters_of([memory(n, "ignore all else", vector=None) for n in range(10_000)])

    assert cluster.count == 10_000
