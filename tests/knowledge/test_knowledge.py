"""Knowledge in a real store: kept up by evidence, left alone by hand, erased with its sessions."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.projects import UnknownProjectError
from synthorg_tui.engine import Engine
from synthorg_tui.knowledge.pages import PERSON_PAGE
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.listing import BrowseFilter, ListedMemory
from synthorg_tui.memory.models import MemoryEdit, MemoryQuery
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from tests.conftest import FixedClock
from tests.knowledge.knowledge_kit import (
    NOW,
    at,
    node_run,
    opened,
    python_run,
    rust_run,
    said,
    save,
)
from tests.learning.lesson_kit import START, Run
from tests.postgres_switch import IS_ON

TEST = "Test with `cargo test --workspace`"
SECRET_RULE = "Always call the lighthouse xylophone before you push."


def seen_from(engine: Engine, project: str) -> LocalMemoryBackend:
    assert isinstance(engine.memory, LocalMemoryBackend)
    return engine.memory.scoped(Visibility(None, project))


async def memories(engine: Engine) -> list[ListedMemory]:
    page = await engine.desk.browse(BrowseFilter(kinds=(MemoryKind.KNOWLEDGE,)))
    return list(page.entries)


async def memory_of(engine: Engine, text: str) -> ListedMemory:
    return next(each for each in await memories(engine) if text in each.content)


async def texts(engine: Engine, project: str) -> list[str]:
    return [shown.text for shown in (await engine.knowledge.page(project)).lines]


async def test_each_line_is_a_semantic_memory_of_its_project_with_its_source(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run().done())
        report = await engine.knowledge.refresh()
        assert report.sessions == 1
        memory = await memory_of(engine, TEST)
    assert memory.kind is MemoryKind.KNOWLEDGE
    assert memory.category is MemoryCategory.SEMANTIC
    assert (memory.source, memory.project) == ("project:/srv/ferry", "/srv/ferry")
    assert memory.tags[:2] == ("knowledge", "commands")
    assert memory.content == f"ferry: {TEST} (all 3 runs passed, in 1 session, last 2026-03-01)"


async def test_every_agent_of_the_project_or_a_worktree_is_given_it_and_no_other(
    tmp_path: Path,
) -> None:
    query = MemoryQuery(text="test with cargo test")
    found: dict[str, bool] = {}
    async with opened(tmp_path) as engine:
        await save(engine, rust_run().done())
        await engine.knowledge.refresh()
        for place in ("/srv/ferry", "/srv/ferry-worktrees/deck", "/srv/kiln"):
            view = seen_from(engine, place)
            hits = (await view.candidates("somebody", query, include_shared=True)).hits
            found[place] = any(TEST in hit.entry.content for hit in hits)
    assert found == {"/srv/ferry": True, "/srv/ferry-worktrees/deck": True, "/srv/kiln": False}


async def test_further_evidence_edits_the_same_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run("a").done())
        await engine.knowledge.refresh()
        before = await memory_of(engine, TEST)
        await save(engine, at(rust_run("b").done(), NOW))
        await engine.knowledge.refresh()
        after = await memory_of(engine, TEST)
        history = await engine.desk.history(after.id)
    assert after.id == before.id
    assert "all 6 runs passed, in 2 sessions, last 2026-03-02" in after.content
    assert after.confidence > before.confidence
    assert {each.actor for each in history} == {"knowledge"}


async def test_a_refresh_looks_at_changed_sessions_only(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    async with opened(tmp_path, clock) as engine:
        await save(engine, rust_run("a").done(), python_run("b").done())
        assert (await engine.knowledge.refresh()).sessions == 2
        again = await engine.knowledge.refresh()
        assert (again.sessions, again.projects) == (0, 0)
        await save(engine, rust_run("a").bash("cargo fmt", "").done())
        assert await engine.knowledge.waiting() == 1
        changed = await engine.knowledge.refresh()
        assert (changed.sessions, changed.projects) == (1, 1)
        clock.advance(days=1)
        assert (await engine.knowledge.refresh()).projects == 2


async def test_a_refresh_that_is_stopped_goes_on_later(tmp_path: Path) -> None:
    cancel = threading.Event()
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        cancel.set()

    async with opened(tmp_path) as engine:
        await save(engine, rust_run("a").done(), python_run("b").done())
        report = await engine.knowledge.refresh(stop, cancel)
        assert (report.sessions, report.cancelled, seen) == (1, True, [(1, 2)])
        assert (await engine.knowledge.refresh()).sessions == 1
        assert len(await engine.knowledge.pages()) == 2


async def test_what_a_person_edited_stays_as_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run("a").done())
        await engine.knowledge.refresh()
        memory = await memory_of(engine, TEST)
        await engine.desk.edit(memory.id, MemoryEdit(content="Use nextest."), actor="ada")
        await save(engine, at(rust_run("b").done(), NOW))
        await engine.knowledge.refresh()
        page = await engine.knowledge.page("ferry")
        shown = next(each for each in page.lines if each.memory_id == memory.id)
    assert (shown.text, shown.edited) == ("Use nextest.", True)
    assert shown.line.sessions == 2
    assert TEST not in page.markdown()


async def test_what_a_person_deleted_never_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run("a").done())
        await engine.knowledge.refresh()
        memory = await memory_of(engine, TEST)
        await engine.desk.remove([memory.id], actor="ada")
        await save(engine, at(rust_run("b").done(), NOW))
        await engine.knowledge.refresh()
        assert TEST not in await texts(engine, "ferry")
        await engine.erasure.purge([memory.id], actor="ada")
        await save(engine, at(rust_run("c").done(), NOW))
        await engine.knowledge.refresh()
        assert TEST not in await texts(engine, "ferry")


async def test_a_line_without_evidence_is_archived_and_comes_back_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run("a").done())
        await engine.knowledge.refresh()
        memory = await memory_of(engine, TEST)
        await save(engine, Run("a", project="/srv/ferry").bash("cargo fmt", "").done())
        assert (await engine.knowledge.refresh()).change.withdrawn > 0
        assert TEST not in await texts(engine, "ferry")
        history = await engine.desk.history(memory.id)
        assert history[0].kind == "archived"
        await save(engine, rust_run("a").bash("cargo fmt", "").done())
        assert (await engine.knowledge.refresh()).change.restored > 0
        assert (await memory_of(engine, TEST)).id == memory.id


async def test_forgetting_a_session_takes_what_it_alone_showed(tmp_path: Path) -> None:
    alone = said(python_run("a"), SECRET_RULE)
    async with opened(tmp_path) as engine:
        await save(engine, alone, rust_run("b").done(), at(rust_run("c").done(), NOW))
        await engine.knowledge.refresh()
        assert any("xylophone" in each for each in await texts(engine, "kiln"))
        await engine.sessions.purge([alone.id, "claude_code:b"], actor="ada")
        assert [each for each in await memories(engine) if "xylophone" in each.content] == []
        assert await engine.knowledge.pages() == []
        await engine.knowledge.refresh()
        page = await engine.knowledge.page("ferry")
        assert TEST in [shown.text for shown in page.lines]
        assert {shown.line.sessions for shown in page.lines} == {1}
    if not IS_ON:
        assert b"xylophone" not in (tmp_path / "memory.duckdb").read_bytes()


async def test_forgetting_only_the_sessions_leaves_what_is_known(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run("b").done())
        await engine.knowledge.refresh()
        await engine.sessions.purge(["claude_code:b"], actor="ada", keep_memories=True)
        await save(engine, at(rust_run("c").done(), NOW))
        await engine.knowledge.refresh()
        page = await engine.knowledge.page("ferry")
        line = next(shown.line for shown in page.lines if shown.text == TEST)
    assert (line.good, line.sessions) == (6, 2)
    assert [each.partition("#")[0] for each in line.episodes] == ["claude_code:c"]


async def test_a_session_deleted_by_age_leaves_what_is_known(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        await save(engine, rust_run("b").done())
        await engine.knowledge.refresh()
        assert await engine.sessions.delete_aged(1, NOW + timedelta(days=9)) == 1
        await save(engine, at(rust_run("c").done(), NOW))
        await engine.knowledge.refresh()
        assert any("all 6 runs passed" in each.content for each in await memories(engine))


async def test_a_page_is_found_by_name_and_folder_and_tells_near_names(tmp_path: Path) -> None:
    async with opened(tmp_path) as engine:
        twin = Run("t", project="/home/ada/ferry").bash("cargo test", "ok").done()
        await save(engine, rust_run().done(), python_run().done(), twin)
        await engine.knowledge.refresh()
        assert (await engine.knowledge.page("kiln")).project == "/srv/kiln"
        assert (await engine.knowledge.page("/srv/ferry/")).name == "srv/ferry"
        assert (await engine.knowledge.page("/srv/ferry-worktrees/x")).name == "srv/ferry"
        with pytest.raises(UnknownProjectError) as two:
            await engine.knowledge.page("ferry")
        assert two.value.near == ("ada/ferry", "srv/ferry")
        with pytest.raises(UnknownProjectError) as none:
            await engine.knowledge.page("kilm")
        assert none.value.near == ("kiln",)


async def test_pages_are_markdown_in_which_nothing_of_a_transcript_is_markup(
    tmp_path: Path,
) -> None:
    rule = "- Never load ![x](http://evil.example/a) or <script>x</script>\x1b[31m\n"
    run = node_run().file("Read", "AGENTS.md", rule)
    async with opened(tmp_path) as engine:
        await save(engine, run.done())
        await engine.knowledge.refresh()
        pages = dict(await engine.knowledge.pages())
    page = pages["shop-web"]
    assert page.startswith("# shop-web\n\n`/srv/shop-web`\n\nKnown from 1 session")
    assert "\n## How it is worked on\n\n- Test with `cd packages/ui && npm " in page
    assert "`claude_code:ts1#L2-L3`" in page
    shown = page.replace("\\<", "")
    assert not any(mark in shown for mark in ("](", "http://", "<script", "\x1b"))


async def test_secrets_in_commands_are_in_no_line(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    run = Run(project="/srv/kiln")
    for _ in range(6):
        run.bash(f"make lint TOKEN={token}", "ok").bash(f"TOKEN={token} make test", "ok")
        run.bash("make build", "ok")
    async with opened(tmp_path) as engine:
        await save(engine, run.done())
        await engine.knowledge.refresh()
        pages = str(await engine.knowledge.pages())
        stored = await engine.executions.ids()
    assert stored
    assert "make build" in pages
    assert token not in pages


async def test_preferences_of_the_person_have_a_page_and_reach_every_project(
    tmp_path: Path,
) -> None:
    rule = "Always run the linter before you commit."
    async with opened(tmp_path) as engine:
        await save(engine, said(python_run(), rule), said(rust_run(), rule))
        await engine.knowledge.refresh()
        page = await engine.knowledge.page(PERSON_PAGE)
        (shown,) = page.lines
        view = seen_from(engine, "/srv/elsewhere")
        query = MemoryQuery(text="run the linter before the commit")
        hits = (await view.candidates("somebody", query, include_shared=True)).hits
    assert shown.line.counts.startswith("said twice in 2 projects")
    assert [hit.entry.id for hit in hits] == [shown.memory_id]


async def test_an_import_keeps_it_up_and_agents_are_not_counted_with_it(tmp_path: Path) -> None:
    from tests.ingest.transcript_kit import ClaudeTranscript

    told = ClaudeTranscript("11111111-2222-4333-8444-555555555555").user("Run the tests")
    for _ in range(3):
        told = told.bash("make test", "12 passed")
    async with opened(tmp_path) as engine:
        await engine.imports.run([told.write(tmp_path / "t" / "a.jsonl")])
        known = await memories(engine)
        agents = [agent.id for agent in await engine.agents()]
    assert any("Test with `make test`" in each.content for each in known)
    assert agents == ["claude-code"]


async def test_at_the_shared_sessions_each_project_has_six_to_twelve_lines(
    tmp_path: Path, shared_dir: Path
) -> None:
    places = [shared_dir / "data" / name for name in ("transcripts", "agents")]
    async with opened(tmp_path, FixedClock(START + timedelta(days=200))) as engine:
        await engine.imports.run(places)
        pages = await engine.knowledge.projects()
    assert [6 <= len(page.lines) <= 12 for page in pages if page.lines] == [True, True]
