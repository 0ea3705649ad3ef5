"""Two people's engines on one server: decisions are taken once, and skills are on both machines."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.approvals import DecisionRole
from synthorg_tui.approvals.models import ApprovalConflictError, DecisionRefusedError
from synthorg_tui.curation.models import FileChangePayload
from synthorg_tui.curation.review import Decision
from synthorg_tui.engine import Engine
from tests import patience
from tests.curation.review_kit import lesson
from tests.patience import PATIENCE
from tests.postgres_server import PostgresServer
from tests.wiring.shared_kit import AT_APP, approve, engine_of, listened, propose, skill_files

pytestmark = pytest.mark.asyncio(loop_scope="module")

Both = tuple[Engine, Engine]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    url = postgres_server.new_store()
    yield url
    postgres_server.drop(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    folders = [tmp_path_factory.mktemp(name) for name in ("ada", "bob")]
    async with (
        engine_of("ada", url, folders[0]) as ada,
        engine_of("bob", url, folders[1]) as bob,
    ):
        for engine in (ada, bob):
            await engine.skills.sync()
        await listened(url, 2)
        yield ada, bob


async def until(name: str, engine: Engine, text: str | None) -> None:
    """Wait until a skill's file here has a text, or, for ``None``, is gone."""
    await patience.until(lambda: skill_files(engine).get(name) == text)


async def skill_of(engine: Engine, item_id: str) -> tuple[str, str]:
    """Approve an item; name and text of the skill it became."""
    (path,) = (await approve(engine, item_id)).paths
    return Path(path).parent.name, Path(path).read_text("utf-8")


async def test_of_two_who_decide_at_once_one_wins_and_the_other_is_told_who_did(
    both: Both,
) -> None:
    ada, bob = both
    item_id = await propose(ada, lesson("a: both"))
    shown = [(await engine.reviews.review(item_id)).shown for engine in both]
    outcomes = await asyncio.gather(
        ada.reviews.approve(item_id, shown=shown[0], person=AT_APP),
        bob.reviews.reject(item_id, shown=shown[1], reason="no", person=AT_APP),
        return_exceptions=True,
    )
    (won,) = [done for done in outcomes if isinstance(done, Decision)]
    (lost,) = [done for done in outcomes if isinstance(done, ApprovalConflictError)]
    winner = "ada" if won is outcomes[0] else "bob"
    assert f"{winner} at the app decided at" in lost.message
    decided = [event.actor for event in await ada.approvals.events(item_id)][1:]
    assert decided == [f"{winner} (tui)"]


async def test_two_who_decide_about_different_items_at_once_both_do(both: Both) -> None:
    ada, bob = both
    first = await propose(ada, lesson("a: one", discovery="The first of two", name="first-one"))
    second = await propose(bob, lesson("b: two", discovery="The second of two", name="second-one"))
    done = await asyncio.gather(approve(ada, first), approve(bob, second))
    assert len({decision.number for decision in done}) == 2
    assert await ada.reviews.inbox() == await bob.reviews.inbox() == ()


async def test_a_decision_is_told_to_the_other(both: Both) -> None:
    ada, bob = both
    item_id = await propose(ada, lesson("a: told", discovery="To be told", name="told"))
    assert len(await bob.reviews.inbox()) == 1
    inboxes = asyncio.Queue[int]()

    async def look() -> None:
        inboxes.put_nowait(len(await bob.reviews.inbox()))

    looks = list[asyncio.Task[None]]()
    end = bob.events.subscribe(
        lambda topic, _: looks.append(asyncio.create_task(look())) if topic == "changed" else None
    )
    await approve(ada, item_id)
    async with asyncio.timeout(PATIENCE):
        while await inboxes.get():  # what was told of the proposal may come now, too
            pass
    end()


async def test_a_skill_goes_where_others_work_and_leaves_again(both: Both) -> None:
    ada, bob = both
    item_id = await propose(ada, lesson("a: goes", discovery="It goes around", name="goes"))
    name, text = await skill_of(ada, item_id)
    await until(name, bob, text)
    row = next(row for row in (await bob.skills.overview()).rows if row.name == name)
    assert (row.state.value, row.version) == ("valid", 1)
    assert str(bob.data_dir) in row.path
    await bob.reviews.retire(row.path, AT_APP)
    await until(name, bob, None)
    await until(name, ada, None)
    assert await bob.reviews.undo(AT_APP) is not None
    await until(name, bob, text)
    await until(name, ada, text)


