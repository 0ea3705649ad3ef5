"""Planning what is published into one file of a project, and what is refused there."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.core.files import MAX_FILE_BYTES
from synthorg_tui.memory.org.policies import policy_line
from synthorg_tui.organisation.marked_block import BEGIN, END
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.organisation.project_block import BlockPlan, PublishError, write_plan
from synthorg_tui.organisation.publishing import (
    ADRS,
    CONVENTIONS,
    Publishing,
    block_for,
    usual_file,
)
from tests.odd_files import put_kind
from tests.organisation.publish_kit import ADR, CONVENTION, WRITTEN, entry

PUSH = entry("Never push to main.")
MDC = ".cursor/rules/synthorg.mdc"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def plan(project: Path, *entries: OrgEntry, name: str = "AGENTS.md") -> BlockPlan:
    return Publishing(entries or (PUSH,), ()).plan(project, name)


def test_policies_stand_as_they_stand_before_everything_else(project: Path) -> None:
    block, _ = block_for([PUSH, entry("Two\nlines \x1b[2J.")], project, "AGENTS.md")
    lines = block.split("\n")
    assert "## Policies of the organisation" in lines
    assert "- Never push to main." in lines
    assert lines[lines.index("- Two") + 1] == "  lines ␛[2J."
    assert policy_line(PUSH.content) in lines


def test_what_is_of_others_or_stands_in_the_file_already_is_left_out(project: Path) -> None:
    here: dict[str, Any] = {"project": str(project)}
    known = [
        PUSH,
        entry("Of this project.", **here),
        entry("Of another.", project="/work/other"),
        entry("Read from here.", source="AGENTS.md#L3", **here),
        entry("Read from there.", source="CLAUDE.md#L3", **here),
        entry("Retracted.", retracted_at=WRITTEN),
        entry("A lesson.", origin=OrgOrigin.SKILL),
    ]
    _, ids = block_for(known, project, "AGENTS.md")
    assert ids == (PUSH.content, "Of this project.", "Read from there.")


def test_conventions_and_decisions_come_when_asked_for(project: Path) -> None:
    known = [
        PUSH,
        entry("Four spaces.", CONVENTION),
        entry("Text.", ADR, title="Use a queue", status="accepted", source="docs/adr/1.md#L1"),
        entry("Old.", ADR, title="Use cron", status="superseded by 1"),
    ]
    assert "Four spaces" not in block_for(known, project, "AGENTS.md")[0]
    text, _ = block_for(known, project, "AGENTS.md", [CONVENTIONS, ADRS])
    assert "## Conventions\n\n- Four spaces." in text
    assert "## Decisions\n\n- Use a queue (accepted, docs/adr/1.md)\n\n<!--" in text


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"ok\n\xff\xfe", "line 2: byte 4 is not UTF-8"),
        ("text".encode("utf-16-le"), "zero bytes"),
        (b"x\n" + BEGIN + b"\n", "line 2: a begin marker without"),
        (BEGIN + b"\n" + END + b"\n" + BEGIN + b"\n" + END, "line 3: a second block"),
        (b"x" * (MAX_FILE_BYTES + 1), "larger than 1 MB"),
    ],
)
def test_content_that_is_no_sound_text_is_refused(project: Path, content: bytes, why: str) -> None:
    file = project / "AGENTS.md"
    file.write_bytes(content)
    with pytest.raises(PublishError, match=why):
        plan(project)
    assert file.read_bytes() == content


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "loop", "dangling", "device"])
def test_what_is_no_plain_file_is_refused(project: Path, kind: str) -> None:
    put_kind(project / "AGENTS.md", kind)
    before = (project / "AGENTS.md").lstat()
    with pytest.raises(PublishError):
        plan(project)
    assert (project / "AGENTS.md").lstat() == before


def test_a_link_to_another_file_is_refused(project: Path) -> None:
    (project / "AGENTS.md").write_text("x\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    with pytest.raises(PublishError, match="isn't followed"):
        plan(project, name="CLAUDE.md")
    assert (project / "AGENTS.md").read_text() == "x\n"


@pytest.mark.parametrize("inner", [".cursor", ".cursor/rules"])
@pytest.mark.parametrize("is_outside", [True, False])
def test_a_folder_that_is_a_link_is_refused(
    project: Path, tmp_path: Path, inner: str, is_outside: bool
) -> None:
    goal = (tmp_path if is_outside else project) / "elsewhere"
    (goal / "rules").mkdir(parents=True)
    (project / inner).parent.mkdir(exist_ok=True)
    (project / inner).symlink_to(goal)
    with pytest.raises(PublishError, match="a folder above it is a link"):
        plan(project, name=MDC)
    assert [path.name for path in goal.rglob("*")] == ["rules"]


def test_a_folder_that_becomes_a_link_after_planning_is_refused(
    project: Path, tmp_path: Path
) -> None:
    planned = plan(project, name=MDC)
    (tmp_path / "elsewhere").mkdir()
    (project / ".cursor").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PublishError):
        write_plan(planned)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_project_that_is_reached_through_a_link_is_the_same_one(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(project)
    assert plan(tmp_path / "link").path == project / "AGENTS.md"


def test_a_read_only_file_and_one_with_two_names_are_refused(project: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("x\n")
    file.chmod(0o444)
    with pytest.raises(PublishError, match="read-only"):
        plan(project)
    file.chmod(0o644)
    os.link(file, project / "other")
    with pytest.raises(PublishError, match="2 names"):
        plan(project)
    assert file.read_text() == "x\n"


def test_without_policies_or_a_folder_there_is_nothing_to_publish(project: Path) -> None:
    with pytest.raises(PublishError, match="no policies"):
        Publishing((), ()).plan(project, "AGENTS.md")
    with pytest.raises(PublishError, match="is no folder"):
        plan(project / "none")


def test_the_usual_file_is_one_that_the_project_has(project: Path) -> None:
    assert usual_file(project) == "AGENTS.md"
    (project / "CLAUDE.md").write_text("x")
    assert usual_file(project) == "CLAUDE.md"
    (project / "AGENTS.md").write_text("x")
    assert usual_file(project) == "AGENTS.md"


def test_a_plan_shows_its_change(project: Path) -> None:
    lines = plan(project).diff()
    assert lines[:2] == ["--- /dev/null", f"+++ {project / 'AGENTS.md'}"]
    assert "+- Never push to main." in lines
    assert replace(plan(project), after=None).diff() == []
