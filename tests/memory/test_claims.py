"""When a newer statement takes the place of an older one: measured on written pairs of both."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from synthorg_tui.memory.claims import Relation, lost_by, relation, sentences, subject_of
from tests.tables import rows

PAIRS = Path(__file__).with_name("statement_pairs.tsv")
NAMES = {None: "none", Relation.SUPERSEDES: "supersedes", Relation.CONTRADICTS: "ask"}


class Pair(NamedTuple):
    kind: str
    sort: str
    expected: str
    order: str
    first: str
    second: str

    @property
    def is_kept(self) -> bool:
        """Whether it belongs to the third that no rule was chosen by."""
        texts = (self.first + self.second).encode()
        return int(hashlib.sha256(texts).hexdigest(), 16) % 3 == 0

    @property
    def found(self) -> str:
        older, newer = (self.first, self.second) if self.order == "ab" else self[:3:-1]
        return NAMES[relation(newer, older)]


def pairs() -> list[Pair]:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    return [Pair(*line.split("\t")) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("kept", [False, True], ids=["chosen by", "kept"])
def test_few_are_replaced_wrongly_and_most_changes_are_seen(kept: bool) -> None:
    counts = Counter((pair.expected, pair.found) for pair in pairs() if pair.is_kept == kept)
    right = counts["supersedes", "supersedes"]
    replaced = sum(n for (_, found), n in counts.items() if found == "supersedes")
    changed = sum(n for (expected, _), n in counts.items() if expected == "supersedes")

    assert right >= 0.95 * replaced, counts
    assert right >= 0.7 * changed, counts


def test_other_phrasings_are_seen_too() -> None:
    lines = PAIRS.with_name("statement_phrasings.tsv").read_text(encoding="utf-8").splitlines()
    told = [line.split("\t") for line in lines if not line.startswith("#")]
    wrong = [
        (older, newer)
        for expected, older, newer in told
        if (relation(newer, older) is Relation.SUPERSEDES) != (expected == "s")
    ]

    assert len(told) > 200
    assert len(wrong) <= 3, wrong


def test_the_pairs_are_of_eight_kinds() -> None:
    assert set(Counter(pair.kind for pair in pairs()).values()) == {25}
    assert len({pair.kind for pair in pairs()}) == 8


def test_statements_of_other_pairs_of_a_kind_replace_nothing() -> None:
    texts = {text: pair for pair in pairs() if not pair.is_kept for text in pair[4:]}
    wrong = [
        (older, newer)
        for newer, mine in texts.items()
        for older, other in texts.items()
        if mine.kind != other.kind and relation(newer, older) is Relation.SUPERSEDES
    ]

    assert len(wrong) <= 5, wrong


@rows(("older", "newer"), [("x" * 700, "y" * 700), ("", "The port is 1."), ("?!", "...")])
def test_what_says_nothing_or_tells_a_story_replaces_nothing(older: str, newer: str) -> None:
    assert relation(newer, older) is None
    assert relation(older, newer) is None


def test_what_is_lost_is_the_value_and_the_subject_finds_the_rest() -> None:
    older, newer = "The relay port is 1111.", "The relay port is 2222 now, no longer 1111."

    assert lost_by(newer, older) == {"1111"}
    assert subject_of(older) == {"relay", "port", "1111"}
    assert sentences(f"{older} Ok?") == [older[:-1], "Ok"]
