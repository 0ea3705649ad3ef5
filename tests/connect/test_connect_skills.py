"""Approved skills stand where a connected client looks, as links to ours."""

import asyncio
import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli import main
from synthorg_tui.connect.changes import ClientInstaller
from synthorg_tui.connect.clients import CLIENTS, ClientPlaces, ConfigScope
from synthorg_tui.connect.skills import as_one, place, refresh
from synthorg_tui.host.opening import engine_for_app
from synthorg_tui.settings.loader import shipped_settings
from synthorg_tui.skills import SkillsConfig
from synthorg_tui.skills.disk import write_skill
from synthorg_tui.skills.library import SkillLibrary, skill_roots
from tests import REPO
from tests.cli.cli_kit import move_home
from tests.curation.review_kit import PERSON, lesson, office
from tests.memory.store.store_kit import AGENT
from tests.postgres_switch import files_only


def skill(source: Path, name: str) -> dict[str, str]:
    """Write a skill; its digest by its name."""
    text = f'---\nname: {name}\ndescription: "Use when testing."\n---\n# Test\n'
    write_skill(source, name, text)
    return {name: sha256(text.encode()).hexdigest()}


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir()) if root.exists() else []


def test_only_what_is_wanted_is_linked(tmp_path: Path) -> None:
    source, root = tmp_path / "ours", tmp_path / "client" / "skills"
    wanted = skill(source, "first")
    skill(source, "dropped-there-by-somebody")
    assert place(source, root, wanted).linked == ("first",)
    assert names(root) == ["first"]
    assert (root / "first" / "SKILL.md").read_bytes() == (source / "first/SKILL.md").read_bytes()


def test_nothing_to_link_makes_no_folder(tmp_path: Path) -> None:
    place(tmp_path / "ours", tmp_path / "client", {"gone": "0"})
    assert not (tmp_path / "client").exists()


def test_what_was_changed_after_approval_is_not_linked(tmp_path: Path) -> None:
    source, root = tmp_path / "ours", tmp_path / "client"
    wanted = skill(source, "first")
    place(source, root, wanted)
    write_skill(source, "first", (source / "first/SKILL.md").read_text() + "rm -rf\n")
    assert place(source, root, wanted).changed == ("first",)
    assert names(root) == []


def test_links_to_what_is_gone_go(tmp_path: Path) -> None:
    source, root = tmp_path / "ours", tmp_path / "client"
    place(source, root, skill(source, "first"))
    (source / "first" / "SKILL.md").unlink()
    place(source, root, {})
    assert names(root) == []


def test_what_somebody_else_has_there_is_left_alone(tmp_path: Path) -> None:
    source, root = tmp_path / "ours", tmp_path / "client"
    wanted = skill(source, "a-folder") | skill(source, "a-link")
    skill(root, "a-folder")
    (root / "a-link").symlink_to(tmp_path)
    before = (root / "a-folder" / "SKILL.md").stat()
    assert place(source, root, wanted).left_alone == ("a-folder", "a-link")
    assert (root / "a-folder" / "SKILL.md").stat() == before
    assert (root / "a-link").readlink() == tmp_path


def test_links_stay_while_another_client_looks_there(tmp_path: Path) -> None:
    where = ClientPlaces(tmp_path / "home", tmp_path / "project", {})
    source = tmp_path / "ours"
    wanted = skill(source, "first")
    connections = ClientInstaller(tmp_path / "data", where)
    for name in ("codex", "gemini"):
        connections.place_skills(CLIENTS[name], ConfigScope.USER, name, [source], wanted)
    root = where.home / ".agents" / "skills"
    connections.clear_skills(CLIENTS["codex"], None)
    assert names(root) == ["first"]
    connections.clear_skills(CLIENTS["gemini"], None)
    assert not where.home.exists()


def test_links_into_a_store_that_was_moved_are_made_anew(tmp_path: Path) -> None:
    where = ClientPlaces(tmp_path / "home", tmp_path / "project", {})
    before, after = tmp_path / "before", tmp_path / "after"
    wanted, claude = skill(before / "skills", "first"), CLIENTS["claude-code"]
    ClientInstaller(before, where).place_skills(
        claude, ConfigScope.USER, "me", [before / "skills"], wanted
    )
    before.rename(after)
    root, placed = ClientInstaller(after, where).place_skills(
        claude, ConfigScope.USER, "me", [after / "skills"], wanted
    )
    assert (placed.linked, placed.left_alone) == (("first",), ())
    assert (root / "first").readlink() == after / "skills" / "first"


