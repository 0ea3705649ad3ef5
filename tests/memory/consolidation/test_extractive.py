"""What is kept of a dense text stands in it letter for letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.consolidation.extractive import ExtractivePreserver, key_facts
from tests.tables import rows

HEX = "0123456789abcdef0123456789abcdef"
UUID = "9f3c2d1e-0a4b-4c5d-8e6f-001122334455"


def test_facts_come_by_sort_each_once() -> None:
    text = f"port: 5432\nsee v1.2.3 and 4.5.6, {HEX}\n{UUID} at https://example.org/a.\nhost=db\nv1.2.3"
    assert key_facts(text) == (
        "https://example.org/a",
        UUID,
        HEX,
        "v1.2.3",
        "4.5.6",
        "port: 5432",
        "host=db",
    )


@rows(
    ("text", "facts"),
    [
        ("v1.2.3.4", ("v1.2.3.4",)),
        ("1.2.3", ("1.2.3",)),
        ("10.0.0.1", ()),
        ("1.2", ()),
        ("a" * 31, ()),
        (f"key: {'x' * 400}", ()),
    ],
)
def test_what_is_a_fact_and_what_is_not(text: str, facts: tuple[str, ...]) -> None:
    assert key_facts(text) == facts


def test_there_are_at_most_so_many_facts() -> None:
    text = "\n".join(f"key{n}: {n}" for n in range(5))
    assert ExtractivePreserver(max_facts=2).extract(text).splitlines()[:4] == [
        "[Extractive preservation]",
        "Key facts:",
        "- key0: 0",
        "- key1: 1",
    ]


def test_a_text_as_long_as_a_passage_is_its_beginning_whole() -> None:
    preserver = ExtractivePreserver(anchor_length=5)
    assert preserver.extract("abcde") == "[Extractive preservation]\n[START] abcde"


def test_a_longer_one_is_its_beginning_middle_and_end() -> None:
    assert ExtractivePreserver(anchor_length=3).extract("abcdefghi").splitlines() == [
        "[Extractive preservation]",
        "[START] abc...",
        "[MID] ...def...",
        "[END] ...ghi",
    ]


@rows("arguments", [{"max_facts": 0}, {"anchor_length": 0}])
def test_less_than_one_is_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=">= 1"):
        ExtractivePreserver(**arguments)


@given(st.text(max_size=500), st.integers(1, 30), st.integers(1, 200))
def test_nothing_is_in_it_that_is_not_in_the_text(text: str, facts: int, length: int) -> None:
    assert all(fact in text for fact in key_facts(text))
    made = ExtractivePreserver(max_facts=facts, anchor_length=length).extract(text)
    assert text[:length] in made
    assert text[-length:] in made
    assert len(made) <= 120 + facts * 303 + 3 * length


@rows("unit", ["a: ", "1.2.", "https://", "0" * 33, "-a", "a" * 8 + "-"])
def test_a_long_text_made_to_be_slow_is_not(unit: str) -> None:
    assert ExtractivePreserver().extract(unit * 20_000)
