"""Which recorded prompts a skill is tried with, and which cases its evidence gives."""

from collections.abc import Collection

from synthorg_tui.curation.models import Evidence, LessonKind
from synthorg_tui.evaluation.cases import cases_of
from synthorg_tui.evaluation.models import SkillUnderTest
from synthorg_tui.evaluation.prompts import EACH_WAY, RecordedSession, prompts_for
from synthorg_tui.executions.models import Execution, Turn
from tests.evaluation.eval_kit import seen, skill
from tests.learning.lesson_kit import Run

NO_UPSTREAM = "fatal: The current branch retry-fetch has no upstream branch."
TERMS = frozenset({"push", "branch"})


def coverage(terms: Collection[str], text: str) -> float:
    return len({*terms} & {*text.lower().split()}) / len(terms)


def session(run: Run, *turns: tuple[str, int, str]) -> RecordedSession:
    return RecordedSession(recorded(run, *turns))


def recorded(run: Run, *turns: tuple[str, int, str]) -> Execution:
    made = tuple(
        Turn(role=role, text=text, first_line=line, last_line=line) for role, line, text in turns
    )
    return run.done().model_copy(update={"turns": made, "line_count": 99})


def pushed(name: str = "s1") -> Run:
    return (
        Run(name)
        .bash("git push 2>&1", NO_UPSTREAM, code=128)
        .bash("git push --set-upstream origin retry-fetch 2>&1")
    )


def chosen(*sessions: RecordedSession, of: SkillUnderTest | None = None) -> tuple[list[str], ...]:
    found = prompts_for(of or skill(), sessions, coverage, TERMS)
    return [each.text for each in found.wanted], [each.text for each in found.misses]


def test_wanted_are_the_request_and_the_agents_words_before_the_failure() -> None:
    wanted, misses = chosen(
        session(
            pushed(),
            ("user", 1, "Ship the tide fetcher"),
            ("assistant", 2, "All tests are green, the branch goes out now"),
            ("user", 50, "Write the release notes"),
        )
    )
    assert wanted == ["Ship the tide fetcher", "All tests are green, the branch goes out now"]
    assert misses == []


def test_sessions_that_run_the_same_command_count_as_similar_ones() -> None:
    other = session(Run("s9").bash("git push origin main"), ("user", 1, "Send the main branch"))
    assert chosen(other) == (["Send the main branch"], [])


def test_near_misses_are_close_in_words_and_come_from_sessions_without_it() -> None:
    other = session(
        Run("s2").bash("make test"),
        ("user", 1, "Count the seals"),
        ("user", 2, "Push the branch of the apple tree aside"),
    )
    _, misses = chosen(session(pushed(), ("user", 1, "Ship the tide fetcher")), other)
    assert misses == ["Push the branch of the apple tree aside", "Count the seals"]


def test_a_text_that_is_wanted_somewhere_is_no_near_miss() -> None:
    text = ("user", 1, "Ship the tide fetcher")
    other = session(Run("s2").bash("make test"), text)
    assert chosen(session(pushed(), text), other) == (["Ship the tide fetcher"], [])


def test_it_is_counted_before_how_many_failing_calls_a_hint_would_have_come() -> None:
    other = Run("s2").bash("git push origin", NO_UPSTREAM, code=128)
    found = prompts_for(skill(), [session(pushed()), session(other)], coverage, TERMS)
    assert (found.failures, found.warned) == (2, 1)


def test_chatter_is_no_prompt() -> None:
    assert chosen(session(pushed(), ("user", 1, "ok, continue")))[0] == []


def test_at_most_ten_each_way_are_tried() -> None:
    texts = [("user", line, f"Look at the seals of bay {line}") for line in range(1, 40)]
    many = session(Run("s2").bash("make test"), *texts)
    runs = [
        session(pushed(f"p{at}"), ("user", 1, f"Ship the fetcher of bay {at}")) for at in range(30)
    ]
    wanted, misses = chosen(*runs, many)
    assert (len(wanted), len(misses)) == (EACH_WAY, EACH_WAY)


def test_a_case_has_the_request_the_place_and_what_a_script_can_see() -> None:
    execution = recorded(
        pushed(), ("user", 1, "Ship the tide fetcher"), ("assistant", 2, "Now I push it")
    )
    (case,) = cases_of(skill(), {execution.id: execution})
    assert case.prompt.startswith("Ship the tide fetcher\n")
    assert case.prompt.endswith("Now I push it")
    assert (case.project, case.ref, case.name) == (
        "/srv/tidepool",
        "retry-fetch",
        "push-new-branch-1",
    )
    assert case.assertions == (
        "The form `git push` isn't tried first.",
        "The error `the current branch <> has no upstream branch` isn't seen.",
        "The command `git push --set-upstream origin retry-fetch` exits 0.",
    )
    assert case.is_decidable


def test_a_gates_case_wants_the_preparation_first() -> None:
    gate = Evidence(
        execution="claude_code:s1",
        lines="claude_code:s1#L2-L9",
        agent_id="claude-code",
        failed="git commit -m x",
        error="[FORMAT] Code is not formatted — Run 'mix format' to fix.",
        resolved_by="git commit -m x",
        between=("mix format",),
    )
    execution = recorded(pushed(), ("user", 1, "Commit the fetcher"))
    (case,) = cases_of(skill(kind=LessonKind.GATE, evidence=(gate,)), {execution.id: execution})
    assert "`mix format` runs before `git commit`." in case.assertions
    assert not any("isn't tried first" in text for text in case.assertions)


def test_evidence_that_is_gone_or_shows_no_command_gives_no_case() -> None:
    execution = recorded(pushed(), ("user", 1, "Ship the tide fetcher"))
    assert cases_of(skill(), {}) == ()
    said = seen().model_copy(update={"failed": "", "resolved_by": "", "error": ""})
    asked = skill(kind=LessonKind.CORRECTION, evidence=(said,))
    assert cases_of(asked, {execution.id: execution}) == ()
