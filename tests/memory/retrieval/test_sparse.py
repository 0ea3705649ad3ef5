"""Text becomes keyword vectors exactly as specified."""

import threading
from unittest.mock import patch

import mmh3
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.retrieval.sparse import STOP_WORDS, BM25Tokenizer, is_in_english
from tests.memory.retrieval.many_languages import IDENTIFIERS, MEMORIES, QUESTIONS
from tests.tables import rows

tokenizer = BM25Tokenizer()


@rows(
    ("text", "terms"),
    [
        ("", ()),
        ("   \n\t", ()),
        ("!?… --- ___", ()),
        ("the and of", ()),
        ("Deploy the PIPELINE", ("deploy", "pipelin")),
        ("the snake_case__name", ("snake", "case", "name")),
        ("in src/app.py:12", ("src", "app", "py", "12")),
        ("the ＦＯＯ ﬁle", ("foo", "file")),
        ("he pushed pushing pushes", ("push", "push", "push")),
        ("didn't don’t we'll", ()),
        ("the theory", ("theori",)),
        ("why does getUserById fail", ("getuserbyid get user id", "fail")),
        ("is it an HTTPServer", ("httpserver http server",)),
        ("the sha256 of TS2345 and 4f51a93c0d37", ("sha256 sha 256", "ts2345", "4f51a93c0d37")),
        ("データベース 接続", ("デー", "ータ", "タベ", "ベー", "ース", "接続")),
        ("用OrderRepository怎么清理", ("orderrepositori order repositori", "清理")),
        ("消費税の端数は", ("消費", "費税", "端数")),
        ("округления цены", ("округления|округлен", "цены|цен")),
        ("चालान की संख्या", ("चालान", "संख्या|संख्य")),
        ("die Größe ist Straße", ("gross", "strass")),
    ],
)
def test_text_is_folded_split_filtered_and_stemmed(text: str, terms: tuple[str, ...]) -> None:
    assert tokenizer.tokenize(text) == terms


@rows(
    ("text", "english"),
    [
        ("deploy pipeline", True),
        ("how is the café closed?", True),
        ("连接池", False),
        ("welke kleur heeft de olifant?", False),
        ("OrderRepository清理", False),
        ("Größe", False),
    ],
)
def test_queries_in_other_languages_are_told_from_english(text: str, english: bool) -> None:
    assert is_in_english(text) is english


_HALF = 0.5
"""The share of a query that is evidence enough where the words decide."""


def test_names_and_their_parts_find_each_other() -> None:
    pairs = [
        (asked, f"It is {held}.") for pair in IDENTIFIERS for asked, held in (pair, pair[::-1])
    ]
    found = sum(
        tokenizer.coverage(frozenset(tokenizer.tokenize(asked)), text) >= _HALF
        for asked, text in pairs
    )
    assert found >= 0.95 * len(pairs)


@rows("language", MEMORIES)
def test_words_of_each_language_find_what_was_said_and_nonsense_nothing(language: str) -> None:
    memories = MEMORIES[language]
    wrong = 0
    for question, place in QUESTIONS[language]:
        terms = frozenset(tokenizer.tokenize(question))
        shares = [tokenizer.coverage(terms, memory) for memory in memories]
        best = max(shares)
        is_found = best >= _HALF and (place is None or shares[place] == best)
        wrong += is_found if place is None else not is_found
    assert wrong <= 2


def test_stop_words_are_a_short_list_of_folded_words() -> None:
    assert 50 <= len(STOP_WORDS) <= 130
    assert all(word == word.casefold() and word.isalpha() for word in STOP_WORDS)


@rows(("term", "value"), [("hello", 613153351), ("foo", 4138058784), ("bar", 1158584717)])
def test_terms_are_hashed_with_murmur3_unsigned_seed_0(term: str, value: int) -> None:
    assert tokenizer.encode(f"the {term}").indices == (value,)


def test_values_are_term_counts_in_ascending_index_order() -> None:
    vector = tokenizer.encode("foo bar foo")
    assert vector.indices == (1158584717, 4138058784)
    assert vector.values == (1.0, 2.0)


def test_terms_with_the_same_hash_are_summed() -> None:
    with patch.object(mmh3, "hash", return_value=7):
        vector = tokenizer.encode("the alpha beta alpha")
    assert (vector.indices, vector.values) == ((7,), (3.0,))


def test_text_without_terms_gives_an_empty_vector() -> None:
    assert tokenizer.encode("of the").is_empty


@given(st.text(max_size=200))
def test_any_text_gives_a_valid_vector_with_each_of_its_units(text: str) -> None:
    vector = tokenizer.encode(text)
    assert sum(vector.values) >= len(tokenizer.tokenize(text))
    assert all(0 <= index < 2**32 for index in vector.indices)


def test_threads_may_share_a_tokenizer() -> None:
    text = " ".join(f"running{n} connections{n} databases" for n in range(500))
    expected = tokenizer.encode(text)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(tokenizer.encode(text))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_a_documents_counts_saturate_but_one_occurrence_counts_one() -> None:
    once, often = tokenizer.encode_document("foo"), tokenizer.encode_document("foo " * 1000)
    assert once.values == (1.0,)
    assert 2.0 < often.values[0] < 2.2
    assert once.indices == often.indices == tokenizer.encode("foo").indices


@rows(
    ("terms", "text", "share"),
    [
        ((), "anything", 0.0),
        (("branch", "upstream"), "", 0.0),
        (("branch", "upstream"), "branches, branches", 0.5),
        (("branch", "upstream"), "The upstream of a BRANCH", 1.0),
        (("branch", "branch"), "branch", 1.0),
    ],
)
def test_coverage_is_the_share_of_distinct_terms_that_occur(
    terms: tuple[str, ...], text: str, share: float
) -> None:
    assert tokenizer.coverage(terms, text) == share
