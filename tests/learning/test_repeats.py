"""Failures that come again: what is told of them, and from when on."""

from synthorg_tui.core.enums import CallOutcome
from synthorg_tui.curation.models import Lesson, LessonKind
from synthorg_tui.executions.models import Execution
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.lessons import is_title
from synthorg_tui.learning.repeats import KEY, RepeatCaptureStrategy
from tests.learning.lesson_kit import Run
from tests.tables import rows

SETTLED = 0.5
TIMED_OUT = "ssh: connect to host git.test port 22: Operation timed out"
NO_ORIGIN = "fatal: repository 'https://git.test/..git/' not found"
FORMAT = "× Formatter would have printed the following content:"
DUPL = "pkg/a_test.go:12: 12-40 lines are duplicate of `pkg/b_test.go:3-31` (dupl)"
CONST = (
    "pkg/a.go:8:4: string `tide` has 3 occurrences, but such constant `kindTide` exists (goconst)"
)
BIOME = (
    "src/a.ts:4:2 lint/correctness/noUnusedImports  FIXABLE ━━━━\n\n  × This import is unused.\n"
)


def learned(*runs: Run) -> list[Lesson]:
    """The lessons of several runs, each once with all its evidence."""
    together: dict[str, Lesson] = {}
    for run in runs:
        for captured in RepeatCaptureStrategy().capture(run.done()):
            lesson = captured
            known = together.get(lesson.key)
            together[lesson.key] = merged(known, lesson) if known else lesson
    return [each for each in together.values() if each.proposal.confidence >= SETTLED]


def each_in(number: int, build: object) -> list[Run]:
    return [build(Run(f"s{at}")) for at in range(number)]  # type: ignore[operator]


def wrapped(run: Run) -> Run:
    run.bash("wrap pnpm test", "error: unrecognized subcommand 'pnpm'", code=2)
    return run.look().bash("pnpm test", "9 passed")


def timed_out(run: Run) -> Run:
    return run.bash("git pull --rebase && git push && git status", TIMED_OUT, code=128)


def rewritten_origin(run: Run) -> Run:
    run.bash("git fetch origin && git status", NO_ORIGIN, code=128).bash("git remote -v", "x")
    address = "https://git.test/tides/tidepool.git"
    return run.bash(f"git remote set-url origin {address} && git fetch origin && git status", "ok")


def unmatched(run: Run) -> Run:
    return run.bash(
        f"ls {run.session}/*.md", f"(eval):1: no matches found: {run.session}/*.md", code=1
    )


def unmatched_address(run: Run) -> Run:
    return run.bash("gh api repos/x?ref=y", "zsh:1: no matches found: repos/x?ref=y", code=1)


def cancelled(run: Run) -> Run:
    run.bash("git cat-file -t ad0c", "fatal: could not get object info", code=128)
    return run.bash("git log", outcome=CallOutcome.CANCELLED_WITH_SIBLING)


def unknown_option(run: Run) -> Run:
    return run.bash("npm run format -- --write", "error: unknown option '--write'", code=1)


def old_version(run: Run) -> Run:
    return run.bash("npm ci", "npm error engine Unsupported engine: wanted node >=20", code=1)


def other_environment(run: Run) -> Run:
    return run.bash("poetry run tides", "error: environment 'tides-310' was not found here", code=1)


def tool_refused(run: Run) -> Run:
    return run.file(
        "mcp__browser__upload", "a.png", "Error: path is outside allowed roots", fails=True
    )


