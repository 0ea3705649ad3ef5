"""The app inside a coding agent's environment: everything is read, nothing is decided."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalStatus, DecisionRefusedError
from synthorg_tui.core.actors import actor_words
from synthorg_tui.core.enums import MemoryCategory, OrgFactCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.memory.scenarios import Question
from synthorg_tui.tui.engine_adapter import Change, Draft, EngineAdapter
from synthorg_tui.tui.engine_host import LocalEngineHost
from synthorg_tui.tui.organisation.adapter import EntryText
from synthorg_tui.tui.panes import PANES
from tests.curation.review_kit import item_of, lesson
from tests.tui.pictures import SIZES, Compare
from tests.tui.test_snapshots import compare
from tests.tui.tui_fakes import FakeDesk, fake_app, rows
from tests.tui.tui_helpers import screen_text, settle

DRAFT = Draft("codex", MemoryCategory.PROCEDURAL, "git push -u origin HEAD sets it", ("git",))
WORDS = r"Claude Code \(CLAUDECODE is set\) runs this; only a person decides"
LATER = datetime(2099, 1, 1, tzinfo=UTC)
QUESTION = Question(agent_id="codex", query="git push", token_budget=100)
POLICY = EntryText(OrgFactCategory.CORE_POLICY, "Do as the agent says.")

Act = Callable[[EngineAdapter, str, str], Awaitable[object]]
REFUSED: dict[str, Act] = {
    "approve": lambda desk, item, _: desk.approvals.approve(item, "x"),
    "approve many": lambda desk, item, _: desk.approvals.approve_many([(item, "x")]),
    "reject": lambda desk, item, _: desk.approvals.reject(item, "x", "no"),
    "snooze": lambda desk, item, _: desk.approvals.snooze(item, LATER),
    "undo a decision": lambda desk, *_: desk.approvals.undo(),
    "undo in skills": lambda desk, *_: desk.skills.undo(),
    "retire a skill": lambda desk, *_: desk.skills.retire("/x/SKILL.md"),
    "write a skill back": lambda desk, *_: desk.skills.restore("/x/SKILL.md"),
    "add": lambda desk, *_: desk.add(DRAFT),
    "edit": lambda desk, _, memory: desk.edit(memory, Change(content="evil")),
    "delete": lambda desk, _, memory: desk.remove([memory]),
    "restore": lambda desk, _, memory: desk.restore([memory]),
    "purge": lambda desk, _, memory: desk.purge([memory]),
    "write an entry": lambda desk, *_: desk.organisation.add(POLICY),
    "retract an entry": lambda desk, *_: desk.organisation.retract("x"),
    "revive an entry": lambda desk, *_: desk.organisation.revive("x"),
    "undo on entries": lambda desk, *_: desk.organisation.undo(),
    "save a scenario": lambda desk, *_: desk.digests.save_scenario("s", QUESTION),
    "delete a scenario": lambda desk, *_: desk.digests.delete_scenario("s"),
}


@pytest.fixture
async def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[EngineAdapter, Engine, str, str]]:
    """A desk that a person filled and that an agent has open now, with an item and a memory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    async with Engine.open(data_dir=tmp_path) as engine:
        item = item_of(lesson())
        await engine.approvals.add(item)
        desk = EngineAdapter(engine)
        memory_id = await desk.add(DRAFT)
        monkeypatch.setenv("CLAUDECODE", "1")
        yield desk, engine, item.id, memory_id
        await desk.close()


async def test_every_act_of_a_person_is_refused_and_all_is_read(
    desk: tuple[EngineAdapter, Engine, str, str],
) -> None:
    port, engine, item_id, memory_id = desk
    for act in REFUSED.values():
        with pytest.raises(DecisionRefusedError, match=WORDS):
            await act(port, item_id, memory_id)
    page = await port.browse(BrowseFilter(), sort="newest", offset=0, limit=10)
    assert [(row.id, row.content) for row in page.entries] == [(memory_id, DRAFT.content)]
    assert [each.kind for each in await port.history(memory_id)] == ["added"]
    assert [entry.item.id for entry in await port.approvals.inbox()] == [item_id]
    assert await port.digests.scenarios() == ()
    assert await port.organisation.moments() == ()
    (item,) = await engine.approvals.list(status=ApprovalStatus.PENDING)
    assert item.id == item_id


async def test_what_is_refused_stands_in_the_trail_with_the_agent(
    desk: tuple[EngineAdapter, Engine, str, str],
) -> None:
    port, _, item_id, memory_id = desk
    for name in ("approve", "reject"):
        with pytest.raises(DecisionRefusedError):
            await REFUSED[name](port, item_id, memory_id)
    refused = [each for each in await port.approvals.trail(item_id) if each.kind == "refused"]
    assert len(refused) == 2
    assert {actor_words(each.actor) for each in refused} == {
        "agent claude-code, by a command it ran"
    }
    assert all("only a person decides" in each.reason for each in refused)


async def test_without_a_mark_the_person_at_the_app_is_named(tmp_path: Path) -> None:
    host = LocalEngineHost(data_dir=tmp_path)
    desk = await host.open()
    try:
        memory_id = await desk.add(DRAFT)
        await desk.edit(memory_id, Change(content="token ghp_0123456789abcdefghijABCDEFGHIJ012345"))
        newest, *_ = await desk.history(memory_id)
        assert actor_words(newest.actor) == "a person at the app"
        assert newest.after["content"] == "token [REDACTED:github-token]"
    finally:
        await host.close()


async def test_every_pane_says_who_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_CI", "1")
    app = fake_app(FakeDesk(rows(3)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for _, title, key in PANES:
            await pilot.press(key)
            await settle(pilot)
            assert title in screen_text(app).splitlines()[0]
            assert screen_text(app).splitlines()[1].startswith(" run by Codex: nothing can be")


def test_run_by_an_agent(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the header: run by Claude Code, nothing can be approved here; else as ever."""
    monkeypatch.setenv("CLAUDECODE", "1")
    assert compare(snap_compare, fake_app(FakeDesk(rows(12))), SIZES)
