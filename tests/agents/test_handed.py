"""The same text isn't handed to one session twice."""

from pathlib import Path

from synthorg_tui.agents.handed import LATE_SECONDS, MAX_MARKS, MAX_SESSIONS, HandedOver
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryEdit, MemoryStoreRequest
from synthorg_tui.settings.root import RootConfig
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
        assert (await one.digest(ASKED)).included == (first,)
        again = await one.digest(ASKED, budget)
        assert (again.text, again.tokens, again.included, again.handed) == ("", 0, (), 1)
        assert (await session(engine, "s2").digest(ASKED)).included == (first,)
        assert (await session(engine, "s1").digest(ASKED)).text == ""

        more = await engine.memory.store("ada", note("Each lamp of the lighthouse is oiled."))
        news = await one.digest(ASKED)
        assert (news.included, news.handed) == ((more,), 1)

        await engine.desk.edit(first, MemoryEdit(content="The lighthouse has eight."), actor="me")
        assert (await one.digest(ASKED)).included == (first,)
        assert set((await one.digest(ASKED, anew=True)).included) == {first, more}


def test_what_came_too_late_counts_as_not_handed_over() -> None:
    handed = HandedOver()
    handed.note("ada", "s1", ["a"], seconds=LATE_SECONDS)
    assert handed.marks("ada", "s1") == frozenset()
    handed.note("ada", "s1", ["a"], seconds=LATE_SECONDS - 0.01)
    assert handed.marks("ada", "s1") == {"a"}
    assert handed.marks("bob", "s1") == frozenset()
    handed.forget("ada", "s1")
    assert handed.marks("ada", "s1") == frozenset()


def test_the_sessions_and_marks_used_last_are_kept() -> None:
    handed = HandedOver()
    for number in range(MAX_SESSIONS + 1):
        handed.note("ada", f"s{number}", ["a"], seconds=0)
    assert not handed.marks("ada", "s0")
    assert handed.marks("ada", "s1")
    handed.note("ada", "s1", [f"m{n}" for n in range(MAX_MARKS)], seconds=0)
    assert "a" not in handed.marks("ada", "s1")
    assert len(handed.marks("ada", "s1")) == MAX_MARKS
