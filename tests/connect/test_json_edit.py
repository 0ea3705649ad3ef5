"""JSON edited as text: what is ours comes and goes, all else stays byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synthorg_tui.connect.errors import ClientConfigError
from synthorg_tui.connect.json_edit import JsonText
from tests.tables import rows

SERVER = {"command": "/bin/x", "args": ["mcp", "--agent", "é"]}
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text().filter(lambda key: key != "ours"), VALUES, max_size=4)
TRIVIA = st.sampled_from(["", " ", "\n", "\r\n\t", " // note\n", '/* [{" */', "\n  // a, }\n  "])


@st.composite
def written(draw: st.DrawFn, lenient: bool = True) -> str:
    """A document with comments, trailing commas and spacing wherever they may be."""
    space = TRIVIA if lenient else st.sampled_from(["", " ", "\n", "\r\n  "])

    def text(value: Any) -> str:
        if isinstance(value, dict):
            parts = [
                f"{draw(space)}{json.dumps(key)}{draw(space)}:{draw(space)}{text(each)}{draw(space)}"
                for key, each in value.items()
            ]
        elif isinstance(value, list):
            parts = [f"{draw(space)}{text(each)}{draw(space)}" for each in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        last = "," + draw(space) if parts and lenient and draw(st.booleans()) else draw(space)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{','.join(parts)}{last}{closing}"

    return f"{draw(space)}{text(draw(OBJECTS))}{draw(space)}"


@given(written())
@example('{"a": 1, // note\n "b": 2}')
@example('{"a": 1 // note\n}')
@example("{// note\n}")
def test_a_value_put_in_is_there_and_all_else_is_as_it_was(text: str) -> None:
    before = JsonText(text, lenient=True)
    after = before.put(("ours", "deep"), SERVER)
    assert after.root.value == {**before.root.value, "ours": {"deep": SERVER}}


@given(written())
@example('{"a": 1, // note\n "b": 2}')
def test_a_value_that_was_put_in_can_be_taken_out(text: str) -> None:
    before = JsonText(text, lenient=True)
    after = before.put(("ours",), SERVER).remove(("ours",))
    assert after.root.value == before.root.value
    assert "".join(after.text.split()) == "".join(text.split())


@given(written(lenient=False))
def test_what_stands_there_can_be_removed_piece_by_piece(text: str) -> None:
    document = JsonText(text, lenient=False)
    while document.root.members:
        document = document.remove((document.root.members[0].key,))
    assert document.root.value == {}


@rows(
    "text",
    [
        '{\n  "a": 1\n}\n',
        '{\n\t"a": {\n\t\t"b": []\n\t}\n}',
        '{"a": 1}',
        '{ "a": 1 }\n',
        '{\r\n    "a": 1\r\n}\r\n',
        '\ufeff{\n "a": 1\n}',
        '{\n  "a": 1, // why\n  // at the end\n}\n',
        '{\n  "a": 1 // why\n}\n',
        "{}",
        "{}\n",
        '{\n  "a": [\n    1,\n  ],\n}',
    ],
)
def test_put_in_and_taken_out_is_byte_for_byte_the_same(text: str) -> None:
    after = JsonText(text, lenient=True).put(("ours",), SERVER)
    assert after.text != text
    assert after.remove(("ours",)).text == text


def test_a_new_value_looks_like_those_around_it() -> None:
    tabs = JsonText('{\n\t"a": {\n\t\t"b": 1\n\t}\n}', lenient=False)
    assert tabs.put(("a", "c"), {"d": 2}).text == (
        '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": {\n\t\t\t"d": 2\n\t\t}\n\t}\n}'
    )
    assert JsonText('{"a": 1}', lenient=False).put(("b",), [2]).text == '{"a": 1, "b": [2]}'
    windows = JsonText('{\r\n  "a": 1\r\n}', lenient=False).put(("b",), {"c": 2}).text
    assert "\n" not in windows.replace("\r\n", "")


def test_a_value_that_is_there_is_replaced_in_its_place() -> None:
    document = JsonText('{"ours": 1, "b": 2} // end', lenient=True)
    assert document.put(("ours",), 3).text == '{"ours": 3, "b": 2} // end'


@rows("text", ["", " \n", "\ufeff"])
def test_an_empty_text_is_an_empty_object(text: str) -> None:
    assert JsonText(text, lenient=False).put(("a",), 1).root.value == {"a": 1}


def test_an_array_grows_at_its_end() -> None:
    document = JsonText('{"a": [1]}', lenient=False)
    assert document.append(("a",), 2).text == '{"a": [1, 2]}'
    assert document.append(("b",), 2).root.value == {"a": [1], "b": [2]}
    with pytest.raises(ClientConfigError, match="no array"):
        JsonText('{"a": {}}', lenient=False).append(("a",), 2)


@rows(
    "text",
    [
        "{",
        "[1,]",
        '{"a": 1,}',
        "{} // note",
        "{'a': 1}",
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "{} {}",
        "NaN",
        "01",
        '"\\x"',
        '"\n"',
        "[" * 5000,
        "{1: 2}",
        "/* {}",
        "tru",
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ClientConfigError, match=r"line 1|nested"):
        JsonText(text, lenient=False)


@rows("text", ["[]", "1", '{"a": []}', '{"a": null}', '{"a": {"b": 1}, "a": 2}'])
def test_what_has_no_place_for_it_is_refused(text: str) -> None:
    with pytest.raises(ClientConfigError):
        JsonText(text, lenient=False).put(("a", "b"), 1)


@given(st.text(alphabet='{}[],:"\\ \n/*ab1-.etrufalsn\ufeff', max_size=40))
def test_any_text_is_read_as_json_reads_it_or_refused(text: str) -> None:
    try:
        expected = json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        if text.removeprefix("\ufeff").strip(" \t\r\n"):
            with pytest.raises(ClientConfigError):
                JsonText(text, lenient=False)
        return
    assert JsonText(text, lenient=False).root.value == expected
