"""What a person told the agent to do differently becomes a lesson in the person's own words."""

import json
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.approvals.models import RiskLevel
from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.text import has_hidden
from synthorg_tui.curation.inbox import risk_of
from synthorg_tui.curation.models import Lesson, LessonKind
from synthorg_tui.executions.models import Execution, Turn
from synthorg_tui.learning.corrections import CorrectionCaptureStrategy, one_key_each
from tests.learning.lesson_kit import START, Run
from tests.tables import rows

REFUSED = "The user doesn't want to proceed with this tool use. the user said:\n{}"


def talk(*acts: str, session: str = "s1", days: int = 0) -> Execution:
    """A run in which a person and an agent take turns: ``$`` runs, ``+`` edits, ``<`` answers."""
    run = Run(session)
    silent: set[str] = set()
    turns = [Turn(role="user", text="Make the ledger faster", first_line=1, last_line=1)]
    for act in acts:
        line = 2 * len(run.calls) + 2
        if act.startswith("$ "):
            run.bash(act[2:], "done")
        elif act.startswith("+ "):
            run.edit(act[2:])
        else:
            role = "assistant" if act.startswith("< ") else "user"
            at = START + timedelta(days=days, minutes=line)
            text = act.removeprefix("< ")
            turns.append(Turn(role=role, text=text, first_line=line, last_line=line, at=at))
            silent.add(run.look().calls[-1].id)
    calls = tuple(call for call in run.calls if call.id not in silent)
    return run.done().model_copy(update={"turns": tuple(turns), "calls": calls})


def learned(execution: Execution) -> list[Lesson]:
    return list(CorrectionCaptureStrategy().capture(execution))


def test_a_rule_is_kept_in_the_persons_own_words_with_what_it_was_about() -> None:
    said = "i would only want integration tests for Ledger, the rest is noise."
    (lesson,) = learned(talk("+ tests/unit_test.py", said))

    assert lesson.kind is LessonKind.CORRECTION
    assert lesson.proposal.discovery == "Only integration tests for Ledger"
    assert lesson.proposal.name == "only-integration-tests-for-ledger"
    assert said.rstrip(".") in lesson.proposal.action
    assert lesson.proposal.condition.startswith("changing files in tidepool, such as")
    assert "2026-03-01" in lesson.proposal.rationale
    (evidence,) = lesson.evidence
    assert evidence.failed == "edit tests/unit_test.py"
    assert evidence.error == said
    assert evidence.between == ("tests/unit_test.py",)
    assert evidence.lines == "claude_code:s1#L2-L4"


@rows(
    ("acts", "act"),
    [
        (("$ npm run build", "always use pnpm here"), "npm run build"),
        (("< I would add a cache.", "never add caches to readers"), "I would add a cache."),
    ],
)
def test_a_correction_names_the_act_before_it(acts: tuple[str, ...], act: str) -> None:
    (lesson,) = learned(talk(*acts))

    assert lesson.evidence[0].failed == act


@rows(
    ("said", "proposed"),
    [
        ("always run the tests before you commit", True),
        ("don't mock databases in tests", True),
        ("don't touch the exports of src/config.ts", False),
        ("I actually want to move those files to another place", False),
    ],
)
def test_what_was_said_once_of_one_file_is_not_certain_enough(said: str, proposed: bool) -> None:
    (lesson,) = learned(talk("+ src/a.py", said))

    assert (lesson.proposal.confidence >= 0.5) is proposed


def test_a_wish_said_twice_in_a_session_is_one_lesson_and_more_certain() -> None:
    once = "you haven't read src/a.py in full"
    (lesson,) = learned(talk("+ src/a.py", once, "+ src/b.py", "you didn't read src/b.py in full"))

    assert lesson.proposal.discovery == "Read files in full"
    assert len(lesson.evidence) == 2
    assert lesson.proposal.confidence > learned(talk("+ src/a.py", once))[0].proposal.confidence


def test_the_first_turn_is_a_task_and_corrects_nothing() -> None:
    execution = talk("+ src/a.py")
    task = Turn(role="user", text="Always use tabs in makefiles", first_line=1, last_line=1)

    assert learned(execution.model_copy(update={"turns": (task,)})) == []


def test_before_the_agent_did_anything_nothing_can_be_corrected() -> None:
    turns = tuple(
        Turn(role="user", text=text, first_line=line, last_line=line)
        for line, text in enumerate(["Fix it", "always use tabs in makefiles"], 1)
    )

    assert learned(Run().done().model_copy(update={"turns": turns})) == []


@rows("role", ["assistant", "parent", "tool"])
def test_only_a_person_corrects(role: str) -> None:
    turn = Turn(role=role, text="always use tabs in makefiles", first_line=9, last_line=9)
    execution = talk("+ src/a.py", "ok")

    assert learned(execution.model_copy(update={"turns": (*execution.turns, turn)})) == []


