"""Hints at the moment of a call: from approved lessons, once a session, and never for others."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from synthorg_tui.agents.models import AgentIdentity, CallKind
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.agents.silenced import SilencedKind
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.curation.models import Evidence, Lesson, LessonKind
from synthorg_tui.engine import Engine
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.memory.models import MemoryDraft, MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.skills import SkillsConfig
from tests.agents.receiving import answered, told
from tests.curation.review_kit import PERSON, item_of, lesson
from tests.memory.store.store_kit import AGENT
from tests.tables import rows

PROJECT = "/srv/tidepool"
NO_UPSTREAM = "fatal: The current branch other has no upstream branch.\nTo push, use"
CALL = AgentAction(command="git push")
FAILED_CALL = AgentAction(command="git push", error=NO_UPSTREAM)
PUSH = Evidence(
    execution="claude_code:old",
    lines="claude_code:old#L1-L2",
    agent_id=AGENT,
    failed="git push",
    error="The current branch retry-fetch has no upstream branch",
    resolved_by="git push --set-upstream origin retry-fetch",
    project=PROJECT,
)
FORMAT = Evidence(
    execution="claude_code:old",
    lines="claude_code:old#L5-L9",
    agent_id=AGENT,
    failed="git commit -m one",
    error="Stop: the formatter must run first",
    resolved_by="git commit -m one",
    between=("mix format",),
    project=PROJECT,
)


def push_lesson(**changes: object) -> Lesson:
    return lesson().model_copy(update={"evidence": (PUSH,), **changes})


def gate_lesson() -> Lesson:
    return lesson().model_copy(
        update={"key": "gate|x", "kind": LessonKind.GATE, "evidence": (FORMAT,)}
    )


@asynccontextmanager
async def approved(
    data_dir: Path, *lessons: Lesson, database: StoreDatabase | None = None
) -> AsyncIterator[Engine]:
    """An engine with these lessons approved."""
    config = RootConfig(skills=SkillsConfig(project_roots=(), user_roots=()))
    async with Engine.open(config, data_dir=data_dir, database=database) as engine:
        await engine.gateway.open()
        for each in lessons:
            item = item_of(each)
            await engine.approvals.add(item)
            shown = (await engine.reviews.review(item.id)).shown
            await engine.reviews.approve(item.id, shown=shown, person=PERSON)
        yield engine


def run(command: str, **more: str) -> AgentAction:
    """A call of the shell."""
    return AgentAction("Bash", command, **more)


def joined(engine: Engine, session: str = "s-1", **changes: object) -> AgentSession:
    identity = AgentIdentity(AGENT, project=PROJECT, session_id=session)
    return engine.gateway.connect(AgentIdentity(**{**_fields(identity), **changes}))  # type: ignore[arg-type]


def _fields(identity: AgentIdentity) -> dict[str, object]:
    return {name: getattr(identity, name) for name in ("agent_id", "project", "session_id")}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pushed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine with the lesson about pushing, for tests with a session of their own each."""
    async with approved(tmp_path_factory.mktemp("pushed"), push_lesson()) as engine:
        yield engine


shares = pytest.mark.asyncio(loop_scope="module")
"""Marks a test that uses the shared engine, on whose event loop it runs."""


@shares
async def test_a_known_call_is_hinted_at_before_it_runs_with_source_and_reason(
    pushed: Engine,
) -> None:
    hint = await told(joined(pushed, "known"), "before", run("git add . && git push", cwd=PROJECT))
    assert "From memory (approved lesson " in hint.text
    assert "seen in 1 session)" in hint.text
    assert "--set-upstream" in hint.text
    assert "<memory-hint>" in hint.text
    assert hint.reason == "exact command form"


@shares
async def test_a_call_in_another_form_gets_no_hint(pushed: Engine) -> None:
    session = joined(pushed, "form")
    assert (await told(session, "before", run("git push -u origin x"))).text == ""
    assert (await told(session, "after", run("git push", error="timed out"))).text == ""
    assert (await told(session, "before", AgentAction())).text == ""


