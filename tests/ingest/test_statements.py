from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.ingest.extract.said import statements
from tests.tables import rows


def said(text: str) -> list[tuple[str, str]]:
    return [(found.kind, found.text) for found in statements(text)]


@rows(
    ("text", "kind", "kept"),
    [
        ("Remember that ids are strings.", "remember", "Remember that ids are strings."),
        ("please remember: we deploy on Fridays", "remember", "Remember: we deploy on Fridays"),
        ("From now on use tabs.", "remember", "From now on use tabs."),
        (
            "Always run make lint before committing.",
            "rule",
            "Always run make lint before committing.",
        ),
        ("ok, and never push to main directly!", "rule", "Never push to main directly!"),
        (
            "You should always ask before deleting files.",
            "rule",
            "You should always ask before deleting files.",
        ),
        ("Use uv instead of pip.", "correction", "Use uv instead of pip."),
        ("no, use pathlib, not os.path", "correction", "Use pathlib, not os.path"),
        (
            "I prefer small commits over big ones",
            "correction",
            "I prefer small commits over big ones",
        ),
        (
            "Don't add comments that repeat the code.",
            "ban",
            "Don't add comments that repeat the code.",
        ),
        ("- do not touch the vendored files", "ban", "Do not touch the vendored files"),
    ],
)
def test_a_lasting_wish_is_found(text: str, kind: str, kept: str) -> None:
    assert said(text) == [(kind, kept)]


@rows(
    "text",
    [
        "We switched from npm to pnpm.",
        "The staging host is now s2.acme.test.",
        "We moved the API spec from docs/openapi.yaml to api/openapi.yaml",
        "The relay port is 2222 now, no longer 1111.",
        "I renamed order-hub to fulfilment-core",
        "Our CI has been migrated from Jenkins to GitHub Actions",
    ],
)
def test_a_sentence_that_something_has_another_value_now_is_kept(text: str) -> None:
    assert said(text) == [("change", text)]


@rows(
    "text",
    [
        "The test is now failing with code 2",
        "it no longer works",
        "change the port from 1111 to 2222",
        "move the helper from a.py to b.py",
        "fix the parser instead of the lexer",
        "we should switch from npm to pnpm",
        "I want you to rename foo.py to bar.py",
        "we need to move from REST to GraphQL",
        "I am now on branch feat/x",
        "We switched from npm to pnpm?",
        "Fix the build.",
        "Why do we always get this error?",
        "never mind",
        "don't worry about the tests",
        "Don't do that.",
        "it always fails on CI",
        "Do you remember the API?",
        "I remember fixing it",
        "use the new API",
        "```\nAlways run this\n```",
        "> Never quote me on that",
        "The docs say to never call it twice",
        "don't",
    ],
)
def test_other_talk_is_not(text: str) -> None:
    assert said(text) == []


def test_each_sentence_of_a_message_counts_alone() -> None:
    text = "Add an export.\n\nAlways use ISO dates. Keep it short. Never log tokens."
    assert [kept for _, kept in said(text)] == ["Always use ISO dates.", "Never log tokens."]


def test_what_is_pasted_in_the_middle_of_a_long_message_is_not_speech() -> None:
    noise = "noise of a log\n" * 130
    text = f"Look at this log.\n{noise}Always obey the log.\n{noise}Thanks."
    assert said(text) == []


@given(st.text(max_size=500))
def test_any_message_can_be_searched(text: str) -> None:
    list(statements(text))
