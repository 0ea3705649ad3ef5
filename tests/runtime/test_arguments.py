"""Arguments that a model wrote are compared with the tool's schema, and told what is wrong."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from synthorg_tui.agents.tools import definitions
from synthorg_tui.memory.strategies.schemas import definitions as memory_definitions
from synthorg_tui.runtime.arguments import argument_problems
from tests.tables import rows


def schema(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties)[:1],
        "additionalProperties": False,
    }


@rows(
    ("kind", "fits", "problem"),
    [
        ({"type": "string"}, "a", None),
        ({"type": "string"}, 3, "a must be of type string"),
        ({"type": "integer"}, 3, None),
        ({"type": "integer"}, 3.0, None),
        ({"type": "integer"}, 3.5, "a must be of type integer"),
        ({"type": "integer"}, True, "a must be of type integer"),
        ({"type": "boolean"}, True, None),
        ({"type": "number", "maximum": 9}, 9, None),
        ({"type": "number", "maximum": 9}, 9.5, "a must be at most 9"),
        ({"type": "number", "minimum": 1}, 0, "a must be at least 1"),
        ({"type": "string", "maxLength": 2}, "ab", None),
        ({"type": "string", "maxLength": 2}, "abc", "a must have at most 2 characters, not 3"),
        ({"type": "string", "minLength": 1}, "", "a must have at least 1 characters"),
        ({"enum": ["x", "y"]}, "z", "a must be one of 'x', 'y'"),
        ({"type": "array", "items": {"type": "string"}}, ["x"], None),
        ({"type": "array", "items": {"type": "string"}}, [1], "a[0] must be of type string"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "a fits none of the forms"),
        ({"type": ["string", "null"]}, None, None),
    ],
)
def test_a_value_fits_its_schema_or_the_problem_is_told(
    kind: dict[str, Any], fits: object, problem: str | None
) -> None:
    found = argument_problems({"a": fits}, schema(a=kind))
    assert (found[0].startswith(problem) if problem else not found) is True


def test_what_is_missing_and_what_is_too_much_is_told() -> None:
    assert argument_problems({"b": 1}, schema(a={})) == (
        "a is missing",
        "there is no argument 'b'; there are: a",
    )


def test_arguments_that_are_no_object_are_told() -> None:
    assert argument_problems([], schema(a={})) == ("the arguments must be of type object",)


def test_a_named_part_of_a_schema_is_found() -> None:
    whole = {**schema(a={"$ref": "#/$defs/Word"}), "$defs": {"Word": {"type": "string"}}}
    assert argument_problems({"a": 1}, whole) == ("a must be of type string",)


def test_nesting_has_an_end() -> None:
    whole = schema(a={"$ref": "#/$defs/A"})
    whole["$defs"] = {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}
    value: list[Any] = []
    for _ in range(200):
        value = [value]
    assert "nested too deeply" in argument_problems({"a": value}, whole)[0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(arguments=st.dictionaries(st.text(max_size=9), VALUES, max_size=4))
def test_any_arguments_are_judged_without_an_error(arguments: dict[str, Any]) -> None:
    for tool in (*definitions(), *memory_definitions()):
        for problem in argument_problems(arguments, tool.parameters):
            assert problem