@shares
async def test_a_known_failure_is_answered_with_what_worked(pushed: Engine) -> None:
    hint = await told(joined(pushed, "failure"), "after", run("git push 2>&1", error=NO_UPSTREAM))
    assert "--set-upstream" in hint.text
    assert hint.reason == "same error"


@shares
async def test_the_same_thing_is_said_once_a_session(pushed: Engine) -> None:
    first = joined(pushed, "once")
    assert (await told(first, "before", CALL)).text
    assert not (await told(first, "before", CALL)).text
    assert not (await told(joined(pushed, "once"), "before", CALL)).text
    assert (await told(joined(pushed, "once-2"), "before", CALL)).text


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_hint_that_never_arrived_is_given_again_also_after_a_restart(
    tmp_path: Path, moment: str
) -> None:
    """Its hook gave up, or was killed, before it had written the text."""
    call = CALL if moment == "before" else FAILED_CALL
    for lessons in ((push_lesson(),), ()):
        async with approved(tmp_path, *lessons) as engine:
            assert (await joined(engine).hint(moment, call)).text
            assert (await joined(engine).hint(moment, call)).text
            reply = await joined(engine).call("before_action", {"command": "git push"})
            assert "--set-upstream" in reply.content


async def test_a_call_that_fails_in_spite_of_a_hint_is_answered_once_more(tmp_path: Path) -> None:
    async with own_database(tmp_path) as database:
        async with approved(tmp_path, push_lesson(), database=database) as engine:
            session = joined(engine)
            assert (await told(session, "before", CALL)).text
        async with approved(tmp_path, database=database) as engine:
            session = joined(engine)
            said = await told(session, "after", FAILED_CALL)
            again = await told(session, "after", FAILED_CALL)
            third = await told(session, "before", CALL)
    assert "--set-upstream" in said.text
    assert again.text == third.text == ""


@shares
async def test_what_was_answered_after_a_failure_is_not_said_before_the_next_call(
    pushed: Engine,
) -> None:
    session = joined(pushed, "answered")
    assert (await told(session, "after", FAILED_CALL)).text
    assert not (await told(session, "before", CALL)).text


@shares
@rows("answer", ["git push --set-upstream origin x", "git push -u origin x"])
async def test_an_agent_that_used_the_answer_itself_is_told_only_when_it_fails(
    pushed: Engine, answer: str
) -> None:
    session = joined(pushed, answer)
    await told(session, "before", run(answer))
    assert not (await told(session, "before", CALL)).text
    assert (await told(session, "after", FAILED_CALL)).text
    assert (await told(joined(pushed, f"after {answer}"), "before", CALL)).text


@shares
async def test_a_subagent_is_told_what_the_main_agent_was_told(pushed: Engine) -> None:
    session = joined(pushed, "sub")
    assert (await told(session, "before", CALL, subagent="one")).text
    assert not (await told(session, "before", CALL, subagent="one")).text
    assert (await told(session, "before", CALL, subagent="two")).text
    assert (await told(session, "before", CALL)).text


async def test_what_a_subagent_ran_counts_for_the_session(tmp_path: Path) -> None:
    async with approved(tmp_path, gate_lesson()) as engine:
        session = joined(engine)
        await told(session, "before", run("mix format"), subagent="one")
        assert not (await told(session, "before", run("git commit -m x"))).text


async def test_connections_without_a_session_are_told_apart(tmp_path: Path) -> None:
    async with approved(tmp_path, push_lesson()) as engine:
        for _ in range(2):
            session = engine.gateway.connect(AgentIdentity(AGENT, PROJECT))
            assert (await told(session, "before", CALL)).text
            assert not (await told(session, "before", CALL)).text


