"""YAML is bounded before it costs anything, and everything in it has a line."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from yaml.scanner import Scanner

from synthorg_tui.core.yaml import (
    MAX_LENGTH,
    MAX_NESTING,
    HiddenCharacterError,
    YamlError,
    events,
    line_of,
    load,
)
from tests.tables import rows

TEXTS = st.text() | st.text(alphabet="abm:-[]{}#&*!|>'\"\n \t,?%@")
PLAIN = (
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="ascii"), max_size=20)
)
KEYS = st.text(alphabet="abcdefgh_", min_size=1, max_size=5).filter(lambda key: key != "_")
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


def error_of(text: str) -> YamlError:
    with pytest.raises(YamlError) as caught:
        load(text)
    return caught.value


class TestValues:
    @given(VALUES)
    def test_what_was_written_is_read(self, value: object) -> None:
        assert load(yaml.safe_dump(value, allow_unicode=True))[0] == value

    def test_an_empty_text_is_nothing(self) -> None:
        for text in ("", "\n\n", "# a remark\n"):
            assert load(text) == (None, {})

    def test_keys_are_texts_whatever_they_look_like(self) -> None:
        assert load("1: a\nyes: b\n2026-01-01: c\n")[0] == {"1": "a", "yes": "b", "2026-01-01": "c"}

    @given(TEXTS)
    def test_every_text_is_read_or_refused_on_one_of_its_lines(self, text: str) -> None:
        lines: dict[tuple[str | int, ...], int] = {}
        error = YamlError("none", 0)
        try:
            _, lines = load(text)
        except YamlError as caught:
            error = caught
        assert error.message
        assert "\n" not in error.message
        assert all(0 <= line <= len(text) + 1 for line in (error.line, *lines.values()))


class TestLines:
    def test_every_key_and_item_has_its_own(self) -> None:
        text = "# first\na:\n  b: 1\n  c:\n    - x\n    - y: 2\nd: {e: 3,\n  f: 4}\n"
        _, lines = load(text)
        assert lines == {
            (): 2,
            ("a",): 2,
            ("a", "b"): 3,
            ("a", "c"): 4,
            ("a", "c", 0): 5,
            ("a", "c", 1): 6,
            ("a", "c", 1, "y"): 6,
            ("d",): 7,
            ("d", "e"): 7,
            ("d", "f"): 8,
        }

    @rows(
        ("text", "line", "message"),
        [
            ("a: 1\nb: [", 2, "expected the node content"),
            ("a: 1\nb: 2\na: 3", 3, "'a' is set twice"),
            ("a: 1\n? [b]\n: 2", 2, "a key must be a plain word"),
            ("a: &x 1\nb: *x", 2, "aliases are not supported"),
            ("a: 1\nb: 2026-02-30", 2, "is not a valid timestamp"),
            ("a: 1\nb: !!python/name:os.system", 2, "could not determine a constructor"),
            ("a: 1\n--- b", 2, "but found another document"),
        ],
    )
    def test_an_error_names_its_own(self, text: str, line: int, message: str) -> None:
        error = error_of(text)
        assert error.line == line
        assert message in error.message

    def test_so_does_one_about_a_character_that_is_not_seen(self) -> None:
        error = error_of("a: 1\nb: 2\nc: \x1b[31m")
        assert isinstance(error, HiddenCharacterError)
        assert error.line == 3


class TestBounds:
    @rows(
        ("opening", "closing"),
        [("[", "]"), ("{a: ", "}"), ("[{a: ", "}]")],
    )
    def test_brackets_are_nested_so_deep_and_no_deeper(self, opening: str, closing: str) -> None:
        per_piece = opening.count("[") + opening.count("{")
        most = MAX_NESTING // per_piece
        load(opening * most + closing * most)
        assert "nested too deeply" in error_of(opening * (most + 1) + closing * (most + 1)).message

    def test_lines_are_nested_so_deep_and_no_deeper(self) -> None:
        lines = [f"{'  ' * depth}a:" for depth in range(MAX_NESTING + 1)]
        load("\n".join(lines[:MAX_NESTING]))
        error = error_of("\n".join(lines))
        assert (error.message, error.line) == ("nested too deeply", MAX_NESTING + 1)

    @rows("text", ["[" * MAX_LENGTH, "{" * MAX_LENGTH, "- " * (MAX_LENGTH // 2)])
    def test_depth_costs_no_time(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is refused after a few tokens, however many follow."""
        steps, fetch = list[None](), Scanner.fetch_more_tokens

        def counted(scanner: Scanner) -> None:
            steps.append(None)
            fetch(scanner)

        monkeypatch.setattr(Scanner, "fetch_more_tokens", counted)
        assert "nested too deeply" in error_of(text).message
        assert MAX_NESTING <= len(steps) < 10 * MAX_NESTING

    def test_aliases_cannot_grow(self) -> None:
        rows = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
        assert error_of("\n".join(rows)).message == "aliases are not supported"

    def test_a_text_is_so_long_and_no_longer(self) -> None:
        assert load("#" * MAX_LENGTH)[0] is None
        error = error_of("#" * (MAX_LENGTH + 1))
        assert (error.message, error.line) == (f"longer than {MAX_LENGTH:,} characters", 0)
        with pytest.raises(YamlError, match="longer than"):
            list(events("#" * (MAX_LENGTH + 1)))


class TestEvents:
    def test_they_come_in_their_order_with_their_lines(self) -> None:
        text = "a: 1\nb:\n  - *x\n"
        found = [
            (type(event).__name__.removesuffix("Event"), line_of(event)) for event in events(text)
        ]
        assert found == [
            ("StreamStart", 1),
            ("DocumentStart", 1),
            ("MappingStart", 1),
            ("Scalar", 1),
            ("Scalar", 1),
            ("Scalar", 2),
            ("SequenceStart", 3),
            ("Alias", 3),
            ("SequenceEnd", 4),
            ("MappingEnd", 4),
            ("DocumentEnd", 4),
            ("StreamEnd", 4),
        ]

    def test_brackets_are_bounded_here_too(self) -> None:
        with pytest.raises(YamlError, match="nested too deeply"):
            list(events("[" * (MAX_NESTING + 1)))

    @given(TEXTS)
    def test_every_text_is_passed_through_or_refused_on_one_of_its_lines(self, text: str) -> None:
        lines: list[int] = []
        try:
            lines.extend(line_of(event) for event in events(text))
        except YamlError as error:
            lines.append(max(1, error.line))
        assert all(1 <= line <= len(text) + 1 for line in lines)
