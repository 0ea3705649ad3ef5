"""What we write passes the reference validator, and reading it gives back what was written."""

import tempfile
from dataclasses import replace
from pathlib import Path

import skills_ref
from hypothesis import example, given
from hypothesis import strategies as st

from synthorg_tui.skills.disk import FILE_NAME
from synthorg_tui.skills.document import SkillDocument
from synthorg_tui.skills.markdown import is_plain
from synthorg_tui.skills.render import clean_document, render
from synthorg_tui.skills.validate import parse
from tests.skills.skill_strategies import documents, texts
from tests.tables import rows

PLAIN = SkillDocument(
    name="push-new-branch",
    description="Use when git push fails because the branch has no upstream.",
    heading="Push a branch for the first time",
    condition="git push says that the current branch has no upstream branch.",
    action="Name the remote and the branch.",
    rationale="Git doesn't guess where a new branch belongs.",
    check="git status names the branch on the remote.",
    steps=("git push -u origin HEAD", "git status"),
    evidence=("session-1#L12-L30",),
    metadata={"version": "1", "confidence": "0.9"},
)

PLAIN_TEXT = """\
---
name: push-new-branch
description: "Use when git push fails because the branch has no upstream."
metadata:
  confidence: "0.9"
  version: "1"
---

# Push a branch for the first time

## Condition

git push says that the current branch has no upstream branch.

## Action

Name the remote and the branch.

## Rationale

Git doesn't guess where a new branch belongs.

## Check

git status names the branch on the remote.

## Execution steps

1. git push -u origin HEAD
2. git status

## Evidence

- session-1#L12-L30
"""


def read(document: SkillDocument) -> SkillDocument | None:
    return parse(render(document), name=clean_document(document).name)[0]


def test_a_document_is_written_as_people_would_write_it() -> None:
    assert render(PLAIN) == PLAIN_TEXT


def test_the_order_of_metadata_changes_no_byte() -> None:
    turned = replace(PLAIN, metadata=dict(reversed(list(PLAIN.metadata.items()))))
    assert render(turned) == PLAIN_TEXT


def test_an_ordinary_document_is_not_changed_by_cleaning() -> None:
    assert clean_document(PLAIN) == PLAIN
    assert parse(PLAIN_TEXT, name=PLAIN.name) == (PLAIN, ())


@given(documents)
def test_any_document_is_valid_and_read_back_exactly(document: SkillDocument) -> None:
    cleaned = clean_document(document)
    text = render(document)
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, cleaned.name)
        folder.mkdir()
        (folder / FILE_NAME).write_bytes(text.encode())
        assert skills_ref.validate(folder) == []
    assert parse(text, name=cleaned.name)[0] == cleaned
    assert render(cleaned) == text


@given(documents)
def test_cleaning_twice_changes_nothing(document: SkillDocument) -> None:
    cleaned = clean_document(document)
    assert clean_document(cleaned) == cleaned


@given(texts, texts, st.lists(texts.filter(bool), max_size=3).map(tuple))
@example("a\nb", "```\n# open fence", ("1. x\n2. y", " \n"))
@example("#", "\\\\## two", ("```\ncode\n```", "a\n\n   b"))
def test_our_sections_keep_every_character(
    heading: str, condition: str, steps: tuple[str, ...]
) -> None:
    document = replace(PLAIN, heading=heading, condition=condition, steps=steps)
    found = read(document)
    assert found is not None
    assert (found.heading, found.condition, found.steps) == (heading, condition, steps)


@given(documents)
def test_nothing_invisible_is_written(document: SkillDocument) -> None:
    assert all(is_plain(line) for line in render(document).split("\n"))


@given(documents)
def test_front_matter_holds_only_ascii_and_no_fence(document: SkillDocument) -> None:
    front = render(document).split("\n---\n", 1)[0].removeprefix("---\n")
    assert front.isascii()
    assert "---" not in front


def test_half_a_character_becomes_one_that_a_file_can_hold() -> None:
    found = read(replace(PLAIN, condition="a\ud800b"))
    assert found is not None
    assert found.condition == "a\N{REPLACEMENT CHARACTER}b"


@rows("body", ["plain text", "```\ncode\n```"])
def test_text_after_our_sections_gets_a_heading(body: str) -> None:
    cleaned = clean_document(replace(PLAIN, body=body))
    assert cleaned.body == f"## Notes\n\n{body}"
    assert read(cleaned) == cleaned


def test_markdown_of_somebody_else_is_kept_as_it_stands() -> None:
    body = "# Title\n\nText & more.\n\n## Action\n\n1. one\n    - two"
    document = SkillDocument(name="theirs", description="Use when asked.", body=body)
    assert read(document) == document