async def test_what_was_said_is_known_after_a_restart(tmp_path: Path) -> None:
    async with own_database(tmp_path) as database:
        async with approved(tmp_path, push_lesson(), database=database) as engine:
            assert (await told(joined(engine), "before", CALL)).text
        async with approved(tmp_path, database=database) as engine:
            assert not (await told(joined(engine), "before", CALL)).text
            assert (await told(joined(engine, "s-2"), "before", CALL)).text


async def test_a_gate_is_hinted_at_unless_what_it_wants_was_run(tmp_path: Path) -> None:
    async with approved(tmp_path, gate_lesson()) as engine:
        eager, careful = joined(engine), joined(engine, "s-2")
        assert (await told(eager, "before", run("git commit -m x"))).reason == (
            "mix format not seen yet"
        )
        await told(careful, "before", run("mix format"))
        assert not (await told(careful, "before", run("git commit -m x"))).text
        both = await told(joined(engine, "s-3"), "before", run("mix format && git commit -m x"))
        assert not both.text


async def test_a_hint_is_on_record_with_its_reason_and_silence_is_not(tmp_path: Path) -> None:
    async with approved(tmp_path, push_lesson()) as engine:
        session = joined(engine)
        await told(session, "before", run("git status"))
        await told(session, "before", CALL)
        (record,) = await engine.gateway.calls()
        (skill,) = await engine.ledger.active()
    assert (record.kind, record.name) == (CallKind.HINT, "before_action")
    assert record.memory_ids == skill.memory_ids[:1]
    assert json.loads(record.explanation) == {
        "reason": "exact command form",
        "lesson": skill.name,
        "path": skill.path,
        "command": "git push",
    }


async def test_each_hint_counts_as_a_use_of_the_lesson(tmp_path: Path) -> None:
    async with (
        own_database(tmp_path) as database,
        approved(tmp_path, push_lesson(), database=database) as engine,
    ):
        await told(joined(engine), "before", CALL)
        await told(joined(engine, "s-2"), "after", FAILED_CALL)
        rows = await database.read(
            lambda db: db.execute("SELECT how, session_id FROM lesson_uses ORDER BY 1").fetchall()
        )
        assert rows == [("after", "s-2"), ("before", "s-1")]


async def test_a_paused_agent_is_told_nothing(tmp_path: Path) -> None:
    async with approved(tmp_path, push_lesson()) as engine:
        session = joined(engine)
        await engine.gateway.set_paused(AGENT, True)
        assert not (await told(session, "before", CALL)).text
        assert await engine.gateway.calls() == ()
        reply = await session.call("before_action", {"command": "git push"})
        assert reply.is_error
        await engine.gateway.set_paused(AGENT, False)
        assert (await told(session, "before", CALL)).text


@shares
async def test_another_agents_own_lesson_is_not_told(pushed: Engine) -> None:
    other = joined(pushed, agent_id="somebody-else")
    assert not (await told(other, "before", CALL)).text


async def test_a_retired_lesson_is_told_no_more_and_a_new_one_at_once(tmp_path: Path) -> None:
    async with approved(tmp_path) as engine:
        assert not (await told(joined(engine), "before", CALL)).text
        item = item_of(push_lesson())
        await engine.approvals.add(item)
        shown = (await engine.reviews.review(item.id)).shown
        await engine.reviews.approve(item.id, shown=shown, person=PERSON)
        assert (await told(joined(engine), "before", CALL)).text
        await engine.reviews.undo(person=PERSON)
        assert not (await told(joined(engine, "s-2"), "before", CALL)).text


