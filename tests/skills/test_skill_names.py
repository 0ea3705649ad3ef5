"""Names and descriptions of skills."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.skills.names import describe, is_name, skill_name
from tests.skills.skill_strategies import texts
from tests.tables import rows


def test_a_name_is_made_of_the_words() -> None:
    assert skill_name("Don't push — a branch without upstream!") == (
        "dont-push-a-branch-without-upstream"
    )


@rows("discovery", ["", "!!!", "推送失败", "\x1b"])
def test_without_letters_it_is_called_skill(discovery: str) -> None:
    assert skill_name(discovery) == "skill"


def test_names_that_systems_reserve_are_not_given() -> None:
    assert skill_name("CON") == "skill-con"


def test_a_long_name_ends_at_a_word() -> None:
    name = skill_name("word " * 30)
    assert len(name) <= 64
    assert name.endswith("-word")


def test_a_taken_name_gets_a_number() -> None:
    assert skill_name("push", {"push", "Push-2"}) == "push-3"


def test_a_long_taken_name_stays_within_the_limit() -> None:
    name = skill_name("a" * 80, {"a" * 64})
    assert len(name) == 64
    assert name.endswith("-2")


@given(texts, st.sets(texts.map(skill_name), max_size=3))
def test_every_name_is_allowed_and_free(discovery: str, taken: set[str]) -> None:
    name = skill_name(discovery, taken)
    assert is_name(name)
    assert name not in taken


@rows(
    ("name", "allowed"),
    [
        ("a", True),
        ("a-1", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("a--b", False),
        ("A", False),
        ("a_b", False),
        ("../a", False),
        ("a\n", False),
        ("é", False),
    ],
)
def test_what_a_name_may_be(name: str, allowed: bool) -> None:
    assert is_name(name) is allowed


def test_a_description_says_when_and_what() -> None:
    assert describe("Push with -u the first time", "When git push finds no upstream.") == (
        "Use when git push finds no upstream. Push with -u the first time."
    )


@rows("start", ["Use when", "Whenever", "If", "use this when:", "WHEN"])
def test_the_condition_may_begin_as_it_likes(start: str) -> None:
    assert describe("", f"{start} tests hang") == "Use when tests hang"


def test_names_in_capitals_stay_capitals() -> None:
    assert describe("", "CI fails") == "Use when CI fails"


def test_bounds_are_put_into_words_since_descriptions_have_no_angle_brackets() -> None:
    assert describe("", 'it needs {:lazy, ">= 0.1"} and pip <=3') == (
        'Use when it needs {:lazy, "at least 0.1"} and pip at most 3'
    )


def test_without_a_condition_the_body_is_pointed_at() -> None:
    assert describe("", "测试").startswith("Use when the situation in the Condition section")


@given(texts, texts.map(lambda text: text * 20))
def test_every_description_keeps_the_rules(discovery: str, condition: str) -> None:
    description = describe(discovery, condition)
    assert description.startswith("Use when ")
    assert len(description) <= 200
    assert description.isascii()
    assert description.isprintable()
    assert not set("<>") & set(description)
