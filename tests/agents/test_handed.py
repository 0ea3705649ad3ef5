"""The same text isn't handed to one session twice."""

from functools import partial
from pathlib import Path

from synthorg_tui.agents.handed import (
    MAX_MARKS,
    MAX_RECEIPTS,
    MAX_SESSIONS,
    HandedOver,
    Receipts,
)
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryEdit, MemoryStoreRequest
from synthorg_tui.settings.root import RootConfig
from tests.agents.receiving import digested
from tests.tables import rows

SETTINGS = RootConfig.model_validate({"memory": {"v1": {"enabled": False}}})
ASKED = "lighthouse lamps"


def note(content: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content=content)


def session(engine: Engine, session_id: str) -> AgentSession:
    return engine.gateway.connect(AgentIdentity("ada", session_id=session_id))


@rows("budget", [1_500, 90])
async def test_a_block_is_handed_to_a_session_once_and_to_another_anew(
    tmp_path: Path, budget: int
) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        first = await engine.memory.store("ada", note("The lighthouse has seven lamps."))
        one = session(engine, "s1")
        assert (await digested(one, ASKED)).included == (first,)
        again = await digested(one, ASKED, budget)
        assert (again.text, again.tokens, again.included, again.handed) == ("", 0, (), 1)
        assert (await digested(session(engine, "s2"), ASKED)).included == (first,)
        assert (await digested(session(engine, "s1"), ASKED)).text == ""

        more = await engine.memory.store("ada", note("Each lamp of the lighthouse is oiled."))
        news = await digested(one, ASKED)
        assert (news.included, news.handed) == ((more,), 1)

        await engine.desk.edit(first, MemoryEdit(content="The lighthouse has eight."), actor="me")
        assert (await digested(one, ASKED)).included == (first,)
        assert set((await digested(one, ASKED, anew=True)).included) == {first, more}


async def test_what_nobody_acknowledged_is_given_again(tmp_path: Path) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        fact = await engine.memory.store("ada", note("The lighthouse has seven lamps."))
        one, other = session(engine, "s1"), session(engine, "s1")
        first, second = await one.digest(ASKED), await one.digest(ASKED)
        assert first.included == second.included == (fact,)
        for receipt in ("", "no receipt", first.receipt):
            await other.acknowledge(receipt)
        assert (await one.digest(ASKED)).included == (fact,)
        await one.acknowledge(first.receipt)
        assert (await other.digest(ASKED)).included == ()


async def test_what_arrives_in_a_context_that_was_emptied_meanwhile_is_given_again(
    tmp_path: Path,
) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        fact = await engine.memory.store("ada", note("The lighthouse has seven lamps."))
        one = session(engine, "s1")
        before = await one.digest(ASKED)
        anew = await one.digest(ASKED, anew=True)
        await one.acknowledge(before.receipt)
        assert (await one.digest(ASKED)).included == (fact,)
        await one.acknowledge(anew.receipt)
        assert (await one.digest(ASKED)).included == ()


async def test_the_marks_are_those_of_one_agent_in_one_session() -> None:
    handed = HandedOver()
    await handed.of("ada", "s1").add(["a"])
    assert handed.of("ada", "s1").keys() == {"a"}
    assert handed.of("bob", "s1") == {}
    handed.forget("ada", "s1")
    assert handed.of("ada", "s1") == {}


async def test_the_sessions_and_marks_used_last_are_kept() -> None:
    handed = HandedOver()
    for number in range(MAX_SESSIONS + 1):
        await handed.of("ada", f"s{number}").add(["a"])
    assert handed.of("ada", "s1")
    assert not handed.of("ada", "s0")
    known = handed.of("ada", f"s{MAX_SESSIONS}")
    await known.add([f"m{n}" for n in range(MAX_MARKS)])
    assert "a" not in known
    assert len(known) == MAX_MARKS


async def test_the_receipts_of_the_latest_texts_are_open() -> None:
    receipts, noted = Receipts(), list[int]()

    async def note(number: int) -> None:
        noted.append(number)

    issued = [receipts.issue(partial(note, number)) for number in range(MAX_RECEIPTS + 1)]
    for receipt in (*issued[:2], issued[-1], issued[-1]):
        await receipts.acknowledge(receipt)
    assert noted == [1, MAX_RECEIPTS]
