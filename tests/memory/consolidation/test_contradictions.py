"""Pairs that a person is asked about: nearly the same text that says something else."""

from datetime import UTC, datetime, timedelta

from synthorg_tui.memory.consolidation.contradictions import conflicts_of
from synthorg_tui.memory.consolidation.duplicates import Comparable
from tests.tables import rows

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(
    place: int,
    content: str,
    *,
    key: str | None = None,
    project: str = "",
    by_person: bool = False,
) -> Comparable:
    return Comparable(
        id=f"m{place:03}",
        content=content,
        created_at=START + timedelta(days=place),
        key=key,
        project=project,
        by_person=by_person,
    )


@rows(
    ("older", "newer"),
    [
        ("Always squash commits before a merge", "Never squash commits before a merge"),
        ("Do commit the generated files", "Don't commit the generated files"),
        ("The tests wait 30 seconds for the server", "The tests wait 90 seconds for the server"),
        (
            "The settings of hosts are in etc/a.toml",
            "The settings of hosts are in b.toml",
        ),
    ],
)
def test_the_same_words_with_another_value_or_polarity_disagree(older: str, newer: str) -> None:
    (pair,) = conflicts_of([memory(1, older), memory(2, newer)])

    assert (pair.older.id, pair.newer.id, pair.key) == ("m001", "m002", None)


@rows(
    ("one", "other"),
    [
        ("Always squash commits before a merge", "always squash the commits before the merge"),
        ("Always squash commits before a merge", "Never push to main without a review"),
        ("Port 80", "Port 9000"),
    ],
)
def test_the_same_another_subject_or_too_few_words_do_not(one: str, other: str) -> None:
    assert conflicts_of([memory(1, one), memory(2, other)]) == ()


def test_other_projects_may_do_it_their_way() -> None:
    here, there = "Always squash commits first", "Never squash commits first"

    assert conflicts_of([memory(1, here, project="/a"), memory(2, there, project="/b")]) == ()


def test_an_agents_newer_fact_disagrees_with_a_persons() -> None:
    said = memory(1, "It is 80", key="port", by_person=True)
    later = memory(2, "It is 9000", key="port")

    (pair,) = conflicts_of([later, said])

    assert (pair.newer, pair.older, pair.key) == (later, said, "port")
    assert conflicts_of([memory(1, "It is 80", key="port"), later]) == ()
    assert conflicts_of([memory(3, "It is 80", key="port", by_person=True), later]) == ()
