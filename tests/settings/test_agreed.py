"""What the store holds to: the person's file makes it stricter at once, looser with a yes."""

import logging
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.approvals.models import DecisionRefusedError
from synthorg_tui.approvals.person import Person, Policy
from synthorg_tui.core.types import LOGGER_NAME
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.settings_kv import put_facts
from synthorg_tui.settings import environment as paths
from synthorg_tui.settings.agreed import AgreedSettings, hold
from synthorg_tui.settings.loader import load_settings
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.settings.safety import Loosened
from tests.conftest import FixedClock

CLI = "approvals.allow_cli"
APPROVAL = "memory.procedural.require_approval"
PERSON = Person("tui")
AGENT = {"CLAUDECODE": "1"}


class Store:
    """A store with the person's settings file, opened as each part of the program opens it."""

    def __init__(self, database: StoreDatabase, file: Path, patch: pytest.MonkeyPatch) -> None:
        self.database = database
        self.file = file
        self._patch = patch

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def agreed(self, settings: RootConfig | None = None) -> AgreedSettings:
        own = (settings or load_settings(environ={})).own_safety
        return AgreedSettings(self.database, own, clock=FixedClock())

    async def open(self, environ: Mapping[str, str] | None = None) -> RootConfig:
        settings = load_settings(environ={} if environ is None else environ)
        with self._patch.context() as patch:
            for name, value in (environ or {}).items():
                patch.setenv(name, value)
            return await hold(settings, self.database, clock=FixedClock())

    async def allows(self, environ: Mapping[str, str] | None = None) -> bool:
        return (await self.open(environ)).approvals.allow_cli

    async def requires(self, environ: Mapping[str, str] | None = None) -> bool:
        return (await self.open(environ)).memory.procedural.require_approval


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    file = tmp_path / "company.yaml"
    monkeypatch.setattr(paths, "default_config_file", lambda: file)
    monkeypatch.setattr("synthorg_tui.settings.agreed.default_config_file", lambda: file)
    async with own_database(tmp_path / "data") as database:
        yield Store(database, file, monkeypatch)


async def test_what_the_file_says_at_the_first_start_holds(store: Store) -> None:
    store.write("memory: {procedural: {require_approval: false}}")
    assert await store.requires() is False
    assert (await store.agreed().agreed())[APPROVAL] is False
    assert await store.agreed().loosened() == ()


async def test_what_the_environment_loosens_at_the_first_start_does_not(store: Store) -> None:
    loose = {"SYNTHORG__MEMORY__PROCEDURAL__REQUIRE_APPROVAL": "false"}
    assert await store.requires(loose) is True
    assert (await store.agreed().agreed())[APPROVAL] is True


async def test_stricter_holds_at_once_and_looser_only_with_a_yes(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, LOGGER_NAME)
    assert await store.allows() is True
    store.write("approvals: {allow_cli: false}")
    assert await store.allows() is False
    assert caplog.records == []
    store.write("approvals: {allow_cli: true}")
    assert await store.allows() is False
    (warned,) = [vars(record) for record in caplog.records]
    assert warned["field"] == CLI
    assert warned["reason"] == (
        f"true in {store.file} is not taken yet; false holds until you say yes when the app opens"
    )
    (asked,) = await store.agreed().loosened()
    assert asked == Loosened(CLI, False, True)
    await store.agreed().take((asked,), PERSON)
    assert await store.allows() is True
    assert await store.agreed().loosened() == ()


async def test_a_file_that_is_deleted_is_looser_where_it_was_stricter(store: Store) -> None:
    store.write("approvals: {allow_cli: false}")
    assert await store.allows() is False
    store.file.unlink()
    assert await store.allows() is False


@pytest.mark.parametrize("who", [Person("terminal", "ada"), Policy(APPROVAL), "person (tui)", None])
async def test_nobody_else_takes_it(store: Store, who: Any) -> None:
    store.write("approvals: {allow_cli: false}")
    await store.open()
    store.write("approvals: {allow_cli: true}")
    with pytest.raises(DecisionRefusedError):
        await store.agreed().take(await store.agreed().loosened(), who)
    assert await store.allows() is False


async def test_in_an_agents_environment_nothing_is_agreed_to(store: Store) -> None:
    store.write("memory: {procedural: {require_approval: false}}")
    assert await store.requires(AGENT) is True
    assert await store.agreed().agreed() == {}
    assert await store.requires() is False


async def test_neither_does_an_agents_file_make_the_store_stricter_for_good(store: Store) -> None:
    assert await store.allows() is True
    store.write("approvals: {allow_cli: false}")
    assert await store.allows(AGENT) is False
    store.file.unlink()
    assert await store.allows() is True


async def test_what_the_environment_makes_stricter_is_not_remembered(store: Store) -> None:
    assert await store.allows({"SYNTHORG__APPROVALS__ALLOW_CLI": "false"}) is False
    assert await store.allows() is True


async def test_settings_that_a_program_made_are_left_as_they_are(store: Store) -> None:
    store.write("approvals: {allow_cli: false}")
    await store.open()
    made = RootConfig.model_validate({"approvals": {"allow_cli": True}})
    assert await hold(made, store.database, clock=FixedClock()) is made


@pytest.mark.parametrize("stored", ["", "{", "[]", '{"value": null}', "[1]", '{"at": "x"}'])
async def test_what_is_stored_and_no_value_counts_as_never_agreed_to(
    store: Store, stored: str
) -> None:
    name = "safety:agent_access.writes"
    await store.database.write(
        lambda db: put_facts(db, {name: stored, "safety:no.such": '{"value": 1}'})
    )
    store.write("agent_access: {writes: approval}")
    assert (await store.open()).agent_access.writes == "approval"
    assert (await store.agreed().agreed())["agent_access.writes"] == "approval"
