"""What people say in fourteen languages: found by one reader, and seldom where nothing is said."""

from collections import Counter, defaultdict
from pathlib import Path

from synthorg_tui.core.languages import error_in_english, in_english
from synthorg_tui.ingest.extract.said import reactions, statements
from synthorg_tui.ingest.extract.settled import accepts_or_objects
from synthorg_tui.memory.claims import Relation, relation
from tests.tables import rows

FOUND = {"rule": "wish", "fix": "wish", "none": ""}


def lines_of(name: str) -> list[list[str]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def heard(sentence: str, expected: str) -> str:
    if expected in {"yes", "no"}:
        return accepts_or_objects(sentence)
    kinds = {found.kind for found in statements(sentence)}
    is_wish = kinds - {"change"} or reactions(sentence)
    return "wish" if is_wish else "change" if kinds else ""


def counted(name: str) -> dict[str, Counter[str]]:
    """Count by language what was to be found, what was found, and what of that is right."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for code, expected, sentence in lines_of(name):
        wanted, found = FOUND.get(expected, expected), heard(sentence, expected)
        counts[code] += Counter(
            wanted=bool(wanted), found=bool(found), right=bool(wanted) and found == wanted
        )
    return counts


@rows(
    ("name", "least"),
    [("sentences.tsv", 0.85), ("sentences_kept.tsv", 0.7), ("sentences_more.tsv", 0.5)],
)
def test_little_is_found_wrongly_and_most_is_found_in_each_language(
    name: str, least: float
) -> None:
    for code, count in counted(name).items():
        assert count["right"] >= 0.9 * count["found"], (code, count)
        assert count["right"] >= least * count["wanted"], (code, count)


def test_tasks_steps_and_talk_are_no_wishes_in_any_language() -> None:
    found = [sentence for *_, sentence in lines_of("traps.tsv") if heard(sentence, "none")]

    assert len(found) <= 1, found


def test_the_last_word_holds_in_each_language() -> None:
    wrong = [
        (code, older, newer)
        for code, expected, older, newer in lines_of("pairs.tsv")
        if (relation(newer, older) is Relation.SUPERSEDES) != (expected == "s")
    ]

    assert len(wrong) <= 3, wrong


def test_english_is_left_as_it_is() -> None:
    told = [sentence for code, _, sentence in lines_of("sentences.tsv") if code == "en"]
    commands = ["npm run test -- --watch", "git push -u origin o", "Error: no such file", "die()"]

    for text in [*told, *commands, "Use `pnpm test` in a.test.ts, not npm"]:
        assert in_english(text) == text


@rows(
    ("said", "told"),
    [
        ("npm yerine pnpm kullan", "instead of npm pnpm please-use"),
        ("npm ではなく pnpm を使って。", "instead of npm, pnpm please-use."),
        ("Benutze pnpm statt npm", "please-use pnpm instead of npm"),
    ],
)
def test_the_thing_that_goes_is_named_after_the_word_that_says_so(said: str, told: str) -> None:
    assert in_english(said) == told


def test_whatever_is_said_is_read_in_no_time() -> None:
    for piece in (
        "nicht ",
        "不要",
        "{x} yerine ",
        "でした。",
        "никогда не ",
        "ne jamais ",
        "'",
        "더 이상 ",
    ):
        assert isinstance(in_english(piece * 200), str)
        assert len(error_in_english(piece * 100_000)) > 1_000
