"""Reading a SKILL.md leniently, with every problem told by its line."""

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.skills.document import Finding, Severity, SkillDocument
from synthorg_tui.skills.render import render
from synthorg_tui.skills.validate import parse
from tests.skills.skill_strategies import texts
from tests.tables import rows

NAME = "their-skill"
_FIELDS = ("---\n", "name: a\n", "description: d\n", "metadata:\n  a: ")


def file(*fields: str, body: str = "Do it.") -> str:
    return "\n".join(["---", f"name: {NAME}", *fields, "---", "", body, ""])


def read(*fields: str, body: str = "Do it.") -> tuple[SkillDocument | None, tuple[Finding, ...]]:
    return parse(file(*fields, body=body), name=NAME)


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


def test_a_plain_file_has_nothing_wrong() -> None:
    document, findings = read("description: Use when asked.", "license: MIT")
    assert findings == ()
    assert document == SkillDocument(
        name=NAME, description="Use when asked.", license="MIT", body="Do it."
    )


def test_every_field_is_read_as_text() -> None:
    document, findings = read(
        "description: 42",
        "compatibility: yes",
        "allowed-tools: Bash Read",
        "metadata:",
        "  version: 1.0",
        "  since: 2026-01-31",
    )
    assert findings == ()
    assert document is not None
    assert document.description == "42"
    assert document.compatibility == "yes"
    assert document.metadata == {"version": "1.0", "since": "2026-01-31"}


@rows("text", ["", "\n\n", "Just text.", "name: x\n---\n", "-- -\n"])
def test_without_front_matter_it_can_not_be_used(text: str) -> None:
    document, findings = parse(text, name=NAME)
    assert document is None
    errors = [each for each in findings if each.severity is Severity.ERROR]
    assert errors[0].message == "there is no front matter"


def test_front_matter_that_never_ends_is_told_where_it_began() -> None:
    document, findings = parse("---\nname: x\n\nDo it.\n", name=NAME)
    assert document is None
    assert any(each.message == "the front matter isn't closed" for each in findings)


@rows("fields", [(), ("description:",), ('description: "  "',)])
def test_without_a_description_it_is_skipped(fields: tuple[str, ...]) -> None:
    document, findings = read(*fields)
    assert document is None
    assert only(findings).message == "there is no description"


def test_a_name_that_is_not_the_folder_s_is_only_a_warning() -> None:
    document, findings = parse(file("description: Use when."), name="other")
    finding = only(findings)
    assert document is not None
    assert document.name == "other"
    assert (finding.line, finding.severity) == (2, Severity.WARNING)


@rows(("length", "warned"), [(1024, False), (1025, True)])
def test_the_description_has_a_limit(length: int, warned: bool) -> None:
    _, findings = read(f"description: {'x' * length}")
    assert bool(findings) is warned


@rows(("length", "warned"), [(500, False), (501, True)])
def test_compatibility_has_a_limit(length: int, warned: bool) -> None:
    _, findings = read("description: d", f"compatibility: {'x' * length}")
    assert bool(findings) is warned


@rows(("lines", "warned"), [(500, False), (501, True)])
def test_the_body_has_a_limit(lines: int, warned: bool) -> None:
    _, findings = read("description: d", body="\n".join(["x"] * lines))
    assert bool(findings) is warned


def test_an_unknown_field_is_told_on_its_line() -> None:
    document, findings = read("description: d", "author: me")
    assert document is not None
    assert only(findings).line == 4
    assert "'author'" in only(findings).message


def test_of_two_values_the_last_holds() -> None:
    document, findings = read("description: one", "description: two")
    assert document is not None
    assert document.description == "two"
    assert (only(findings).line, only(findings).message) == (4, "'description' is there twice")


def test_a_colon_in_an_unquoted_value_is_read_and_told() -> None:
    document, findings = read("description: Use when: it # really fails", "license: MIT")
    assert document is not None
    assert document.description == "Use when: it # really fails"
    assert only(findings).line == 3
    assert only(findings).severity is Severity.WARNING
    assert only(findings).remedy == "Put the value in double quotes."


def test_yaml_beyond_repair_is_told_on_its_line() -> None:
    document, findings = read('description: "never closed', "license: MIT")
    assert document is None
    assert any(each.message.startswith("not YAML") for each in findings)


