"""Names are left out of what is embedded."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.retrieval.relevance import meaning_of
from tests.tables import rows


@rows(
    ("query", "meaning"),
    [
        ("When did Caroline go hiking?", "When did go hiking?"),
        ("What is Melanie's favourite book?", "What is favourite book?"),
        ("What is Zoë’s job, and José Maria's?", "What is job, and ?"),
        (
            "It broke. Docker was down. Why did Docker fail",
            "It broke. Docker was down. Why did fail",
        ),
    ],
)
def test_capitalised_words_within_a_sentence_are_dropped(query: str, meaning: str) -> None:
    assert meaning_of(query) == meaning


@rows(
    "query",
    [
        "",
        "push a branch that has no upstream",
        "Deploy the service",
        "TIMESTAMPTZ needs pytz in DuckDB",
        "why is PubSub in LiveView slow",
        "Should I do it, or The other one",
    ],
)
def test_other_words_stay(query: str) -> None:
    assert meaning_of(query) == query


@rows("query", ["Who is Caroline", "what about  Ubuntu?"])
def test_a_query_about_a_name_alone_stays_as_it_is(query: str) -> None:
    assert meaning_of(query) == query


@given(st.text(max_size=80))
def test_any_query_keeps_some_of_its_text_and_gains_none(query: str) -> None:
    meaning = meaning_of(query)
    assert bool(meaning.strip()) == bool(query.strip())
    assert len(meaning) <= len(query)