@rows("changes", [{"reported": True}, {"parent_id": "claude_code:s0"}])
def test_what_was_only_reported_or_said_to_a_subagent_corrects_nothing(
    changes: dict[str, object],
) -> None:
    said = talk("+ src/a.py", "always use tabs in makefiles")

    assert learned(said.model_copy(update=changes)) == []


def test_a_refused_call_teaches_the_reason_it_was_refused_for() -> None:
    run = Run().bash(
        "npm install left-pad",
        REFUSED.format("use pnpm, npm breaks workspaces"),
        outcome=CallOutcome.DENIED_BY_USER,
    )
    (lesson,) = learned(run.done())

    assert lesson.evidence[0].failed == "npm install left-pad"
    assert lesson.evidence[0].error == "use pnpm, npm breaks workspaces"
    assert lesson.proposal.confidence >= 0.5


@rows(
    ("said", "lessons"),
    [
        ("here's one to try\n{'rows': 3}", 0),
        ("another table, for comparison", 0),
        ("use the copy of the table instead", 1),
        ("don't drop tables, rename them", 1),
    ],
)
def test_what_is_said_after_a_refused_call_has_to_be_an_instruction(
    said: str, lessons: int
) -> None:
    run = Run().bash("psql -f drop.sql", outcome=CallOutcome.DENIED_BY_USER).done()
    turn = Turn(role="user", text=said, first_line=9, last_line=9)

    assert len(learned(run.model_copy(update={"turns": (*run.turns, turn)}))) == lessons


def test_copies_of_a_turn_in_a_resumed_session_are_not_said_again() -> None:
    said = "don't mock databases in tests"
    (once,) = learned(talk("+ src/a.py", said))
    (lesson,) = learned(talk("+ src/a.py", said, "+ src/b.py", said, "+ src/b.py", said))

    assert lesson.proposal.confidence == once.proposal.confidence
    assert len(lesson.evidence) == 1


@rows(
    ("said", "name", "when"),
    [
        (
            "why do you go 50 rows at a time, idiot",
            "50-rows-at-a-time",
            "changing files in tidepool, such as `a.py`.",
        ),
        (
            "you haven't read docs/tides.md in full",
            "read-tides-md-in-full",
            "reading files in tidepool, such as `tides.md`.",
        ),
        (
            "always run the tests before you commit",
            "always-run-tests-before-commit",
            "you are about to commit in tidepool.",
        ),
        (
            "use pnpm instead of npm",
            "use-pnpm-instead-of-npm",
            "you are about to use npm in tidepool.",
        ),
        (
            "never mock the database in tests",
            "never-mock-database-in-tests",
            "you are about to mock the database in tests, in tidepool.",
        ),
        (
            "you forgot to update the changelog",
            "update-the-changelog",
            "you are about to say that work in tidepool is done.",
        ),
        (
            "always ask me when we add a dependency",
            "always-ask-when-add-dependency",
            "you add a dependency in tidepool.",
        ),
        (
            "stop using default exports",
            "stop-using-default-exports",
            "using default exports in tidepool.",
        ),
        (
            "Hör auf, Tests zu löschen und zu umgehen",
            "hor-auf-tests-zu-loschen",
            "changing files in tidepool, such as `a.py`.",
        ),
        (
            "From now on write commit messages in German.",
            "write-commit-messages-in-german",
            "you are about to write commit messages in German, in tidepool.",
        ),
    ],
)
def test_a_wish_is_named_and_found_by_its_situation(said: str, name: str, when: str) -> None:
    (lesson,) = learned(talk("+ src/a.py", said))

    assert lesson.proposal.name == name
    assert lesson.proposal.condition == when


@rows(
    ("act", "told"),
    [
        ("+ src/a.py", "after the agent had changed `a.py`."),
        ("$ npm run build", "after the agent had run `npm run build`."),
        (
            f"$ cd web && npm run build -- {'--long-option ' * 9}",
            "after the agent had run `npm run`.",
        ),
        (
            "< # Plan\n\nDone. I would **add** a `cache` here: it is quick.\n\n- one",
            "after the agent had answered “I would add a cache here: it is quick”.",
        ),
    ],
)
def test_what_the_agent_had_done_is_one_clean_clause(act: str, told: str) -> None:
    (lesson,) = learned(talk(act, "never add caches to readers"))

    assert lesson.proposal.rationale == (
        f"A person said so on 2026-03-01, {told} It holds in tidepool."
    )


def test_wishes_in_another_script_have_names_of_their_own() -> None:
    said = ("Всегда запускай линтер перед коммитом.", "Никогда не пушь напрямую в ветку релиза.")
    names = [learned(talk("+ src/a.py", each))[0].proposal.name for each in said]

    assert len(set(names)) == 2
    assert all(name.startswith("a-person-said-") for name in names)