REPEATED = {
    "a wrapper that doesn't know the program": (wrapped, "Run `pnpm test` instead of `wrap pnpm`"),
    "a host that can't be reached": (
        timed_out,
        "Don't repeat `git push` when it fails so: nothing helped yet",
    ),
    "an address that keeps changing": (
        rewritten_origin,
        "Run `git remote set-url` when `git fetch` fails so",
    ),
    "a pattern without a match": (
        unmatched,
        "Give zsh no pattern that may match nothing",
    ),
    "an address taken for a pattern": (
        unmatched_address,
        "Give zsh no pattern that may match nothing",
    ),
    "siblings of a call that failed": (
        cancelled,
        "Keep a call that may fail out of a parallel batch",
    ),
    "a flag that doesn't exist": (
        unknown_option,
        "Don't repeat `npm run format` when it fails so: nothing helped yet",
    ),
    "a tool of the wrong version": (
        old_version,
        "Don't repeat `npm ci` when it fails so: nothing helped yet",
    ),
    "an environment under another name": (
        other_environment,
        "Don't repeat `tides` when it fails so: nothing helped yet",
    ),
}
NOTHING = {
    "a search that found nothing": lambda run: run.bash("rg tides src", "", code=1),
    "a file that isn't there": lambda run: run.bash("cat a.md", "cat: a.md: No such file", code=1),
    "code that doesn't work yet": lambda run: run.bash(
        "pytest tests", "E  AssertionError: assert 1 == 2\n1 failed", code=1
    ),
    "a question answered with no": lambda run: run.bash(
        "gh pr view", 'no pull requests found for branch "tides"', code=1
    ),
    "inline code": lambda run: run.bash("node -e 'x'", "Error: Cannot find module 'tides'", code=1),
    "an edit": lambda run: run.file("Edit", "a.py", "String to replace not found", fails=True),
    "an exit code alone": lambda run: run.bash("make db", 'script "db" exited with code 1', code=1),
}


@rows("name", REPEATED)
def test_what_two_sessions_met_is_told(name: str) -> None:
    build, title = REPEATED[name]
    titles = [lesson.proposal.discovery for lesson in learned(*each_in(2, build))]
    assert title in titles
    assert learned(*each_in(1, build)) == []


@rows("name", REPEATED)
def test_what_one_session_met_three_times_is_told(name: str) -> None:
    build, title = REPEATED[name]
    run = build(build(build(Run())))
    assert title in [lesson.proposal.discovery for lesson in learned(run)]


@rows("name", NOTHING)
def test_what_no_call_could_do_better_is_not_told(name: str) -> None:
    assert learned(*each_in(3, NOTHING[name])) == []


def test_what_ended_otherwise_each_time_teaches_nothing() -> None:
    first = Run("s1").bash("tide db up", "error: must unlock first", code=1)
    first.bash("tide unlock a").bash("tide seed b").bash("tide db up", "ok")
    second = Run("s2").bash("tide db up", "error: must unlock first", code=1)
    second.bash("harbour open c").bash("harbour clean d").bash("tide db up", "ok")
    assert learned(first, second) == []


def test_the_command_that_ended_it_most_times_is_the_remedy_with_its_values() -> None:
    lessons = learned(*each_in(3, rewritten_origin))
    (lesson,) = [one for one in lessons if "set-url" in one.proposal.action]
    assert (
        "`git remote set-url origin https://git.test/tides/tidepool.git`" in lesson.proposal.action
    )
    assert "that ended it 3 times" in lesson.proposal.action
    assert lesson.proposal.rationale.endswith("It failed so in 3 calls in 3 sessions.")


