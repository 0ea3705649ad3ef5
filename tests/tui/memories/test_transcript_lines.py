"""Transcript records as a person reads them; as they are in the file, one key away."""

import json

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.tui.memories.detail import read_out
from tests.tui.tui_fakes import fake_app
from tests.tui.tui_helpers import screen_text, settle

CALL = {
    "uuid": "e90cde69",
    "type": "assistant",
    "message": {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "name": "Bash", "input": {"command": "git push\ngit log"}}
        ],
    },
}


def test_a_record_is_its_heading_and_its_texts_with_their_line_breaks() -> None:
    assert read_out(json.dumps(CALL)) == [
        "assistant · tool_use · Bash",
        "command  git push",
        "  git log",
    ]


def test_arguments_that_are_json_in_a_text_are_read_too() -> None:
    record = {"type": "function_call", "arguments": json.dumps({"cmd": "make test"})}
    assert read_out(json.dumps(record)) == ["function_call", "cmd  make test"]


def test_a_text_that_a_record_holds_twice_is_read_once() -> None:
    record = {"content": "no upstream", "toolUseResult": {"stderr": "no upstream"}}
    assert read_out(json.dumps(record)) == ["content  no upstream"]


def test_what_is_no_object_is_left_as_it_is() -> None:
    for record in ("", "plain words", "[1, 2]", '"text"', '{"cut": ', "[" * 5000, "{}"):
        assert read_out(record) is None


@given(
    st.recursive(
        st.text() | st.integers() | st.booleans() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_json_is_read_without_failing(value: object) -> None:
    lines = read_out(json.dumps({"value": value}))
    assert lines is None or all(lines)


async def test_a_key_shows_the_lines_as_they_are_and_back() -> None:
    app = fake_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert "tool_use · Bash" in screen_text(app)
        assert '"type":"tool_use"' not in screen_text(app)
        await pilot.press("v")
        await settle(pilot)
        assert '"type":"tool_use"' in screen_text(app)
        await pilot.press("v")
        await settle(pilot)
        assert "tool_use · Bash" in screen_text(app)