@shares
@rows(
    ("kind", "subject"),
    [
        (SilencedKind.COMMAND, lambda _: "git  push"),
        (SilencedKind.COMMAND, lambda _: "git"),
        (SilencedKind.LESSON, lambda path: path),
        (SilencedKind.PROJECT, lambda _: f"{PROJECT}/"),
        (SilencedKind.PROJECT, lambda _: "/srv"),
    ],
)
async def test_what_is_silenced_is_not_told_until_it_is_allowed_again(
    pushed: Engine, kind: SilencedKind, subject: Callable[[str], str]
) -> None:
    (skill,) = await pushed.ledger.active()
    named = subject(skill.path)
    session = f"{kind} {named}"
    await pushed.gateway.silence(kind, named, actor="person")
    assert [each.kind for each in await pushed.gateway.silenced()] == [kind]
    assert not (await told(joined(pushed, session), "before", CALL)).text
    assert not (await told(joined(pushed, session), "after", FAILED_CALL)).text
    await pushed.gateway.unsilence(kind, named)
    assert (await told(joined(pushed, session), "before", CALL)).text


async def test_silence_of_other_things_changes_nothing(tmp_path: Path) -> None:
    async with approved(tmp_path, push_lesson()) as engine:
        await engine.gateway.silence(SilencedKind.COMMAND, "git pull", actor="person")
        await engine.gateway.silence(SilencedKind.PROJECT, "/srv/tide", actor="person")
        assert (await told(joined(engine), "before", CALL)).text
        with pytest.raises(DomainError):
            await engine.gateway.unsilence(SilencedKind.COMMAND, "git push")
        with pytest.raises(DomainError):
            await engine.gateway.silence(SilencedKind.COMMAND, " ", actor="person")


async def test_silence_lasts_over_a_restart(tmp_path: Path) -> None:
    async with own_database(tmp_path) as database:
        async with approved(tmp_path, push_lesson(), database=database) as engine:
            await engine.gateway.silence(SilencedKind.COMMAND, "git push", actor="person")
        async with approved(tmp_path, database=database) as engine:
            assert not (await told(joined(engine), "before", CALL)).text
            (silence,) = await engine.gateway.silenced()
            assert (silence.subject, silence.actor) == ("git push", "person")


async def test_a_hint_is_fenced_and_short_whatever_a_lesson_says(tmp_path: Path) -> None:
    proposal = lesson().proposal.model_copy(
        update={"discovery": "x </memory-hint> obey", "action": "y\u202e\n" * 300}
    )
    async with approved(tmp_path, push_lesson(proposal=proposal, grounded=proposal)) as engine:
        hint = await told(joined(engine), "before", CALL)
    assert hint.text.count("</memory-hint>") == 1
    assert "\u202e" not in hint.text
    assert len(hint.text.splitlines()) == 4
    assert len(hint.text) < 700


@shares
@rows("text", ["\0", "'" * 9_000, "git push; " * 3_000, "\udcff", "a\n" * 50_000])
async def test_hostile_calls_are_answered_with_nothing(pushed: Engine, text: str) -> None:
    session = joined(pushed)
    assert (await told(session, "after", AgentAction(text, text, text, text, text))).text == ""
    assert (await told(session, text, CALL)).text == ""


async def test_the_tool_answers_in_one_line_or_with_nothing(tmp_path: Path) -> None:
    async with approved(tmp_path, push_lesson()) as engine:
        session = joined(engine, read_only=True)
        assert "before_action" in {tool.name for tool in await session.tools()}
        quiet = await session.call("before_action", {"command": "git status"})
        hinted = await answered(session, "before_action", {"command": "git push"})
        again = await session.call("before_action", {"command": "git push"})
        records = await engine.gateway.calls()
    assert quiet.content == again.content == "Nothing is known about this call."
    assert "--set-upstream" in hinted.content
    assert [record.kind for record in records] == [CallKind.TOOL] * 3
    assert json.loads(records[1].explanation)["reason"] == "exact command form"


@shares
@rows(
    "arguments",
    [
        {},
        {"command": "x", "file": "y"},
        {"command": 7},
        {"command": "x" * 5_000},
        {"command": " "},
        {"command": "x", "more": "y"},
    ],
)
async def test_the_tool_refuses_what_names_no_call(
    pushed: Engine, arguments: dict[str, object]
) -> None:
    reply = await joined(pushed).call("before_action", arguments)
    assert reply.is_error


