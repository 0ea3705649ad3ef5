"""A write to organisation memory waits once, without secrets, and never comes back rejected."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.approvals.models import ApprovalItem, ApprovalStatus, RiskLevel
from synthorg_tui.approvals.proposals import MAX_PENDING, asked_by
from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.approvals.rows import payload_hash
from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.curation.review import OrgPayload, SubjectKind, entry_of
from synthorg_tui.memory.errors import WriteRefusedError
from synthorg_tui.memory.org.models import OrgFactAuthor
from synthorg_tui.organisation.proposals import propose
from synthorg_tui.persistence.database import Database
from synthorg_tui.persistence.port import StoreDatabase
from tests.approvals.approval_kit import REJECTED, decide
from tests.conftest import FixedClock
from tests.organisation.proposal_kit import RULE, payload, publish, retract

SECRET = "ghp_" + "a1B2" * 9
FACT = "0b6f3f0e-3d0c-4a55-9f0e-0d7c3c1c2c11"


class Asker:
    def __init__(self, database: StoreDatabase, clock: FixedClock) -> None:
        self._database, self._clock = database, clock
        self.queue = ApprovalQueue(database, clock=clock, expire_after=timedelta(days=30))

    async def ask(
        self, asked: OrgPayload, *, by: str = asked_by("ada"), title: str = RULE, project: str = ""
    ) -> str:
        return await propose(
            self.queue, asked, title=title, requested_by=by, clock=self._clock, project=project
        )

    async def item(self, asked: OrgPayload) -> ApprovalItem:
        item = await self.queue.get(await self.ask(asked))
        assert item is not None
        return item

    async def reject(self, asked: OrgPayload) -> None:
        item = await self.item(asked)
        shown = payload_hash(item)
        await decide(self.queue, self._database, item.id, REJECTED, shown=shown)


@pytest.fixture
async def asker(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Asker]:
    database = Database.in_dir(tmp_path / "data")
    await database.open()
    yield Asker(database, clock)
    await database.close()


class TestProposing:
    async def test_the_item_says_what_who_why_and_until_when(self, asker: Asker) -> None:
        item = await asker.item(payload())
        entry = entry_of(item)
        assert (entry.kind, item.requested_by) == (SubjectKind.ORG, "agent ada")
        assert (item.title, item.description) == (RULE, "it broke twice")
        assert entry.fields["content"].text == RULE
        assert item.expires_at is not None

    async def test_a_policy_is_of_high_risk_and_another_fact_of_medium(self, asker: Asker) -> None:
        policy = await asker.item(payload(publish(category=OrgFactCategory.CORE_POLICY)))
        convention = await asker.item(payload(publish()))
        assert policy.risk_level is RiskLevel.HIGH
        assert convention.risk_level is RiskLevel.MEDIUM

    async def test_the_same_words_wait_once(self, asker: Asker) -> None:
        assert await asker.ask(payload()) == await asker.ask(payload())
        assert len(await asker.queue.list()) == 1

    async def test_other_words_another_fact_or_another_asker_are_something_else(
        self, asker: Asker
    ) -> None:
        ids = {
            await asker.ask(payload()),
            await asker.ask(payload(publish("Never push on a Friday."))),
            await asker.ask(payload(publish(category=OrgFactCategory.PROCEDURE))),
            await asker.ask(payload(publish(fact_id=FACT))),
            await asker.ask(payload(retract(FACT))),
            await asker.ask(payload(), by="rule files"),
        }
        assert len(ids) == 6

    async def test_what_waits_is_brought_up_to_the_version_that_its_author_saw(
        self, asker: Asker
    ) -> None:
        first = await asker.ask(payload(publish(fact_id=FACT, version=1)))
        item = await asker.item(payload(publish(fact_id=FACT, version=2), why="it is wrong"))
        subject = entry_of(item).subject
        assert isinstance(subject, OrgPayload)
        assert item.id == first
        assert subject.changes[0].expected_version == 2
        assert item.description == "it is wrong"

    async def test_what_a_person_rejected_is_not_asked_for_again(self, asker: Asker) -> None:
        await asker.reject(payload(publish(fact_id=FACT, version=1)))
        with pytest.raises(WriteRefusedError, match="rejected"):
            await asker.ask(payload(publish(fact_id=FACT, version=3), why="once more"))
        assert await asker.queue.list(status=ApprovalStatus.PENDING) == ()

    async def test_secrets_are_taken_out_of_texts_tags_and_the_reason(self, asker: Asker) -> None:
        item = await asker.item(
            payload(publish(f"Use {SECRET}.", tags=(f"note {SECRET}",)), why=f"because {SECRET}")
        )
        assert SECRET not in item.model_dump_json()
        assert "[REDACTED:" in entry_of(item).fields["content"].text

    async def test_an_agent_with_too_much_waiting_is_refused_and_a_file_is_not(
        self, asker: Asker
    ) -> None:
        for number in range(MAX_PENDING):
            await asker.ask(payload(publish(f"Rule {number}.")))
        with pytest.raises(WriteRefusedError, match="wait"):
            await asker.ask(payload(publish("One more.")))
        assert await asker.ask(payload(publish("One more.")), by="rule files")

    async def test_several_writes_of_a_file_are_one_item_with_all_their_texts(
        self, asker: Asker
    ) -> None:
        by_hand = OrgFactAuthor(is_human=True)
        writes = [publish(text, author=by_hand) for text in ("One.", "Two.")]
        entry = entry_of(await asker.item(payload(*writes, retract(FACT))))
        assert [field.text for field in entry.fields.values()] == ["One.", "Two."]

    async def test_it_is_found_by_its_kind_and_its_project(self, asker: Asker) -> None:
        await asker.ask(payload(publish(tags=("project:/srv/tidepool",))))
        (item,) = await asker.queue.list()
        entry = entry_of(item)
        assert entry.is_of_kind("org")
        assert not entry.is_of_kind("write")
        assert entry.is_of_project("tidepool")
        assert not entry.is_of_project("harbour")

    async def test_a_retraction_is_found_by_the_project_that_it_came_from(
        self, asker: Asker
    ) -> None:
        item_id = await asker.ask(payload(retract(FACT)), project="/srv/tidepool")
        item = await asker.queue.get(item_id)
        assert item is not None
        assert entry_of(item).is_of_project("/srv/tidepool")