@rows(
    "field",
    [
        "license: [a, b]",
        "license: {a: b}",
        "license: &anchor a",
        "license: *anchor",
        "license: !!python/object:os.system a",
        "license:\n  - a",
        "metadata: text",
        "metadata: {a: b}",
        "metadata:\n  a:\n    b: c",
        "metadata:\n  a: 1\n  a: 2",
        "? [a]\n: b",
        "license: a --- b",
    ],
)
def test_what_strict_readers_refuse_is_told(field: str) -> None:
    document, findings = read("description: d", field)
    assert document is not None
    assert document.description == "d"
    assert findings
    assert all(each.severity is Severity.WARNING and each.line >= 4 for each in findings)


def test_a_list_of_tools_becomes_one_text() -> None:
    document, _ = read("description: d", "allowed-tools:\n  - Bash\n  - Read")
    assert document is not None
    assert document.allowed_tools == "Bash Read"


def test_brackets_may_be_nested_a_little() -> None:
    document, _ = read("description: d", "license: " + "[" * 16 + "]" * 16)
    assert document is not None


def test_deep_nesting_is_refused_before_it_costs_anything() -> None:
    document, findings = read("description: d", "license: " + "[" * 30_000)
    assert document is None
    assert only(findings).message == "not YAML: brackets are nested too deeply"


def test_of_many_findings_the_first_are_told() -> None:
    _, findings = read("description: d", body="\u200b\n" * 400)
    assert len(findings) == 100
    assert findings[-1].message == "and there is more"


def test_an_error_is_never_left_out() -> None:
    _, findings = read(body="\u200b\n" * 400)
    assert any(each.severity is Severity.ERROR for each in findings)


def test_aliases_are_never_multiplied() -> None:
    bombs = [f"b{n}: [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    _, findings = read("description: d", "a0: &a0 x", *bombs)
    assert findings


def test_a_byte_order_mark_is_passed_over() -> None:
    document, findings = parse("\ufeff" + file("description: d"), name=NAME)
    assert document is not None
    assert only(findings).line == 1


def test_windows_line_ends_change_nothing() -> None:
    text = file("description: d", body="one\ntwo")
    assert parse(text.replace("\n", "\r\n"), name=NAME) == parse(text, name=NAME)


def test_invisible_characters_are_told_on_their_line() -> None:
    _, findings = read("description: d", body="fine\n\u202eevil")
    assert only(findings).line == 7
    assert "invisible" in only(findings).message


def test_an_emoji_is_not_invisible() -> None:
    assert read("description: d", body="⚠\ufe0f careful")[1] == ()


@rows(
    ("target", "warned"),
    [
        ("reference.md", False),
        ("references/a.md", False),
        ("./references/a.md#part", False),
        ("https://example.org/a/b/c", False),
        ("#part", False),
        ("references/deep/a.md", True),
        ("../other/a.md", True),
        ("/etc/passwd", True),
    ],
)
def test_references_stay_one_level_deep(target: str, warned: bool) -> None:
    _, findings = read("description: d", body=f"See [this]({target}).")
    assert bool(findings) is warned


def test_sections_edited_by_hand_are_understood() -> None:
    body = (
        "# Push\n## condition\nno upstream\n\n## Action\n\nName it.\n"
        "## Execution steps\nfirst\n1) second\n   more\n* third\n\n## My notes\n\n1. kept\n"
    )
    document, _ = read("description: Use when pushing.", body=body)
    assert document is not None
    assert (document.heading, document.condition, document.action) == (
        "Push",
        "no upstream",
        "Name it.",
    )
    assert document.steps == ("first", "second\nmore", "third")
    assert document.body == "## My notes\n\n1. kept"


def test_a_comment_in_fenced_code_is_no_heading() -> None:
    body = "# Push\n\n## Condition\n\n```sh\n# comment\n## Action\n```\n\n## Action\n\nGo."
    document, _ = read("description: d", body=body)
    assert document is not None
    assert document.condition == "```sh\n# comment\n## Action\n```"
    assert document.action == "Go."


@given(
    st.lists(
        st.one_of(texts, st.sampled_from(("---\n", "name: a\n", "metadata:\n  a: "))), max_size=8
    )
)
def test_no_text_can_crash_it(parts: list[str]) -> None:
    for text in ("".join(parts), file(*parts), "---\n" + "".join(parts)):
        document, findings = parse(text, name=NAME)
        lines = len(text.splitlines()) + text.count("\r") + 2
        assert all(1 <= each.line <= lines and each.message and each.remedy for each in findings)
        assert document is not None or any(each.severity is Severity.ERROR for each in findings)
        if document is not None:
            render(document)