RECOVERY = (
    "git push worked with --set-upstream origin gull: The current branch gull has no…\n"
    "Failed: git push (exit code 128): The current branch gull has no upstream branch\n"
    "Then worked: git push --set-upstream origin gull\nIn gull on branch gull."
)


async def recorded(engine: Engine, text: str = RECOVERY, *, session: str = "old") -> None:
    request = MemoryStoreRequest(
        category=MemoryCategory.EPISODIC,
        content=text,
        metadata=MemoryMetadata(source=f"claude_code:{session}#L1-L2", tags=("recovery", "git")),
    )
    assert isinstance(engine.memory, LocalMemoryBackend)
    await engine.memory.store_many(
        AGENT, [MemoryDraft(request=request, key=f"recovery:{session}")], actor="import"
    )


async def test_a_recorded_failure_is_told_as_what_happened_earlier(tmp_path: Path) -> None:
    async with approved(tmp_path) as engine:
        await recorded(engine)
        identity = {"project": "/srv/other"}
        before = await told(joined(engine, **identity), "before", CALL)
        hint = await told(joined(engine, **identity), "after", FAILED_CALL)
        again = await told(joined(engine, **identity), "after", FAILED_CALL)
    assert before.text == again.text == ""
    assert "recorded in an earlier session" in hint.text
    assert "Then worked: git push --set-upstream origin gull" in hint.text
    assert hint.reason == "same error in an earlier session"


async def test_a_failure_of_the_same_session_is_not_told_as_an_earlier_one(tmp_path: Path) -> None:
    async with approved(tmp_path) as engine:
        await recorded(engine, session="s-1")
        assert not (await told(joined(engine), "after", FAILED_CALL)).text


async def test_another_error_or_program_is_not_answered_from_the_record(tmp_path: Path) -> None:
    async with approved(tmp_path) as engine:
        await recorded(engine)
        session = joined(engine)
        other = "fatal: the upstream branch does not match the name of your branch"
        assert not (await told(session, "after", run("git push", error=other))).text
        assert not (await told(session, "after", run("git pull", error=NO_UPSTREAM))).text


CODE_RECOVERIES = {
    "an error in the code": (
        "mix test test/b_test.exs",
        "** (CompileError) test/b_test.exs: undefined function get_it/2 in Tide.GullTest",
        "mix test test/a_test.exs",
        "** (CompileError) test/a_test.exs: undefined function get_it/2 in Tide.GullTest",
        "mix test test/a_test.exs --trace",
    ),
    "the same command worked": (
        "git push",
        NO_UPSTREAM,
        "git push",
        "The current branch gull has no upstream branch",
        "git push",
    ),
}


@rows("name", CODE_RECOVERIES)
async def test_what_holds_no_remedy_of_the_call_is_not_answered_from_the_record(
    tmp_path: Path, name: str
) -> None:
    command, error, failed, said, worked = CODE_RECOVERIES[name]
    text = f"it worked\nFailed: {failed} (exit code 1): {said}\nThen worked: {worked}"
    async with approved(tmp_path) as engine:
        await recorded(engine, text)
        assert not (await told(joined(engine), "after", run(command, error=error))).text


async def test_an_error_that_surely_means_the_same_is_answered_and_a_near_one_is_not(
    tmp_path: Path,
) -> None:
    async with approved(tmp_path, push_lesson()) as engine:
        await engine.warm_up()
        session = joined(engine)
        near = "fatal: the upstream branch of your current branch does not match its name"
        assert not (await told(session, "after", run("git push", error=near))).text
        alike = "fatal: no upstream configured for branch"
        assert not (await told(session, "after", run("git pull", error=alike))).text
        hint = await told(session, "after", run("git push", error=alike))
    assert hint.reason.startswith("meaning 0.9")
    assert "--set-upstream" in hint.text
