"""Settings changed in a running program: what holds at once, what waits, undo, and who may."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.tools import WRITING
from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.approvals.person import Person
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import ConfigError, DomainError
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.memory.strategies.service import SWITCHED_OFF, InjectionRequest
from synthorg_tui.runtime.models import RunRequest
from synthorg_tui.settings import environment as paths
from synthorg_tui.settings.changes import SettingChange, Takes
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.switches import switch_badge, switch_named, switches

ADA = "ada (tui)"
MOST = "memory.retrieval.max_memories"
ASKED = InjectionRequest("codex", "push a branch", 400)
AGENT = {"CLAUDECODE": "1"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "company.yaml"
    monkeypatch.setattr(paths, "default_config_file", lambda: path)
    monkeypatch.setattr("synthorg_tui.settings.agreed.default_config_file", lambda: path)
    for mark in AGENT:
        monkeypatch.delenv(mark, raising=False)
    return path


@pytest.fixture
async def engine(file: Path, tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(load_settings(environ={}), data_dir=tmp_path / "data") as opened:
        yield opened


async def put(engine: Engine, path: str, written: str) -> SettingChange:
    return await engine.kept.set(path, written, actor=ADA)


async def test_what_the_services_can_take_holds_at_once(engine: Engine) -> None:
    _ = engine.injection
    assert (await put(engine, MOST, "7")).takes is Takes.NOW
    assert engine.settings.memory.retrieval.max_memories == 7
    assert engine.injection.retrieval_for(ASKED).max_memories == 7


async def test_the_rest_waits_for_the_next_start_and_can_be_undone_after_it(
    file: Path, tmp_path: Path
) -> None:
    async with Engine.open(load_settings(environ={}), data_dir=tmp_path) as engine:
        assert (await put(engine, "jobs.packing", "never")).takes is Takes.RESTART
        assert engine.settings.jobs.packing == "daily"
    async with Engine.open(load_settings(environ={}), data_dir=tmp_path) as engine:
        assert engine.settings.jobs.packing == "never"
        assert (await engine.kept.undo(actor=ADA)).takes is Takes.RESTART


async def test_a_variable_overrules_what_is_kept(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES", "9")
    change = await put(engine, MOST, "7")
    assert change.takes is Takes.OVERRULED
    assert "SYNTHORG__MEMORY__RETRIEVAL__MAX_MEMORIES" in change.why


async def test_changes_are_undone_and_redone_in_order(engine: Engine) -> None:
    await put(engine, MOST, "7")
    await put(engine, MOST, "8")
    assert (await engine.kept.undo(actor=ADA)).after == "7"
    assert (await engine.kept.undo(actor=ADA)).after == ""
    assert engine.settings.memory.retrieval.max_memories == 20
    with pytest.raises(DomainError):
        await engine.kept.undo(actor=ADA)
    assert (await engine.kept.redo(actor=ADA)).after == "7"
    await put(engine, "memory.retrieval.max_diary", "2")
    with pytest.raises(DomainError):
        await engine.kept.redo(actor=ADA)


async def test_each_change_is_listed_with_who_and_when(engine: Engine) -> None:
    await put(engine, MOST, "7")
    await engine.kept.unset(MOST, actor="bob (terminal)")
    last, first = await engine.kept.changes()
    assert (first.by, first.before, first.after) == (ADA, "", "7")
    assert (last.by, last.before, last.after) == ("bob (terminal)", "7", "")
    assert last.at >= first.at


async def test_a_refused_value_changes_nothing(engine: Engine) -> None:
    with pytest.raises(ConfigError):
        await put(engine, MOST, "101")
    assert await engine.kept.kept() == ()
    assert await engine.kept.changes() == ()


async def test_taking_back_what_is_not_kept_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="nothing is kept"):
        await engine.kept.unset(MOST, actor=ADA)


async def test_no_agent_changes_a_setting(engine: Engine) -> None:
    for actor in ("codex", "agent codex", "codex (environment)"):
        with pytest.raises(DecisionRefusedError):
            await engine.kept.set(MOST, "7", actor=actor)
    assert await engine.kept.changes() == ()


async def test_a_stricter_safety_setting_holds_at_once_and_a_looser_one_waits_for_a_yes(
    engine: Engine,
) -> None:
    change = await put(engine, "approvals.review", "uncertain")
    assert change.takes is Takes.AGREEMENT
    assert engine.settings.approvals.review == "all"
    waiting = await engine.safety.loosened()
    assert [found.path for found in waiting] == ["approvals.review"]
    await engine.safety.take(waiting, Person("tui"))
    held = await engine.kept.refresh()
    assert held.own_safety is not None
    assert held.own_safety["approvals.review"] == "uncertain"


async def test_undoing_what_made_a_safety_setting_stricter_waits_for_a_yes_as_well(
    file: Path, tmp_path: Path
) -> None:
    async with Engine.open(load_settings(environ={}), data_dir=tmp_path) as engine:
        await put(engine, "agent_access.writes", "off")
    async with Engine.open(load_settings(environ={}), data_dir=tmp_path) as engine:
        assert (await engine.kept.undo(actor=ADA)).takes is Takes.AGREEMENT
        assert engine.settings.agent_access.writes == "off"


async def test_an_invalid_file_is_told_before_anything_is_kept(engine: Engine, file: Path) -> None:
    file.write_text("memory: {level: never}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"company\.yaml:1"):
        await put(engine, MOST, "7")


async def test_memories_are_given_no_more_once_switched_off_and_again_once_on(
    engine: Engine,
) -> None:
    text = "Push a branch with its upstream named."
    stored = MemoryStoreRequest(category=MemoryCategory.PROCEDURAL, content=text)
    await engine.memory.store("codex", stored)
    assert "upstream" in (await engine.injection.prepare(ASKED)).text
    assert (await put(engine, "memory.injection_enabled", "false")).takes is Takes.NOW
    off = await engine.injection.prepare(ASKED)
    assert (off.text, off.explanation.degraded) == ("", SWITCHED_OFF)
    await engine.kept.undo(actor=ADA)
    assert "upstream" in (await engine.injection.prepare(ASKED)).text


async def test_agents_write_no_more_once_switched_off(engine: Engine) -> None:
    await engine.gateway.open()
    session = engine.gateway.connect(AgentIdentity("codex", "/home/ada/shop"))
    assert WRITING & {tool.name for tool in await session.tools()}
    assert (await put(engine, "agent_access.writes", "off")).takes is Takes.NOW
    assert not WRITING & {tool.name for tool in await session.tools()}
    assert not engine.gateway.restricted
    await engine.kept.undo(actor=ADA)
    assert WRITING & {tool.name for tool in await session.tools()}


@pytest.mark.parametrize("name", ["learning", "consolidation", "following", "runtime"])
async def test_every_other_switch_holds_at_once_too(engine: Engine, name: str) -> None:
    _ = engine.consolidation, engine.following
    switch = switch_named(engine.settings, name)
    assert (await put(engine, switch.path, switch.off)).takes is Takes.NOW
    assert dict(switches(engine.settings))[switch] is False
    assert switch_badge(engine.settings) == switch.badge
    await engine.kept.undo(actor=ADA)
    assert switch_badge(engine.settings) == ""


async def test_no_agent_runs_here_once_switched_off(engine: Engine, tmp_path: Path) -> None:
    _ = engine.runs
    await put(engine, "runtime.enabled", "false")
    with pytest.raises(DomainError, match="no agent runs here"):
        await engine.runs.start(RunRequest(agent_id="codex", task="Tidy up.", workspace=tmp_path))


async def test_following_says_that_it_is_off_and_consolidation_refuses(engine: Engine) -> None:
    following, runs = engine.following, engine.consolidation
    await put(engine, "ingest.follow", "false")
    await put(engine, "memory.consolidation.enabled", "false")
    assert not (await following.status()).follows
    assert await runs.run_due() == "consolidation is off"
