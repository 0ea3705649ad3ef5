"""Tags and what they say about a memory."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.memory.enums import Sensitivity
from synthorg_tui.memory.retrieval.tags import MemoryTags, parse_tags, retagged, tags_with
from tests.tables import rows

TAGS = st.lists(
    st.sampled_from(("git", "fact:", "fact:a", "fact: b ", "sensitivity:public", "fact"))
    | st.sampled_from(("sensitivity:sensitive", "sensitivity:x", "sensitivity:private"))
)


def test_a_memory_is_private_and_no_fact_unless_tagged() -> None:
    assert parse_tags(("git", "fact", "sensitivity")) == MemoryTags(None, Sensitivity.PRIVATE)


@rows("level", list(Sensitivity))
def test_a_tag_names_the_sensitivity(level: Sensitivity) -> None:
    assert parse_tags((f"sensitivity:{level.value}",)).sensitivity is level


def test_the_strictest_of_several_sensitivities_counts() -> None:
    assert parse_tags(("sensitivity:public", "sensitivity:private")) == MemoryTags()
    tags = ("sensitivity:sensitive", "sensitivity:public")
    assert parse_tags(tags).sensitivity is Sensitivity.SENSITIVE


@rows("tag", ["sensitivity:secret", "sensitivity:", "sensitivity:PUBLIC"])
def test_an_unknown_sensitivity_gives_nothing_away(tag: str) -> None:
    assert parse_tags((tag,)).sensitivity is Sensitivity.SENSITIVE


def test_the_first_key_counts_and_a_blank_one_is_none() -> None:
    assert parse_tags(("fact: ", "fact: a b ", "fact:c")).fact_key == "a b"
    assert parse_tags(("fact:",)).fact_key is None


def test_a_key_may_contain_colons() -> None:
    assert parse_tags(("fact:user:name",)).fact_key == "user:name"


@given(TAGS, st.sampled_from(Sensitivity), st.text(max_size=5))
def test_what_is_set_is_read_back(tags: list[str], level: Sensitivity, key: str) -> None:
    changed = parse_tags(tags_with(tags, fact_key=key, sensitivity=level))
    assert changed == MemoryTags(key.strip() or None, level)


@given(TAGS)
def test_what_is_not_set_stays(tags: list[str]) -> None:
    assert tags_with(tags) == tuple(tags)
    assert parse_tags(tags_with(tags, fact_key="k")).sensitivity is parse_tags(tags).sensitivity
    level = Sensitivity.PUBLIC
    assert parse_tags(tags_with(tags, sensitivity=level)).fact_key == parse_tags(tags).fact_key


def test_other_tags_keep_their_order() -> None:
    tags = ("b", "fact:x", "a")
    assert tags_with(tags, fact_key="y", sensitivity=Sensitivity.PUBLIC) == (
        "b",
        "a",
        "fact:y",
        "sensitivity:public",
    )


def test_being_private_needs_no_tag() -> None:
    assert tags_with(("sensitivity:public",), sensitivity=Sensitivity.PRIVATE) == ()


def test_new_tags_keep_the_traits_they_do_not_name() -> None:
    before = ("git", "fact:x", "sensitivity:sensitive")
    assert retagged(before, ("ssh",)) == ("ssh", "fact:x", "sensitivity:sensitive")
    assert retagged(before, ("fact:y", "sensitivity:public")) == ("fact:y", "sensitivity:public")


def test_new_tags_keep_the_kind_of_what_was_imported_where_it_is_read() -> None:
    before = ("commit", "git", "tides")
    assert retagged(before, ("ssh",)) == ("commit", "ssh")
    assert retagged(before, ("ssh", "commit")) == ("commit", "ssh")
    assert retagged(before, ()) == ("commit",)
    assert retagged(("ssh", "commit"), ("git",)) == ("git",)
