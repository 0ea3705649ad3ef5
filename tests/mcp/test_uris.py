"""Which URIs name something, and that nothing else does."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.errors import DomainError
from synthorg_tui.mcp import uris
from synthorg_tui.mcp.uris import DigestUri, InvalidBudgetError, SkillUri, UnknownResourceError
from tests.tables import rows

TRICKS: Final = (
    "synthorg://skills/../../etc/passwd",
    "synthorg://skills/..%2f..%2fetc%2fpasswd",
    "synthorg://skills/%2e%2e",
    "synthorg://skills/..",
    "synthorg://skills/.hidden",
    "synthorg://skills//etc/passwd",
    "synthorg://skills/%2Fetc%2Fpasswd",
    "synthorg://skills/C:%5CWindows",
    "synthorg://skills/a%00b",
    "synthorg://skills/a%1bb",
    "synthorg://skills/%E2%80%AEgpj",
    "synthorg://skills/%ff%fe",
    "synthorg://skills/%252e%252e",
    "synthorg://skills/push?version=2",
    "synthorg://skills/push#part",
    "synthorg://skills/push/SKILL.md",
    "synthorg://user@skills/push",
    "synthorg://skills:80/push",
    "synthorg://skills",
    "synthorg://skills/",
    "synthorg:skills/push",
    "synthorg:///skills/push",
    "synthorg://memories/push",
    "SYNTHORG://skills/push",
    "file:///etc/passwd",
    "http://skills/push",
    "synthorg://[skills/push",
    "synthorg://digest/",
    "synthorg://digest/%20",
    "synthorg://digest/a/b",
    "synthorg://digest/a?agent=bob",
    "synthorg://digest/a?token_budget=5&token_budget=6",
    "synthorg://digest/a?token_budget",
    "",
    " ",
    "\x00",
)


@rows("uri", TRICKS)
def test_a_trick_names_nothing(uri: str) -> None:
    with pytest.raises(UnknownResourceError):
        uris.parse_uri(uri)


@rows("budget", ["-1", "100001", "1e3", "", "٣", "5 ", "9" * 5000])
def test_a_budget_out_of_range_is_told(budget: str) -> None:
    with pytest.raises(InvalidBudgetError, match="0 to 100000"):
        uris.parse_budget(budget)


@rows(("budget", "number"), [("0", 0), ("100000", 100_000), ("007", 7)])
def test_a_budget_in_range_is_read(budget: str, number: int) -> None:
    assert uris.parse_budget(budget) == number
    uri = f"synthorg://digest/push?token_budget={budget}"
    assert uris.parse_uri(uri) == DigestUri("push", number)


def test_a_question_may_hold_anything_once_it_is_escaped() -> None:
    uri = "synthorg://digest/why%20does%20src%2Fa.py%20fail%3F"
    assert uris.parse_uri(uri) == DigestUri("why does src/a.py fail?", None)


def test_the_longest_uri_is_read_and_one_longer_is_not() -> None:
    head = "synthorg://digest/"
    longest = head + "x" * (uris.MAX_URI - len(head))
    assert isinstance(uris.parse_uri(longest), DigestUri)
    with pytest.raises(UnknownResourceError):
        uris.parse_uri(longest + "x")


@given(st.text(min_size=1, max_size=70))
def test_a_plain_name_comes_back_from_its_uri(name: str) -> None:
    if uris.is_plain_name(name):
        assert uris.parse_uri(uris.skill_uri(name)) == SkillUri(name)
    else:
        with pytest.raises((DomainError, UnicodeEncodeError)):
            uris.parse_uri(uris.skill_uri(name))


@given(st.text(max_size=200) | st.text(max_size=80).map(lambda rest: f"synthorg://skills/{rest}"))
def test_whatever_a_client_sends_is_a_resource_or_a_refusal(uri: str) -> None:
    try:
        found = uris.parse_uri(uri)
    except (UnknownResourceError, InvalidBudgetError):
        return
    if isinstance(found, SkillUri):
        assert not set("/\\\x00") & set(found.name)