def test_a_refusal_without_a_reason_teaches_nothing() -> None:
    run = Run().bash("npm install x", "The user doesn't want", outcome=CallOutcome.DENIED_BY_USER)

    assert learned(run.done()) == []


def test_asking_for_what_was_left_out_is_a_wish_when_the_agent_then_does_it() -> None:
    (lesson,) = learned(talk("+ src/a.py", "did you push?", "$ git push origin main"))

    assert lesson.proposal.discovery == "Push before saying that it is done"
    assert "`git push`" in lesson.proposal.action
    assert "did you push?" in lesson.proposal.action
    assert lesson.proposal.name == "push-before-saying-done"
    assert lesson.proposal.condition == "you are about to say that work is done."
    assert (
        lesson.proposal.check == "`git status` says that the branch is up to date with its remote."
    )


@rows("after", [(), ("$ git status",), ("+ src/b.py", "$ git push"), ("ok", "$ git push")])
def test_asking_for_what_was_done_already_teaches_nothing(after: tuple[str, ...]) -> None:
    assert learned(talk("+ src/a.py", "did you push?", *after)) == []


def test_a_push_that_had_nothing_to_push_was_not_forgotten() -> None:
    run = Run().edit("src/a.py").look().bash("git push", "Everything up-to-date").done()
    turn = Turn(role="user", text="did you push?", first_line=4, last_line=4)

    assert learned(run.model_copy(update={"turns": (*run.turns, turn)})) == []


def test_work_undone_at_once_is_kept_but_not_proposed() -> None:
    said = "can you revert that? the parser module stays as a single file"
    (lesson,) = learned(talk("+ src/parser.py", said, "$ git checkout -- ."))

    assert lesson.evidence[0].resolved_by == "git checkout -- ."
    assert lesson.proposal.confidence < 0.5


def test_the_key_is_the_same_however_it_is_put() -> None:
    said = [
        "always use pnpm instead of npm",
        "Please use pnpm, not npm!",
        "use pnpm instead of npm",
    ]
    runs = [talk("$ npm i", text, session=f"s{day}", days=day) for day, text in enumerate(said)]
    captured = [one for run in runs for one in CorrectionCaptureStrategy().capture(run)]

    keys = {one.key for one in one_key_each(captured)}

    assert keys == {captured[0].key}


@rows(
    ("one", "other"),
    [
        ("always use tabs in makefiles", "never use tabs in makefiles"),
        ("always use tabs in makefiles", "always squash commits before merging"),
    ],
)
def test_opposite_and_other_wishes_stay_apart(one: str, other: str) -> None:
    runs = [talk("+ a.py", one, session="s1"), talk("+ a.py", other, session="s2", days=1)]
    captured = [each for run in runs for each in CorrectionCaptureStrategy().capture(run)]

    assert len({each.key for each in one_key_each(captured)}) == 2


def test_secrets_are_not_quoted() -> None:
    token = "ghp_" + "a1B2" * 9
    (lesson,) = learned(
        talk("$ git push", f"never push to addresses that have {token} written into them somewhere")
    )

    assert token not in lesson.model_dump_json()


@given(st.lists(st.text(max_size=300), max_size=4))
def test_any_conversation_gives_lessons_within_their_limits(texts: list[str]) -> None:
    turns = [
        text for said in texts for text in (f"+ {said or 'a'}", f"never use {said} again", said)
    ]
    for lesson in learned(talk(*turns)):
        stored = json.dumps(lesson.model_dump(mode="json"), ensure_ascii=False)
        assert not has_hidden(stored)
        assert len(lesson.proposal.discovery) <= 70
        assert len(lesson.proposal.action) < 1_500
        assert all(len(seen.error) <= 300 for seen in lesson.evidence)


@rows(
    ("said", "risk"),
    [
        ("always push with --force to release branches", RiskLevel.HIGH),
        ("always push tags to release branches", RiskLevel.LOW),
    ],
)
def test_a_rule_that_overrides_a_safeguard_is_risky(said: str, risk: RiskLevel) -> None:
    (lesson,) = learned(talk("$ git push", said))

    assert risk_of(lesson) is risk


@rows(
    ("said", "holds"),
    [
        ("always use tabs in makefiles", "It holds in tidepool."),
        ("always use tabs in makefiles, in all my projects", "It holds everywhere."),
    ],
)
def test_a_rule_names_where_it_holds(said: str, holds: str) -> None:
    (lesson,) = learned(talk("+ Makefile", said))

    assert lesson.proposal.rationale.endswith(holds)


def test_a_refusal_with_its_reason_is_a_rule_at_once() -> None:
    reason = "keep emails out of storage, because they are personal data"
    run = Run().bash("npm run seed", REFUSED.format(reason), outcome=CallOutcome.DENIED_BY_USER)
    (lesson,) = learned(run.done())

    assert lesson.proposal.confidence == 0.6