class TestRules:
    def test_a_checkers_rules_that_bite_again_are_one_lesson_of_the_project(self) -> None:
        first = Run("s1").bash("mise run lint", f"{DUPL}\n{CONST}", code=1)
        second = Run("s2").bash("mise run lint", DUPL, code=1)
        (lesson,) = learned(first, second)
        assert lesson.proposal.discovery == ("Write code that passes `dupl` of `mise run lint`")
        assert "`dupl` (2 times): “12-40 lines are duplicate of" in lesson.proposal.action
        assert "`goconst`" not in lesson.proposal.action

    @rows(
        "comment",
        [
            "//nolint:dupl // one table for each shore",
            "# noqa: dupl",
            "/* eslint-disable dupl -- one for each shore */",
        ],
    )
    def test_what_an_edit_then_allowed_is_told_with_the_rule(self, comment: str) -> None:
        runs = [
            Run(f"s{at}").bash("mise run lint", DUPL, code=1).edit("tide.go", "a", comment)
            for at in range(2)
        ]
        (lesson,) = learned(*runs)
        assert f"(allowed by `{comment.removesuffix(' */')}" in lesson.proposal.action

    def test_errors_of_a_compiler_are_no_rules(self) -> None:
        said = "src/a.ts(3,9): error TS2564: Property 'x' has no initializer."
        runs = [Run(f"s{at}").bash("npm run check", said, code=1) for at in range(2)]
        assert learned(*runs) == []

    def test_rules_of_which_none_came_again_are_no_lesson(self) -> None:
        first = Run("s1").bash("mise run lint", DUPL, code=1)
        assert learned(first, Run("s2").bash("mise run lint", CONST, code=1)) == []

    @rows(
        ("output", "rule"),
        [
            (BIOME, "noUnusedImports"),
            ("a.py:1:8: F401 [*] `os` imported but unused", "F401"),
            ("README.md:4 MD040/fenced-code-language Fenced code blocks need a language", "MD040"),
            ("/srv/a.js:3:5  error  x is never used  no-unused-vars", "no-unused-vars"),
        ],
    )
    def test_the_name_of_a_rule_is_read_from_many_checkers(self, output: str, rule: str) -> None:
        runs = [Run(f"s{at}").bash("npm run check", output, code=1) for at in range(2)]
        (lesson,) = learned(*runs)
        assert f"`{rule}`" in lesson.proposal.action


OTHER_WAY = {
    "an address of the same thing": (
        "gh pr edit 1740 --body x",
        "gh api repos/x/y/pulls/1740 -X PATCH -f body='a b'",
        "gh api repos/x/y/pulls/<number> -X PATCH -f body=<text>",
    ),
    "the same file": (
        "tide export data/coast.json",
        "jq -c . data/coast.json",
        "",
    ),
    "another thing": ("gh pr edit 1740 --body x", "gh api repos/x/y/pulls/17 -X PATCH", ""),
    "only a look": ("gh pr edit 1740 --body x", "gh pr view 1740", ""),
}


@rows("name", OTHER_WAY)
def test_another_program_that_did_it_soon_after_is_the_way_that_helped(name: str) -> None:
    failed, other, told = OTHER_WAY[name]
    runs = [
        Run(f"s{at}").bash(failed, "error: this was removed upstream", code=1).bash(other, "ok")
        for at in range(2)
    ]
    action = learned(*runs)[0].proposal.action
    assert (f"What worked instead was `{told}`." == action) if told else "nothing has" in action


def test_a_lesson_is_short_and_grows_with_its_evidence() -> None:
    lessons = [learned(*each_in(number, timed_out))[0] for number in (2, 3, 4)]
    certainties = [lesson.proposal.confidence for lesson in lessons]
    assert certainties == sorted(certainties)
    assert all(is_title(lesson.proposal.discovery) for lesson in lessons)
    assert all(lesson.kind is LessonKind.FAILURE for lesson in lessons)
    assert all(lesson.key.startswith(KEY) for lesson in lessons)
    assert merged(lessons[2], lessons[0]) is lessons[2]


def test_a_reported_run_proves_no_repetition() -> None:
    run = timed_out(timed_out(timed_out(Run()))).done()
    reported: Execution = run.model_copy(update={"reported": True})
    assert RepeatCaptureStrategy().capture(reported) == ()


def test_a_failure_that_a_mistake_explains_is_not_told_again() -> None:
    run = Run().bash("bd dolt status --short", "unknown flag: --short", code=1)
    run.bash("bd dolt status", "ok")
    assert RepeatCaptureStrategy().capture(run.done()) == ()
