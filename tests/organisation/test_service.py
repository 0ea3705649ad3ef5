"""What a person does with the organisation's knowledge."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.extensions import MemoryBundle
from synthorg_tui.memory.org.access_control import CategoryWriteRule, WriteAccessConfig
from synthorg_tui.memory.org.config import OrgMemoryConfig
from synthorg_tui.memory.org.errors import (
    OrgMemoryAccessDeniedError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
)
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.organisation.models import OrgEntry, OrgOrigin
from synthorg_tui.organisation.service import ORGANISATION, OrganisationService
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.memory.org.org_kit import JUNIOR, PERSON, SENIOR, fact, publish
from tests.memory.store.hash_embedder import HashEmbedder
from tests.memory.store.store_kit import request

ME = "person (tui)"
CLOCK = FixedClock()
RULES = WriteAccessConfig(
    rules={
        OrgFactCategory.CORE_POLICY: CategoryWriteRule(),
        OrgFactCategory.CONVENTION: WriteAccessConfig().rules[OrgFactCategory.CONVENTION],
        OrgFactCategory.ADR: CategoryWriteRule(human_allowed=False),
    }
)
SETTINGS = RootConfig(
    org_memory=OrgMemoryConfig(core_policies=("Review first.", "No secrets."), write_access=RULES)
)
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("organisation")
    async with Engine.open(
        SETTINGS, data_dir=folder, clock=CLOCK, embedder=HashEmbedder()
    ) as opened:
        yield opened


@pytest.fixture
def service(engine: Engine) -> OrganisationService:
    CLOCK.advance(hours=1)
    return engine.organisation


async def add(
    service: OrganisationService, content: str = "Mondays.", **fields: object
) -> OrgEntry:
    return await service.add(fact(content).model_copy(update=fields), actor=ME)


async def listed(service: OrganisationService, **fields: object) -> list[str]:
    return [entry.content for entry in await service.entries(**fields)]  # type: ignore[arg-type]


async def test_policies_of_the_settings_stand_first(service: OrganisationService) -> None:
    await add(service, "Newest.", category=OrgFactCategory.CORE_POLICY)
    assert (await listed(service))[:3] == ["Review first.", "No secrets.", "Newest."]
    assert [each.content for each in await service.policies()][:3] == [
        "Review first.",
        "No secrets.",
        "Newest.",
    ]


async def test_the_past_is_listed_as_it_was(service: OrganisationService) -> None:
    entry = await add(service, "one of the past")
    CLOCK.advance(minutes=1)
    await service.edit(entry.id, content="two of the past", actor=ME)
    CLOCK.advance(minutes=1)
    await service.retract(entry.id, actor=ME)

    async def at(minutes: float, *, retracted: bool = False) -> list[str]:
        moment = entry.created_at + timedelta(minutes=minutes)
        found = await listed(service, at=moment, retracted=retracted)
        return [content for content in found if content.endswith("of the past")]

    assert await at(-1) == []
    assert await at(0) == ["one of the past"]
    assert await at(1) == ["two of the past"]
    assert await at(2) == []
    assert await at(2, retracted=True) == ["two of the past"]


async def test_a_list_can_be_of_some_categories_and_of_a_project(
    service: OrganisationService,
) -> None:
    await add(service, "of app", tags=("project:/app",))
    await add(service, "of lib", tags=("project:/lib",))
    await add(service, "of all")
    found = await listed(service, categories=[OrgFactCategory.CONVENTION], project="/app")
    assert {"of app", "of all"} <= set(found)
    assert not {"of lib", "Review first."} & set(found)


async def test_an_entry_is_found_by_the_start_of_its_id(service: OrganisationService) -> None:
    entry = await add(service)
    assert await service.entry(entry.id[:13]) == entry
    assert (await service.entry("core-policy-1")).content == "No secrets."


@pytest.mark.parametrize("given", ["zzz", "", "core-policy-"])
async def test_what_no_or_several_entries_have_is_refused_with_a_remedy(
    service: OrganisationService, given: str
) -> None:
    with pytest.raises(OrgMemoryQueryError) as refused:
        await service.entry(given)
    assert refused.value.remedy


async def test_an_edit_writes_a_new_version_and_keeps_the_rest(
    service: OrganisationService,
) -> None:
    entry = await add(service, "before", tags=("a",))
    after = await service.edit(entry.id, content="after", actor=ME)
    assert (after.content, after.traits.others, after.version) == ("after", ("a",), 2)
    assert (await service.edit(entry.id, content="after", actor=ME)).version == 2


async def test_history_tells_who_wrote_what(service: OrganisationService) -> None:
    entry = await add(service, "before")
    await service.edit(entry.id, content="after", actor=ME)
    await service.retract(entry.id, actor=ME)
    found = await service.history(entry.id)
    assert [(each.version, each.content) for each in found] == [
        (1, "before"),
        (2, "after"),
        (3, None),
    ]
    assert found[0].author == "a person at the app"
    assert await service.history("core-policy-0") == ()


async def test_what_is_kept_elsewhere_is_not_changed_here(service: OrganisationService) -> None:
    with pytest.raises(OrgMemoryQueryError, match="settings"):
        await service.edit("core-policy-0", content="No.", actor=ME)


async def test_what_is_retracted_is_revived_before_it_is_edited(
    service: OrganisationService,
) -> None:
    entry = await add(service, "again")
    with pytest.raises(OrgMemoryWriteError, match="not retracted"):
        await service.revive(entry.id, actor=ME)
    await service.retract(entry.id, actor=ME)
    with pytest.raises(OrgMemoryWriteError, match="is retracted"):
        await service.edit(entry.id, content="no", actor=ME)
    assert (await service.revive(entry.id, actor=ME)).retracted_at is None


async def test_a_person_without_the_right_to_a_category_writes_nothing(
    service: OrganisationService,
) -> None:
    before = await service.moments()
    with pytest.raises(OrgMemoryAccessDeniedError, match="human cannot write to category 'adr'"):
        await add(service, category=OrgFactCategory.ADR)
    entry = await add(service)
    with pytest.raises(OrgMemoryAccessDeniedError):
        await service.edit(entry.id, category=OrgFactCategory.ADR, actor=ME)
    assert len(await service.moments()) == len(before) + 1


async def test_who_moves_a_fact_needs_the_right_to_where_it_was(
    service: OrganisationService,
) -> None:
    policy = await add(service, "policy", category=OrgFactCategory.CORE_POLICY)
    with pytest.raises(OrgMemoryAccessDeniedError, match="core_policy"):
        await service.apply([publish(fact("mine"), policy.id, author=SENIOR)], actor="coder")


async def test_changes_are_applied_by_the_right_of_each_author(
    service: OrganisationService,
) -> None:
    (applied,) = await service.apply([publish(fact("by coder"), author=SENIOR)], actor="coder")
    assert (await service.entry(applied.fact_id)).author == "agent coder (senior)"
    with pytest.raises(OrgMemoryAccessDeniedError, match="agent intern"):
        await service.apply(
            [publish(fact("one"), author=PERSON), publish(fact("two"), author=JUNIOR)], actor=ME
        )
    assert "one" not in await listed(service)


async def test_screens_are_told_of_every_write(
    engine: Engine, service: OrganisationService
) -> None:
    heard: list[tuple[str, object]] = []
    end = engine.events.subscribe(lambda topic, data: heard.append((topic, data)))
    entry = await add(service, "told\nmore")
    await service.retract(entry.id, actor=ME)
    await service.undo(actor=ME)
    end()
    assert [topic for topic, _ in heard] == [ORGANISATION] * 3
    assert heard[0][1] == "added: told"


class TestUndo:
    async def test_goes_back_one_act_at_a_time(self, service: OrganisationService) -> None:
        entry = await add(service, "v1")
        await service.edit(entry.id, content="v2", actor=ME)
        await service.retract(entry.id, actor=ME)
        undone = [await service.undo(actor=ME) for _ in range(3)]
        assert [(each.content, each.retracted_at is None) for _, each in undone] == [
            ("v2", True),
            ("v1", True),
            ("v1", False),
        ]
        assert [told.split(" of ")[0] for told, _ in undone] == [
            "undid retracting",
            "undid editing",
            "undid adding",
        ]

    async def test_appends_and_deletes_nothing(self, service: OrganisationService) -> None:
        entry = await add(service, "v1")
        await service.edit(entry.id, content="v2", actor=ME)
        await service.undo(actor=ME)
        found = await service.history(entry.id)
        assert [each.content for each in found] == ["v1", "v2", "v1"]

    async def test_passes_over_what_somebody_changed_since(
        self, service: OrganisationService
    ) -> None:
        mine, other = await add(service, "mine"), await add(service, "other")
        await service.apply([publish(fact("theirs"), other.id, author=SENIOR)], actor="coder")
        assert (await service.undo(actor=ME))[1].id == mine.id
        assert (await service.entry(other.id)).content == "theirs"

    async def test_takes_back_all_that_was_done_at_once(self, service: OrganisationService) -> None:
        await service.apply([publish(fact("first")), publish(fact("second"))], actor=ME)
        told, _ = await service.undo(actor=ME)
        assert told.endswith("and 1 more")
        assert not {"first", "second"} & set(await listed(service))

    async def test_leaves_what_a_decision_did(
        self, engine: Engine, service: OrganisationService
    ) -> None:
        mine = await add(service, "mine")
        assert isinstance(engine.memory, LocalMemoryBackend)
        await engine.memory.admin.change_together(
            MemoryBundle(org=(publish(fact("decided")),)), lambda db, outcome: None, actor=ME
        )
        assert (await service.undo(actor=ME))[1].id == mine.id

    async def test_says_so_when_there_is_nothing_left(self, tmp_path: Path) -> None:
        async with Engine.open(
            SETTINGS, data_dir=tmp_path, clock=CLOCK, embedder=HashEmbedder()
        ) as fresh:
            await fresh.organisation.add(fact(), actor=ME)
            await fresh.organisation.undo(actor=ME)
            with pytest.raises(OrgMemoryQueryError, match="nothing of facts to undo"):
                await fresh.organisation.undo(actor=ME)


async def test_published_memories_are_listed_but_not_those_of_agents(
    engine: Engine, service: OrganisationService
) -> None:
    assert isinstance(engine.memory, LocalMemoryBackend)
    await engine.memory.publish("ada", request("Shared by ada."))
    await engine.memory.store("ada", request("Private to ada."))
    found = {entry.content: entry for entry in await service.entries()}
    assert "Private to ada." not in found
    entry = found["Shared by ada."]
    assert (entry.origin, entry.author) == (OrgOrigin.SHARED, "agent ada")
    with pytest.raises(OrgMemoryQueryError, match="among the memories"):
        await service.retract(entry.id, actor=ME)


async def test_moments_are_when_something_changed(service: OrganisationService) -> None:
    before = await service.moments()
    entry = await add(service)
    after = await service.moments()
    assert after == (*before, entry.created_at)
    assert list(after) == sorted(set(after))


async def test_the_engine_has_the_connected_backend(engine: Engine) -> None:
    assert engine.org.is_connected
    assert engine.org.backend_name == "hybrid_prompt_retrieval"
