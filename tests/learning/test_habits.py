"""The commands of a project become one lesson, with how often they went well."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.core.projects import repository_of
from synthorg_tui.core.text import has_hidden
from synthorg_tui.curation.models import Lesson, LessonKind
from synthorg_tui.executions.models import Execution
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.habits import SETTLED, HabitCaptureStrategy, without_covered
from synthorg_tui.learning.project_commands import command_uses
from synthorg_tui.learning.recipes import find_recipe, recipe_lesson
from tests.learning.lesson_kit import PROJECT, START, Run
from tests.tables import rows

BROKEN = "2 tests failed"


def ran(*commands: str, session: str = "s1", project: str = PROJECT) -> Execution:
    """A run of commands; one that ends with ``!`` fails."""
    run = Run(session, project=project)
    for command in commands:
        run.bash(command.rstrip("!"), "ok", code=1 if command.endswith("!") else None)
    return run.done()


def habit(*commands: str, session: str = "s1", project: str = PROJECT) -> Lesson:
    (lesson,) = HabitCaptureStrategy().capture(ran(*commands, session=session, project=project))
    return lesson


def counts(lesson: Lesson) -> dict[str, tuple[int, int]]:
    return {seen.resolved_by: (seen.passed, seen.ran) for seen in lesson.evidence}


def test_a_command_is_counted_with_the_runs_that_went_well() -> None:
    lesson = habit("npm run check", "npm run check!", "npm run check", "npm run check")

    assert lesson.kind is LessonKind.HABIT
    assert lesson.proposal.discovery == "Check tidepool with `npm run check`"
    assert lesson.proposal.action == "Run `npm run check`."
    assert "3 of 4" in lesson.proposal.rationale
    assert lesson.proposal.name == "check-tidepool"
    assert lesson.evidence[0].lines == "claude_code:s1#L2-L9"


def test_runs_of_a_part_of_the_tests_are_another_command() -> None:
    long = f"pytest tests/{'a_folder_of_the_tests/' * 4}ledger_test.py"
    lesson = habit("pytest", f"{long}!", "pytest -q a_test.py", f"{long}!", "pytest b_test.py")

    assert counts(lesson) == {"pytest": (1, 1), "pytest <path>": (2, 4)}
    assert lesson.proposal.action == "Run `pytest`."
    assert lesson.proposal.rationale == "Runs that passed: `pytest` 1 of 1."


def test_a_project_is_tested_by_the_whole_of_its_tests_where_that_ran() -> None:
    lesson = habit(*["npx jest -t adds", "npx jest", "npm run lint"] * 3)

    assert lesson.proposal.discovery == "Check tidepool with `npx jest` and `npm run lint`"
    assert lesson.proposal.action == (
        "To test: `npx jest`. To test a part: `npx jest -t <name>`. To check: `npm run lint`."
    )


def test_the_whole_is_named_where_its_parts_passed_often() -> None:
    lesson = habit(*["npm test -- a.test.ts"] * 3, "npm test", "npx jest -t adds")

    assert lesson.proposal.action == (
        "To test: `npm test`. To test a part: `npm test -- <path>`. "
        "Here `<path>` is the file in question."
    )


@rows(
    ("file", "text", "command", "told"),
    [
        (
            "package.json",
            '{"name": "x", "scripts": {"everything": "vitest run && eslint ."}}',
            "npm run everything",
            "Test tidepool with `npm run everything`",
        ),
        (
            "composer.json",
            '{"scripts": {"whole-lot": "phpunit"}}',
            "composer whole-lot",
            "Test tidepool with `composer whole-lot`",
        ),
        (
            "mise.toml",
            '[tasks.everything]\ndescription = "All"\nrun = "go test ./..."\n',
            "mise run everything",
            "Test tidepool with `mise run everything`",
        ),
        (
            "Makefile",
            "CC := gcc\n\neverything: deps\n\t@pytest -q\n",
            "make everything",
            "Test tidepool with `make everything`",
        ),
        (
            "justfile",
            "everything arg='x':\n    cargo clippy\n",
            "just everything",
            "Check tidepool with `just everything`",
        ),
    ],
)
def test_a_script_is_for_what_its_file_says_that_it_runs(
    file: str, text: str, command: str, told: str
) -> None:
    numbered = "".join(f"{at:6}→{line}\n" for at, line in enumerate(text.splitlines(), 1))
    uses = command_uses(Run().file("Read", file, numbered).bash(command, "ok").done())
    assert [f"{use.role.capitalize()} tidepool with `{name}`" for name, use in uses.items()] == [
        told
    ]
    assert command_uses(Run().bash(command, "ok").done()) == {}


def test_of_a_part_alone_a_lesson_says_so() -> None:
    lesson = habit(*["pnpm --filter api test -- --testPathPattern=pay"] * 3)

    assert lesson.proposal.discovery.startswith("Test a part")
    assert "--testPathPattern=<name>" in lesson.proposal.action


def test_what_was_only_started_is_no_run() -> None:
    run = Run().bash("pytest", "ok").bash("pytest", "Command running in background with ID: b1")
    (captured,) = HabitCaptureStrategy().capture(run.done())

    assert counts(captured) == {"pytest": (1, 1)}


def on_day(day: int) -> Lesson:
    execution = ran("mix test", "mix test!", session=f"s{day:02}")
    calls = [
        call.model_copy(update={"at": START + timedelta(days=day)}) for call in execution.calls
    ]
    execution = execution.model_copy(update={"calls": tuple(calls)})
    return HabitCaptureStrategy().capture(execution)[0]


@rows(("sessions", "kept"), [(20, 20), (21, 20), (30, 20)])
def test_the_evidence_of_the_last_sessions_is_kept_and_counted(sessions: int, kept: int) -> None:
    known = on_day(0)
    for day in range(1, sessions):
        known = merged(known, on_day(day))

    last = [f"claude_code:s{day:02}" for day in range(sessions - kept, sessions)]
    assert [seen.execution for seen in known.evidence] == last
    assert f"`mix test` {kept} of {2 * kept}, in the last {kept} sessions" in (
        known.proposal.rationale
    )


def test_an_older_session_seen_again_adds_nothing_to_the_last_ones() -> None:
    known = on_day(0)
    for day in range(1, 25):
        known = merged(known, on_day(day))

    assert merged(known, on_day(2)) is known


def test_several_commands_are_named_by_what_they_are_for() -> None:
    lesson = habit(*["make build", "uv run pytest", "ruff check ."] * 3)

    assert lesson.proposal.action == (
        "To test: `uv run pytest`. To check: `ruff check .`. To build: `make build`."
    )
    assert lesson.proposal.condition == "a change in tidepool has to be tested, checked or built."
    assert lesson.proposal.discovery == "Check tidepool with `uv run pytest` and `ruff check .`"


@rows(("times", "settled"), [(2, False), (3, True)])
def test_in_one_session_three_good_runs_settle_it(times: int, settled: bool) -> None:
    (captured,) = HabitCaptureStrategy().capture(ran(*["mix test"] * times))

    assert (captured.proposal.confidence >= SETTLED) is settled


def test_two_sessions_settle_it() -> None:
    once, again = habit("mix test", session="s1"), habit("mix test", session="s2")

    assert once.proposal.confidence < 0.5 <= merged(once, again).proposal.confidence


def test_more_sessions_are_counted_together_and_make_it_more_certain() -> None:
    known = habit(*["mix test"] * 3, session="s1")
    together = merged(known, habit("mix test", "mix test!", session="s2"))

    assert "4 of 5, in 2 sessions" in together.proposal.rationale
    assert together.proposal.confidence > known.proposal.confidence
    assert together.recurrence == 2


def test_a_session_seen_again_replaces_what_was_known_of_it() -> None:
    known = habit(*["mix test"] * 3)
    grown = merged(known, habit(*["mix test"] * 5))

    assert counts(grown) == {"mix test": (5, 5)}
    assert merged(grown, habit(*["mix test"] * 5)) is grown


def test_words_that_a_person_wrote_stay_when_counts_rise() -> None:
    known = habit(*["mix test"] * 3)
    own = known.proposal.model_copy(update={"discovery": "Test it"})
    worded = known.model_copy(update={"proposal": own})

    assert merged(worded, habit("mix test", session="s2")).proposal.discovery == "Test it"


@rows(
    ("typed", "counted"),
    [
        (f"cd {PROJECT} && npm run check", "npm run check"),
        (f"cd {PROJECT}/web && npm test", "cd web && npm test"),
        ("npm run check 2>&1 | tail -20", "npm run check"),
        ("timeout 60 uv run pytest -q", "uv run pytest -q"),
        (f"{PROJECT}/.venv/bin/pytest tests/a.py", ".venv/bin/pytest <path>"),
        ("python -m pytest tests/a.py tests/b.py::test_x", "python -m pytest <path>"),
        ("MIX_ENV=test mix test", "MIX_ENV=test mix test"),
        ("go test ./...", "go test ./..."),
        ("mypy src", "mypy src"),
        ("./gradlew test", "./gradlew test"),
        ("docker build .", "docker build ."),
        ("cargo clippy -- -D warnings", "cargo clippy -- -D warnings"),
    ],
)
def test_a_command_is_shown_as_one_types_it_in_the_project(typed: str, counted: str) -> None:
    assert list(counts(habit(typed))) == [counted]


@rows(
    "command",
    [
        "ls -la",
        "git push",
        "npm install",
        "npm ci",
        "gofmt -l cmd",
        "pytest --collect-only",
        "cd /somewhere/else && npm test",
        "DATABASE_URL=postgres://u:p@host/db pytest",
        "cat Makefile",
        "echo make test",
        "npm run check!",
    ],
)
def test_what_examines_nothing_or_was_so_only_once_is_no_habit(command: str) -> None:
    assert HabitCaptureStrategy().capture(ran(*[command] * 4)) == ()


def test_what_a_pipe_hid_is_read_in_the_output() -> None:
    run = Run().bash("npm test | tail", "ok").bash("npm test | tail", BROKEN)
    (captured,) = HabitCaptureStrategy().capture(run.done())

    assert counts(captured) == {"npm test": (1, 2)}


def test_of_a_failed_chain_only_the_first_command_is_known_to_have_run() -> None:
    lesson = habit("ruff check . && pytest", "git pull && pytest!", "ruff check . && pytest!")

    assert counts(lesson) == {"ruff check .": (1, 1), "pytest": (1, 1)}


def test_a_reported_run_and_one_without_a_project_have_no_habits() -> None:
    run = ran(*["mix test"] * 4)

    for changes in ({"reported": True}, {"project": None}):
        assert HabitCaptureStrategy().capture(run.model_copy(update=changes)) == ()


@rows(
    ("project", "repository"),
    [
        ("/srv/tidepool", "/srv/tidepool"),
        ("/srv/tidepool-worktrees/tidepool-a1b", "/srv/tidepool"),
        ("/srv/tidepool.worktrees/fix-login", "/srv/tidepool"),
        ("/srv/tidepool/.worktrees/fix-login", "/srv/tidepool"),
        ("/srv/tidepool/.claude/worktrees/fix-login", "/srv/tidepool"),
        ("/srv/tidepool-web", "/srv/tidepool-web"),
        ("/srv/worktrees/tidepool", "/srv/worktrees/tidepool"),
        (r"C:\src\tidepool-worktrees\fix", "C:/src/tidepool"),
        ("/", "/"),
    ],
)
def test_worktrees_of_a_repository_are_one_project(project: str, repository: str) -> None:
    assert repository_of(project) == repository


def test_worktrees_share_their_lesson_and_other_projects_do_not() -> None:
    one = habit("mix test", project="/srv/tidepool-worktrees/a")
    same = habit("mix test", project="/srv/tidepool-worktrees/b")
    other = habit("mix test", project="/srv/tidepool-web")

    assert one.key == same.key != other.key


def recipe(*commands: str) -> Lesson:
    execution = ran(*commands)
    found = find_recipe(execution)
    assert found is not None
    return recipe_lesson(execution, found)


def test_a_recipe_gives_way_to_a_habit_that_names_its_checks() -> None:
    commands = ["ruff check .", "pytest"]
    habits = HabitCaptureStrategy().capture(ran(*commands * 3))

    assert without_covered([recipe(*commands), *habits]) == [*habits]
    assert len(without_covered([recipe(*commands, "cargo clippy"), *habits])) == 2


@given(st.lists(st.tuples(st.text(max_size=200), st.text(max_size=200)), max_size=5))
def test_any_commands_give_a_lesson_within_its_limits(calls: list[tuple[str, str]]) -> None:
    run = Run(project=f"/srv/{calls[0][0] if calls else 'a'}")
    for command, output in calls:
        run.bash(f"pytest {command}", output).bash(command, output, outcome=CallOutcome.FAILED)
    for captured in HabitCaptureStrategy().capture(run.bash("make test", "ok").done()):
        proposal = captured.proposal
        assert len(proposal.discovery) <= 70
        assert not has_hidden(proposal.discovery + proposal.action + proposal.condition)
