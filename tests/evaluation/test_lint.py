"""Lint as the reference validator of the format sees it."""

from synthorg_tui.evaluation.lint import lint
from tests.evaluation.eval_kit import skill
from tests.tables import rows

HEAD = "---\nname: {name}\ndescription: {description}\n{more}---\n\nDo it.\n"


def text(name: str = "push-new-branch", description: str = "Use when.", more: str = "") -> str:
    return HEAD.format(name=name, description=description, more=more)


@rows(
    "good",
    [
        text(),
        text(description="d" * 1024),
        text(more="license: MIT\nallowed-tools: Bash\n"),
        text(more=f"compatibility: {'c' * 500}\n"),
    ],
)
def test_what_the_reference_takes_is_ok(good: str) -> None:
    assert lint(skill(text=good)).words == "lint ok"


@rows(
    "bad",
    [
        text(name="other-name"),
        text(description=""),
        text(description="d" * 1025),
        text(more=f"compatibility: {'c' * 501}\n"),
        text(more="version: 2\n"),
        "no front matter at all",
    ],
)
def test_what_the_reference_refuses_is_an_error(bad: str) -> None:
    assert lint(skill(text=bad)).errors == 1


@rows("name", ["Push", "a--b", "-a", "a_b", "a" * 65])
def test_a_name_that_the_reference_refuses_is_an_error(name: str) -> None:
    assert lint(skill(name=name, text=text(name=name))).errors == 1


def test_advice_is_a_warning() -> None:
    found = lint(skill(text=text() + "[x](../../etc/passwd)\n"))
    assert (found.errors, found.warnings) == (0, 1)


def test_many_findings_are_counted_and_the_first_told() -> None:
    found = lint(skill(text=text() + "[x](/a)\n" * 50))
    assert found.warnings == 50
    assert len(found.findings) == 20


def test_a_skill_without_a_file_has_nothing_to_check() -> None:
    assert lint(skill(text="[DISCOVERY] x", is_file=False)).words == "lint ok"
