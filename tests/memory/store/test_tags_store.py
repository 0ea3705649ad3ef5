"""Fact keys, sensitivity and origin in the real store."""

from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.enums import Sensitivity, SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.extensions import BrowseFilter, MemoryDraft, MemoryEdit
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.memory.store.store_kit import AGENT, draft, opened, request
from tests.tables import rows

Columns = tuple[str | None, str, str]


async def columns(backend: LocalMemoryBackend, memory_id: str) -> Columns:
    def work(db: object) -> Columns:
        row = db.execute(  # type: ignore[attr-defined]
            "SELECT fact_key, sensitivity, source_kind FROM memories WHERE id = ?", [memory_id]
        ).fetchone()
        return (row[0], row[1], row[2])

    return await backend.core.read(work)


async def test_what_an_agent_stores_is_typed_by_its_tags(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        tags = ("fact:editor", "sensitivity:sensitive")
        keyed = await backend.store(AGENT, request("vim", tags=tags))
        plain = await backend.publish(AGENT, request("vim is everywhere"))
        assert await columns(backend, keyed) == ("editor", "sensitive", "tool")
        assert await columns(backend, plain) == (None, "private", "tool")


async def test_a_draft_says_who_it_comes_from(tmp_path: Path) -> None:
    made = MemoryDraft(request=request("by hand"), source_kind=SourceKind.OPERATOR)
    async with opened(tmp_path) as backend:
        outcome = await backend.store_many(AGENT, [draft("read", "k"), made], actor="me")
        kinds = [(await columns(backend, memory_id))[2] for memory_id in outcome.added]
        assert kinds == ["import", "operator"]


async def test_an_import_that_says_who_it_comes_from_is_not_a_changed_one(tmp_path: Path) -> None:
    """The hashes that existing stores hold know nothing of it."""
    again = MemoryDraft(request=request("x"), key="k", source_kind=SourceKind.SYSTEM)
    async with opened(tmp_path) as backend:
        await backend.store_many(AGENT, [draft("x", "k")], actor="me")
        outcome = await backend.store_many(AGENT, [again], actor="me")
        assert outcome.skipped == (("k", "unchanged"),)


async def test_sensitivity_and_key_are_edited_and_found_as_tags(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("vim", tags=("git",)))
        change = MemoryEdit(sensitivity=Sensitivity.SENSITIVE, fact_key=" editor ")
        edited = await backend.admin.edit(memory_id, change, actor="me")
        assert edited.tags == ("git", "fact:editor", "sensitivity:sensitive")
        assert await columns(backend, memory_id) == ("editor", "sensitive", "tool")
        page = await backend.admin.browse(
            BrowseFilter(tags=("fact:editor", "sensitivity:sensitive"))
        )
        assert [entry.id for entry in page.entries] == [memory_id]
        (latest, _) = await backend.admin.history(memory_id)
        assert latest.before["tags"] == ["git"]
        assert latest.after["tags"] == list(edited.tags)


async def test_new_tags_do_not_give_a_secret_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        tags = ("fact:token", "sensitivity:sensitive")
        memory_id = await backend.store(AGENT, request("t0k3n", tags=tags))
        await backend.admin.edit(memory_id, MemoryEdit(tags=("git",)), actor="me")
        assert await columns(backend, memory_id) == ("token", "sensitive", "tool")
        named = MemoryEdit(tags=("git", "sensitivity:public"), fact_key="")
        edited = await backend.admin.edit(memory_id, named, actor="me")
        assert edited.tags == ("git", "sensitivity:public")
        assert await columns(backend, memory_id) == (None, "public", "tool")


@rows("category", ["semantic", "social", "working"])
async def test_what_is_known_can_be_a_fact(tmp_path: Path, category: str) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("x", category=MemoryCategory(category)))
        await backend.admin.edit(memory_id, MemoryEdit(fact_key="k"), actor="me")
        assert (await columns(backend, memory_id))[0] == "k"


@rows("category", ["episodic", "procedural"])
async def test_what_happened_and_what_to_do_are_no_facts(tmp_path: Path, category: str) -> None:
    async with opened(tmp_path) as backend:
        memory_id = await backend.store(AGENT, request("x", category=MemoryCategory(category)))
        with pytest.raises(MemoryStoreError, match=f"{category} memories can't be facts"):
            await backend.admin.edit(memory_id, MemoryEdit(fact_key="k"), actor="me")
        assert (await columns(backend, memory_id))[0] is None


async def test_a_key_that_means_nothing_keeps_no_one_from_editing(tmp_path: Path) -> None:
    async with opened(tmp_path) as backend:
        made = request("x", category=MemoryCategory.EPISODIC, tags=("fact:k",))
        memory_id = await backend.store(AGENT, made)
        change = MemoryEdit(content="y", tags=("fact:k", "a"), fact_key="k")
        assert (await backend.admin.edit(memory_id, change, actor="me")).content == "y"


async def test_an_import_brings_new_tags_and_what_they_say(tmp_path: Path) -> None:
    def said(tag: str) -> MemoryDraft:
        asked = MemoryStoreRequest(
            category=MemoryCategory.SEMANTIC, content="x", metadata=MemoryMetadata(tags=(tag,))
        )
        return MemoryDraft(request=asked, key="k")

    async with opened(tmp_path) as backend:
        first = await backend.store_many(AGENT, [said("fact:a")], actor="me")
        await backend.store_many(AGENT, [said("sensitivity:sensitive")], actor="me")
        assert await columns(backend, first.added[0]) == (None, "sensitive", "import")
