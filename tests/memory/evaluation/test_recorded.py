"""Questions out of what was recorded: scenarios and pins, searches whose hit was opened."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.models import CallKind, CallRecord
from synthorg_tui.memory.evaluation.questions import EvalQuestion, QuestionSource
from synthorg_tui.memory.evaluation.recorded import OPENED_WITHIN, RecordedQuestions
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.scenarios import Question
from synthorg_tui.persistence.call_log import erase_from_calls
from synthorg_tui.persistence.database import Database
from tests.tui.tui_fakes import NOW

A, B, C = (f"00000000-0000-0000-0000-00000000000{end}" for end in "abc")
SHOP = "/home/ada/shop"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database.in_dir(tmp_path)
    await opened.open()
    yield opened
    await opened.close()


async def saved(database: Database, name: str, question: Question, *expected: str) -> None:
    values = [name, question.model_dump_json(), list(expected)]
    await database.write(
        lambda db: db.execute("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?)", values)
    )


async def scenarios(database: Database) -> tuple[EvalQuestion, ...]:
    return await RecordedQuestions(database).scenarios()


class TestScenarios:
    async def test_what_was_included_answers_one(self, database: Database) -> None:
        asked = Question(
            agent_id="ada", query="push", token_budget=10, visibility=Visibility(None, SHOP)
        )
        await saved(database, "pushing", asked, A, B)
        (question,) = await scenarios(database)
        assert question.source is QuestionSource.SCENARIO
        assert (question.text, question.agent_id) == ("push", "ada")
        assert question.relevant == {A, B}
        assert (question.session, question.project) == ("pushing", SHOP)

    async def test_what_was_pinned_answers_it_alone(self, database: Database) -> None:
        asked = Question(agent_id="ada", query="push", token_budget=10, pinned=(B,))
        await saved(database, "pushing", asked, A, B)
        (question,) = await scenarios(database)
        assert question.source is QuestionSource.PIN
        assert question.relevant == {B}

    async def test_one_that_nothing_answered_is_no_question(self, database: Database) -> None:
        await saved(database, "empty", Question(agent_id="ada", query="x", token_budget=1))
        assert await scenarios(database) == ()


class Calls:
    """Records calls of an agent, a minute apart."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.trail = AuditTrail(database, keep=1000)
        self.at = NOW

    async def add(
        self, tool: str, *ids: str, later: timedelta = timedelta(minutes=1), **said: str
    ) -> None:
        self.at += later
        project = said.pop("project", SHOP)
        await self.trail.add(
            CallRecord(
                number=0,
                at=self.at,
                agent_id="ada",
                client="",
                project=project,
                kind=CallKind.TOOL,
                name=tool,
                arguments=json.dumps(said),
                reply="told",
                is_error=False,
                tokens=1,
                milliseconds=1.0,
                memory_ids=ids,
            )
        )

    async def questions(self) -> list[tuple[str, frozenset[str]]]:
        await self.trail.flush()
        found = await RecordedQuestions(self.database).searches()
        return [(each.text, each.relevant) for each in found]


class TestSearches:
    async def test_an_opened_hit_answers_the_search(self, database: Database) -> None:
        calls = Calls(database)
        await calls.add("search_memory", A, B, query="push a branch")
        await calls.add("recall_memory", B, memory_id=B[:8])
        assert await calls.questions() == [("push a branch", frozenset({B}))]

    async def test_a_digest_is_a_search_and_reading_a_skill_opens_it(
        self, database: Database
    ) -> None:
        calls = Calls(database)
        await calls.add("digest", A, C, query="push")
        await calls.add("read_skill", C, name="push-new-branch")
        assert await calls.questions() == [("push", frozenset({C}))]

    async def test_what_was_no_hit_of_it_answers_nothing(self, database: Database) -> None:
        calls = Calls(database)
        await calls.add("search_memory", A, query="push")
        await calls.add("recall_memory", C, memory_id=C)
        assert await calls.questions() == []

    async def test_another_project_is_another_search(self, database: Database) -> None:
        calls = Calls(database)
        await calls.add("search_memory", A, query="push")
        await calls.add("recall_memory", A, memory_id=A, project="/elsewhere")
        assert await calls.questions() == []

    @pytest.mark.parametrize(("beyond", "found"), [(0, 1), (1, 0)])
    async def test_it_is_opened_soon_after(
        self, database: Database, beyond: int, found: int
    ) -> None:
        calls = Calls(database)
        await calls.add("search_memory", A, query="push")
        await calls.add("recall_memory", A, later=OPENED_WITHIN + timedelta(seconds=beyond))
        assert len(await calls.questions()) == found

    async def test_an_erased_search_asks_nothing_any_more(self, database: Database) -> None:
        calls = Calls(database)
        await calls.add("search_memory", A, B, query="push the secret branch")
        await calls.add("recall_memory", A, memory_id=A)
        assert len(await calls.questions()) == 1
        await database.write(lambda db: erase_from_calls(db, [B], []))
        assert await calls.questions() == []