async def test_a_skill_that_is_retired_before_a_look_at_it_leaves_again(both: Both) -> None:
    ada, bob = both
    item_id = await propose(ada, lesson("a: soon", discovery="Soon retired", name="soon"))
    name, text = await skill_of(ada, item_id)
    async with ada.ledger.deciding:  # so that no look at it comes before it is retired
        await until(name, bob, text)
        row = next(row for row in (await bob.skills.overview()).rows if row.name == name)
        await bob.reviews.retire(row.path, AT_APP)
    await until(name, ada, None)


async def test_others_skills_are_here_for_who_asks_nothing_or_only_for_a_list(
    both: Both, url: str, tmp_path: Path
) -> None:
    ada, _ = both
    item_id = await propose(ada, lesson("a: list", discovery="It is listed", name="listed"))
    name, text = await skill_of(ada, item_id)
    async with engine_of("eve", url, tmp_path / "list") as eve:
        (row,) = [row for row in (await eve.skills.overview()).rows if row.name == name]
        assert (row.state.value, skill_files(eve)[name]) == ("valid", text)
    async with engine_of("eve", url, tmp_path / "serve") as eve:
        await until(name, eve, text)


async def test_a_persons_own_text_stays_and_comes_up_for_review(both: Both) -> None:
    ada, bob = both
    item_id = await propose(ada, lesson("a: mine", discovery="Bob's own words", name="mine"))
    name, text = await skill_of(ada, item_id)
    await until(name, bob, text)
    file, edited = bob.data_dir / "skills" / name / "SKILL.md", text.replace("Bob's own", "Other")
    file.write_text(edited, "utf-8")
    (change_id,) = (await bob.skills.sync()).added
    assert skill_files(bob)[name] == edited
    await ada.skills.sync()
    (entry,) = await ada.reviews.inbox()
    assert isinstance(entry.subject, FileChangePayload)
    await approve(bob, change_id)
    await until(name, ada, edited)
    assert [row.version for row in (await ada.skills.overview()).rows if row.name == name] == [2]


async def test_what_a_person_deleted_here_does_not_come_back(both: Both) -> None:
    ada, bob = both
    item_id = await propose(ada, lesson("a: away", discovery="Taken away", name="away"))
    name, text = await skill_of(ada, item_id)
    await until(name, bob, text)
    (bob.data_dir / "skills" / name / "SKILL.md").unlink()
    assert (await bob.skills.sync()).added == ()
    assert name not in skill_files(bob)
    assert name in skill_files(ada)


async def test_nobody_takes_back_what_another_decided(both: Both) -> None:
    ada, bob = both
    mine = await propose(bob, lesson("b: mine", discovery="Of Bob alone", name="of-bob"))
    theirs = await propose(ada, lesson("a: theirs", discovery="Of Ada alone", name="of-ada"))
    await approve(bob, mine)
    await approve(ada, theirs)
    undone = await bob.reviews.undo(AT_APP)
    assert undone is not None
    assert undone.item_id == mine
    await approve(bob, mine)


async def test_roles_hold_on_every_way_to_decide(
    both: Both, url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ada, _ = both
    item_id = await propose(ada, lesson("c: roles", discovery="By roles", name="r", agent="coder"))
    roles = (
        DecisionRole(people=("eve",), departments=("engineering",), scopes=("agent",)),
        DecisionRole(people=("ada",)),
    )
    async with engine_of("mallory", url, tmp_path_factory.mktemp("m"), *roles) as mallory:
        review = await mallory.reviews.review(item_id)
        assert review.barred == "mallory may not decide about proposals of coder: eve, ada may"
        for decide in (
            mallory.reviews.approve(item_id, shown=review.shown, person=AT_APP),
            mallory.reviews.reject(item_id, shown=review.shown, reason="x", person=AT_APP),
            mallory.reviews.snooze(item_id, None, AT_APP),
        ):
            with pytest.raises(DecisionRefusedError, match="eve, ada may"):
                await decide
        outcome = await mallory.reviews.approve_many([(item_id, review.shown)], AT_APP)
        assert [reason for _, reason in outcome.refused] == [review.barred]
    async with engine_of("eve", url, tmp_path_factory.mktemp("e"), *roles) as eve:
        assert (await eve.reviews.review(item_id)).barred == ""
        (path,) = (await approve(eve, item_id)).paths
    async with engine_of("mallory", url, tmp_path_factory.mktemp("m2"), *roles) as mallory:
        with pytest.raises(DecisionRefusedError, match="eve, ada may"):
            await mallory.reviews.retire(path, AT_APP)
        assert await mallory.reviews.undo(AT_APP) is None