def test_a_linked_skill_is_one_skill_to_our_own_library(tmp_path: Path) -> None:
    source = tmp_path / "ours"
    place(source, tmp_path / ".claude" / "skills", skill(source, "first"))
    (found,) = SkillLibrary(skill_roots(SkillsConfig(), own=source, home=tmp_path)).scan()
    assert found.path == source / "first" / "SKILL.md"
    assert not found.findings


@files_only
def test_what_a_person_approves_is_there_from_the_next_session_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, home = tmp_path / "data", tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    home.mkdir()
    arguments = ["connect", "claude-code", "--agent", AGENT, "--data-dir", str(data), "--yes"]
    assert main(arguments) == 0
    root = home / ".claude" / "skills"
    assert names(root) == []

    async def approve() -> None:
        async with office(data) as desk:
            await desk.approve(await desk.propose(lesson()))
            write_skill(desk.skills, "never-approved", "---\nname: never-approved\n---\n")

    asyncio.run(approve())
    asyncio.run(refresh(data, AGENT))  # as when the client starts the server
    (name,) = names(root)
    assert (root / name).readlink() == data / "skills" / name
    assert main(["disconnect", "claude-code", "--data-dir", str(data), "--yes"]) == 0
    assert not os.path.lexists(home / ".claude")


def test_of_two_sources_the_first_wins_and_nothing_is_told_twice(tmp_path: Path) -> None:
    ours, theirs, root = tmp_path / "ours", tmp_path / "shipped", tmp_path / "client"
    wanted = skill(ours, "both") | skill(theirs, "both") | skill(theirs, "one")
    placed = as_one([place(source, root, wanted) for source in (ours, theirs)])
    assert (placed.linked, placed.left_alone, placed.changed) == (("both", "one"), (), ())
    assert (root / "both").readlink() == ours / "both"
    assert (root / "one").readlink() == theirs / "one"


@files_only
def test_what_is_shipped_is_named_and_linked_once_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, home = tmp_path / "data", tmp_path / "home"
    move_home(monkeypatch, home)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    home.mkdir()
    (home / ".claude.json").write_text('{"theme": "dark"}\n')
    before = _contents(home), _contents(REPO / "skills")

    def connect() -> dict[str, Any]:
        arguments = ["connect", "claude-code", "--data-dir", str(data), "--yes", "--json"]
        assert main(arguments) == 0
        skills: dict[str, Any] = json.loads(capsys.readouterr().out)["skills"]
        return skills

    assert main(["connect", "claude-code", "--data-dir", str(data), "--yes"]) == 0
    said = capsys.readouterr().out
    assert "2 skills come with synthorg-tui and aren't in force: agent-memory, review-less" in said
    assert "`synthorg-tui skills review NAME`" in said
    asyncio.run(_decide_shipped(data, "agent-memory", is_approved=True))
    told = connect()
    assert (told["linked"], told["unapproved"]) == (["agent-memory"], ["review-lessons"])
    link = home / ".claude" / "skills" / "agent-memory"
    assert link.readlink() == REPO / "skills" / "agent-memory"
    asyncio.run(_decide_shipped(data, "review-lessons", is_approved=False))
    told = connect()
    assert (told["linked"], told["unapproved"]) == (["agent-memory"], [])
    assert main(["connect", "claude-code", "--data-dir", str(data), "--yes"]) == 0
    assert "review-lessons" not in capsys.readouterr().out
    assert main(["disconnect", "claude-code", "--data-dir", str(data), "--yes"]) == 0
    assert (_contents(home), _contents(REPO / "skills")) == before
    assert not (home / ".claude").exists()


async def _decide_shipped(data_dir: Path, name: str, *, is_approved: bool) -> None:
    async with engine_for_app(shipped_settings(), data_dir=data_dir) as engine:
        (row,) = [row for row in (await engine.skills.overview()).rows if row.name == name]
        item_id = await engine.skills.offer(row.path)
        review = await engine.reviews.review(item_id)
        if is_approved:
            await engine.reviews.approve(item_id, shown=review.shown, person=PERSON)
        else:
            await engine.reviews.reject(item_id, shown=review.shown, reason="no", person=PERSON)


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
